"""What each route does, between a parsed request and the content of its answer.

Not here: paths and methods (app.py), what requests may contain (contract.py).
"""

import asyncio
import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from starlette.requests import Request
from starlette.responses import Response

from serve.api.answers import as_base64, normalized, results_of, with_usage
from serve.api.bodies import Bodies, json_response, offload
from serve.api.contract import (
    EmbeddingsRequest,
    Model,
    SearchRequest,
    SimilarityRequest,
    TokenizeRequest,
    parse,
)
from serve.api.fields import Input
from serve.batching.jobs import Encoded
from serve.encoders import cards
from serve.encoders.registry import ServedEncoder
from serve.engine import Engine
from serve.errors import ApiError, invalid, over_limit


class Routes:
    """The handlers; each takes a request and gives a response or raises."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._limits = engine.params.limits
        self.bodies = Bodies(self._limits, engine.metrics)

    async def embeddings(self, request: Request) -> Response:
        """POST /v1/embeddings."""
        asked = await self.read(request, EmbeddingsRequest)
        encoder = self.encoder(asked.model)
        description = encoder.exported.description
        size = asked.dimensions or description.dimension
        if size not in description.dimensions:
            allowed = ", ".join(map(str, description.dimensions))
            raise invalid(
                "dimensions",
                f"dimensions: {encoder.id} was trained for {allowed}, got {size}; leave it out "
                "or give one of these.",
            )
        (encoded,) = await self.encode(
            request,
            [encoder],
            asked.input,
            lambda index: f"input[{index}]",
            truncate=asked.truncate,
        )
        embeddings = encoded.embeddings[:, :size]
        cut = size < description.dimension
        if cut or (description.normalise if asked.normalize is None else asked.normalize):
            embeddings = normalized(embeddings)
        write = as_base64 if asked.encoding_format == "base64" else np.ascontiguousarray

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

    async def similarity(self, request: Request) -> Response:
        """POST /v1/similarity."""
        asked = await self.read(request, SimilarityRequest)
        encoders = [self.encoder(name) for name in asked.wanted]
        texts = asked.texts
        found = await self.encode(request, encoders, texts, asked.name, truncate=asked.truncate)

        def answer() -> Response:
            data = []
            for encoder, encoded in zip(encoders, found, strict=True):
                unit = normalized(encoded.embeddings)
                if asked.pairs is not None:
                    cosines = (unit[0::2] * unit[1::2]).sum(axis=1)
                else:
                    sources = len(asked.sources or ())
                    cosines = unit[:sources] @ unit[sources:].T
                short = [asked.name(i) for i, cut in enumerate(encoded.truncated) if cut]
                data.append(
                    {
                        "model": encoder.id,
                        "version": encoder.version,
                        "similarities": np.clip(cosines, -1, 1),
                        "truncated": short,
                    }
                )
            return with_usage({"object": "list", "data": data}, found)

        return await offload(sum(one.embeddings.nbytes for one in found), answer)

    async def search(self, request: Request) -> Response:
        """POST /v1/search."""
        asked = await self.read(request, SearchRequest)
        encoder = self.encoder(asked.model)

        def name(index: int) -> str:
            return f"documents[{index - 1}]" if index else "query"

        (encoded,) = await self.encode(
            request, [encoder], [asked.query, *asked.documents], name, truncate=asked.truncate
        )
        unit = normalized(encoded.embeddings)
        scores = np.clip(unit[1:] @ unit[0], -1, 1)
        best = np.argsort(-scores, kind="stable")[: asked.top_k]
        data = [
            {
                "object": "search_result",
                "index": int(index),
                "score": scores[index],
                "document": asked.documents[index],
                "truncated": encoded.truncated[index + 1],
            }
            for index in best
        ]
        content = {"object": "list", "model": encoder.id, "version": encoder.version, "data": data}
        return with_usage(content, [encoded])

    async def tokenize(self, request: Request) -> Response:
        """POST /v1/tokenize."""
        asked = await self.read(request, TokenizeRequest)
        encoder = self.encoder(asked.model)
        self.check_items(len(asked.input), "input")
        tokenizer = encoder.tokenizer
        rows = await asyncio.to_thread(tokenizer.encode, asked.input)
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

    async def models(self, _: Request) -> Response:
        """GET /v1/models."""
        self._engine.check_loaded()
        encoders = self._engine.registry.encoders.values()
        metrics = Path(self._engine.params.metrics)
        data = await asyncio.to_thread(lambda: [cards.card(one, metrics) for one in encoders])
        return json_response({"object": "list", "data": data})

    async def model(self, request: Request) -> Response:
        """GET /v1/models/{id}."""
        encoder = self.encoder(request.path_params["id"])
        metrics = Path(self._engine.params.metrics)
        return json_response(await asyncio.to_thread(cards.card, encoder, metrics))

    async def training(self, request: Request) -> Response:
        """GET /v1/models/{id}/training."""
        encoder = self.encoder(request.path_params["id"])
        return json_response(await asyncio.to_thread(cards.training, encoder))

    async def results(self, _: Request) -> Response:
        """GET /v1/results."""
        file = Path(self._engine.params.results)
        return json_response(await asyncio.to_thread(cards.results, file))

    async def read(self, request: Request, kind: type[Model]) -> Model:
        """The request's body, read and checked."""
        body = await self.bodies.read(request)
        return await offload(len(body), lambda: parse(kind, body))

    def encoder(self, name: str) -> ServedEncoder:
        """The served encoder of that id.

        Raises:
            ApiError: 404, or 503 before there are any.
        """
        self._engine.check_loaded()
        encoders = self._engine.registry.encoders
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

    def check_items(self, items: int, name: str) -> None:
        """Refuse more texts than one request may have."""
        if items > self._limits.items:
            raise over_limit(
                name, "items", self._limits.items, f"the request has {items} texts", "divide it"
            )

    async def encode(
        self,
        request: Request,
        encoders: Sequence[ServedEncoder],
        inputs: Sequence[Input],
        names: Callable[[int], str],
        *,
        truncate: bool,
    ) -> list[Encoded]:
        """What each encoder makes of the inputs."""
        items = len(inputs) * len(encoders)
        self.check_items(items, names(0).partition("[")[0])
        batcher = self._engine.batcher
        batcher.admission.check(items)
        jobs = [
            batcher.submit(
                encoder,
                list(inputs),
                names,
                truncate=truncate,
                most_tokens=self._limits.tokens // len(encoders),
            )
            for encoder in encoders
        ]
        return await results_of(request.receive, jobs)
