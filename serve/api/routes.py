"""What each route does, between a request and its answer.

Not here: paths and methods (app.py), what requests may contain (contract.py).
"""

import asyncio
import difflib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive

from pipeline.encoder.vectors import Embeddings, normalize
from pipeline.machine.errors import InputError
from serve.api.answers import (
    as_base64,
    json_response,
    offload,
    results_of,
    with_usage,
)
from serve.api.contract import (
    CompareRequest,
    ComponentsRequest,
    EmbeddingsRequest,
    EncodeRequest,
    Input,
    SearchRequest,
    SimilarityRequest,
    TokenizeRequest,
)
from serve.batching.jobs import Encoded
from serve.batching.tokenizing import tokenize
from serve.components import (
    check_torch,
    choose_objective,
    dropout_views,
    list_objectives,
    take_apart,
)
from serve.encoders import cards
from serve.encoders.registry import ServedEncoder
from serve.engine import Engine
from serve.errors import ApiError, invalid, over_limit, overloaded

# Requests that wait for the one thread that takes gradients apart.
_MOST_WAITING = 32


async def _stays() -> Message:
    """What is received of a caller in this process, who does not leave."""
    await asyncio.Event().wait()
    raise AssertionError


class Routes:
    """The handlers; each takes a request and gives a response or raises."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._limits = engine.params.limits
        # Of its own: a page's curiosity must not hold up the others.
        self._components = ThreadPoolExecutor(1, "components")
        self._waiting = 0

    async def embeddings(self, body: EmbeddingsRequest, request: Request) -> Response:
        """Embed texts, as OpenAI's API does."""
        encoder = self._encoder(body.model)
        description = encoder.description
        size = body.dimensions or description.dimension
        if size not in description.dimensions:
            allowed = ", ".join(map(str, description.dimensions))
            raise invalid(
                "dimensions",
                f"dimensions: {encoder.id} was trained for {allowed}, got {size}; leave it out "
                "or give one of these.",
            )
        if body.prompt_name is not None and body.prompt_name not in description.prompts:
            prompts = ", ".join(description.prompts) or "none"
            raise invalid(
                "prompt_name",
                f"prompt_name: {encoder.id} has no prompt {body.prompt_name[:100]!r}; it has "
                f"{prompts}.",
            )
        (encoded,) = await self._encode(
            request.receive,
            [encoder],
            body.inputs,
            lambda index: f"input[{index}]",
            truncate=body.truncate,
            prompt_name=body.prompt_name,
        )
        embeddings = encoded.embeddings[:, :size]
        if body.normalize or size < description.dimension:
            embeddings = normalize(embeddings)
        write = as_base64 if body.encoding_format == "base64" else np.ascontiguousarray

        def answer() -> Response:
            data = [
                {"object": "embedding", "index": index, "embedding": write(row), "truncated": short}
                for index, (row, short) in enumerate(
                    zip(embeddings, encoded.truncated, strict=True)
                )
            ]
            content = {"object": "list", "data": data, "model": encoder.id}
            return with_usage(content, [encoded])

        return await offload(embeddings.nbytes, answer)

    async def similarity(self, body: SimilarityRequest, request: Request) -> Response:
        """Cosines of pairs, or a matrix of them."""
        encoders = [self._encoder(name) for name in body.wanted]
        results = await self._encode(
            request.receive, encoders, body.texts, body.name, truncate=body.truncate
        )

        def answer() -> Response:
            data = [
                {
                    "model": encoder.id,
                    "version": encoder.version,
                    "similarities": _cosines(encoded.embeddings, body.sources),
                    "truncated": [body.name(i) for i, cut in enumerate(encoded.truncated) if cut],
                }
                for encoder, encoded in zip(encoders, results, strict=True)
            ]
            return with_usage({"object": "list", "data": data}, results)

        return await offload(sum(result.embeddings.nbytes for result in results), answer)

    async def search(self, body: SearchRequest, request: Request) -> Response:
        """The documents nearest to a query."""
        encoder = self._encoder(body.model)

        def name(index: int) -> str:
            return f"documents[{index - 1}]" if index else "query"

        (encoded,) = await self._encode(
            request.receive,
            [encoder],
            [body.query, *body.documents],
            name,
            truncate=body.truncate,
        )
        unit = normalize(encoded.embeddings)
        scores = np.clip(unit[1:] @ unit[0], -1, 1)
        best = np.argsort(-scores, kind="stable")[: body.top_k]
        data = [
            {
                "object": "search_result",
                "index": int(index),
                "score": scores[index],
                "document": body.documents[index],
                "truncated": encoded.truncated[index + 1],
            }
            for index in best
        ]
        content = {"object": "list", "model": encoder.id, "version": encoder.version, "data": data}
        return with_usage(content, [encoded])

    async def tokenize(self, body: TokenizeRequest, _: Request) -> Response:
        """How an encoder divides texts."""
        encoder = self._encoder(body.model)
        self._check_items(len(body.texts), "input")
        tokenizer = encoder.tokenizer
        rows = await asyncio.to_thread(tokenizer.encode, body.texts)
        data = [
            {
                "index": index,
                "ids": row,
                "tokens": [tokenizer.token(token) for token in row],
                "count": len(row),
                "truncated": len(row) > tokenizer.max_length,
            }
            for index, row in enumerate(rows)
        ]
        return json_response(
            {
                "object": "list",
                "model": encoder.id,
                "version": encoder.version,
                "max_length": tokenizer.max_length,
                "data": data,
            }
        )

    async def components(self, body: ComponentsRequest, request: Request) -> Response:
        """Dissipation, weight and ratio of an objective's gradient, without a training head."""
        encoder = self._encoder(body.model)
        check_torch()
        if self._waiting >= _MOST_WAITING:
            raise overloaded(
                f"{self._waiting} requests wait for gradients already; try again later.", 1
            )
        self._waiting += 1
        try:
            encoded = None
            if body.positives is None:
                self._admit(len(body.texts), "anchors")
            else:
                (encoded,) = await self._encode(
                    request.receive, [encoder], body.texts, body.name, truncate=body.truncate
                )
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(
                self._components, self._take_apart, body, encoder, encoded
            )
        finally:
            self._waiting -= 1

    def _take_apart(
        self, body: ComponentsRequest, encoder: ServedEncoder, encoded: Encoded | None
    ) -> Response:
        import torch  # noqa: PLC0415 - on first use

        losses = self._engine.params.losses
        name, objective = choose_objective(encoder, body.objective, body.hyperparameters, losses)
        if encoded is None:
            rows, truncated = tokenize(
                encoder,
                body.anchors,
                body.name,
                truncate=body.truncate,
                most_tokens=self._limits.tokens,
            )
            tokens = self._engine.params.batch_tokens
            anchor, positive = dropout_views(encoder, rows, body.seed, tokens)
            # Both views are encoded.
            texts = Encoded(anchor.numpy(), [2 * len(row) for row in rows], truncated)
        else:
            texts, count = encoded, len(body.anchors)
            both = torch.from_numpy(encoded.embeddings)
            anchor, positive = both[:count], both[count:]
        try:
            components = take_apart(objective, anchor, positive, body.step)
        except InputError as error:  # a loss of others that fails on this batch
            raise invalid("objective", f"objective: {error}") from error
        views = {"anchor": anchor.numpy(), "positive": positive.numpy()}
        content: dict[str, Any] = {
            "object": "components",
            "model": encoder.id,
            "version": encoder.version,
            "objective": name,
            "views": "dropout" if encoded is None else "given",
            **components,
            **({"embeddings": views} if body.embeddings else {}),
            "truncated": [body.name(i) for i, cut in enumerate(texts.truncated) if cut],
        }
        return with_usage(content, [texts])

    async def objectives(self) -> Response:
        """What may be taken apart, with the hyperparameters that may be changed."""
        check_torch()
        losses = self._engine.params.losses
        loop = asyncio.get_running_loop()
        data = await loop.run_in_executor(self._components, list_objectives, losses)
        return json_response({"object": "list", "data": data})

    async def bentoml_encode(self, body: EncodeRequest, request: Request) -> Response:
        """BentoML's method `encode`, as its clients call it."""
        return await _array(await self.encode(body, request.receive))

    async def bentoml_similarity(self, body: CompareRequest, request: Request) -> Response:
        """BentoML's method `similarity`, as its clients call it."""
        return await _array(await self.compare(body, request.receive))

    async def encode(self, body: EncodeRequest, receive: Receive = _stays) -> Embeddings:
        """(N, D) embeddings of texts, by the first encoder if none is named."""
        (encoded,) = await self._encode(
            receive,
            [self._encoder(body.model)],
            body.texts,
            lambda index: f"texts[{index}]",
            truncate=body.truncate,
        )
        return normalize(encoded.embeddings) if body.normalize else encoded.embeddings

    async def compare(self, body: CompareRequest, receive: Receive = _stays) -> Embeddings:
        """Cosines of pairs (N,), or of sources with targets (S, T)."""
        (encoded,) = await self._encode(
            receive, [self._encoder(body.model)], body.texts, body.name, truncate=body.truncate
        )
        return _cosines(encoded.embeddings, body.sources)

    async def models(self) -> Response:
        """The encoders that are served."""
        self._engine.check_loaded()
        encoders = self._engine.registry.encoders.values()
        metrics = Path(self._engine.params.metrics)
        data = await asyncio.to_thread(
            lambda: [cards.card(encoder, metrics) for encoder in encoders]
        )
        return json_response({"object": "list", "data": data})

    async def model(self, id: str) -> Response:  # noqa: A002 - as the path has it
        """One encoder: training, scores, backend."""
        metrics = Path(self._engine.params.metrics)
        return json_response(await asyncio.to_thread(cards.card, self._encoder(id), metrics))

    async def training(self, id: str) -> Response:  # noqa: A002 - as the path has it
        """An encoder's training curve."""
        return json_response(await asyncio.to_thread(cards.training, self._encoder(id)))

    async def results(self) -> Response:
        """The comparison of objectives."""
        file = Path(self._engine.params.results)
        return json_response(await asyncio.to_thread(cards.results, file))

    def _encoder(self, name: str | None) -> ServedEncoder:
        """The served encoder of that id; the first one for None.

        Raises:
            ApiError: 404, or 503 before there are any.
        """
        self._engine.check_loaded()
        encoders = self._engine.registry.encoders
        if name is None:
            return next(iter(encoders.values()))
        if name in encoders:
            return encoders[name]
        near = difflib.get_close_matches(name[:100], encoders, n=1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise ApiError(
            404,
            "model_not_found",
            f"model: no encoder {name[:100]!r} is served; {hint}GET /v1/models lists them.",
            "model",
        )

    def _check_items(self, items: int, name: str) -> None:
        """Refuse more texts than one request may have."""
        if items > self._limits.items:
            raise over_limit(
                name, "items", self._limits.items, f"the request has {items} texts", "divide it"
            )

    def _admit(self, items: int, name: str) -> None:
        """Refuse more texts than one request may have, or than there is room for."""
        self._check_items(items, name)
        self._engine.batcher.admission.check(items)

    async def _encode(  # noqa: PLR0913 - what a request says of all its texts
        self,
        receive: Receive,
        encoders: Sequence[ServedEncoder],
        inputs: Sequence[Input],
        names: Callable[[int], str],
        *,
        truncate: bool,
        prompt_name: str | None = None,
    ) -> list[Encoded]:
        """What each encoder makes of the inputs."""
        items = len(inputs) * len(encoders)
        self._admit(items, names(0).partition("[")[0])
        batcher = self._engine.batcher
        jobs = [
            batcher.submit(
                encoder,
                list(inputs),
                names,
                truncate=truncate,
                most_tokens=self._limits.tokens // len(encoders),
                prompt_name=prompt_name,
            )
            for encoder in encoders
        ]
        return await results_of(receive, jobs)


def _cosines(embeddings: Embeddings, sources: Sequence[str] | None) -> Embeddings:
    """Of pairs, (N,); of the sources, which come first, with all others, (S, T)."""
    unit = normalize(embeddings)
    if sources is None:
        cosines = (unit[0::2] * unit[1::2]).sum(axis=1)
    else:
        cosines = unit[: len(sources)] @ unit[len(sources) :].T
    return np.asarray(np.clip(cosines, -1, 1))


async def _array(array: npt.NDArray[np.float32]) -> Response:
    """An array as BentoML writes it."""
    return await offload(array.nbytes, lambda: json_response(array))
