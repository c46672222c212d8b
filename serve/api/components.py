"""POST /v1/components, between a parsed request and the content of its answer."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from serve.api.answers import with_usage
from serve.api.contract import ComponentsRequest
from serve.api.routes import Routes
from serve.batching.jobs import Encoded
from serve.batching.tokenizing import tokenize
from serve.components import Dropout, check_torch, choose_objective, take_apart
from serve.encoders.registry import ServedEncoder
from serve.engine import Engine
from serve.errors import overloaded

# Requests that wait for the one thread that takes gradients apart.
_MOST_WAITING = 32


class Components:
    """The handler, with a thread of its own: a page's curiosity must not hold up the others."""

    def __init__(self, engine: Engine, routes: Routes) -> None:
        self._engine = engine
        self._routes = routes
        self._dropout = Dropout(engine.params.batch_tokens)
        self._thread = ThreadPoolExecutor(1, "components")
        self._waiting = 0

    async def __call__(self, request: Request) -> Response:
        """POST /v1/components."""
        asked = await self._routes.read(request, ComponentsRequest)
        encoder = self._routes.encoder(asked.model)
        check_torch()
        if self._waiting >= _MOST_WAITING:
            raise overloaded(
                f"{self._waiting} requests wait for gradients already; try again later.", 1
            )
        self._waiting += 1
        try:
            encoded = None
            if asked.positives is not None:
                (encoded,) = await self._routes.encode(
                    request, [encoder], asked.texts, asked.name, truncate=asked.truncate
                )
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._thread, self._answer, asked, encoder, encoded)
        finally:
            self._waiting -= 1

    def _answer(
        self, asked: ComponentsRequest, encoder: ServedEncoder, encoded: Encoded | None
    ) -> Response:
        import torch  # noqa: PLC0415 - on first use

        name, objective = choose_objective(encoder, asked.objective, asked.hyperparameters)
        if encoded is None:
            rows, truncated = tokenize(encoder, asked.anchors, asked.name, truncate=asked.truncate)
            served = {one.version for one in self._engine.registry.encoders.values()}
            self._dropout.forget(served)
            anchor, positive = self._dropout.views(encoder, rows, asked.seed)
            # Both views are encoded.
            used = Encoded(anchor.numpy(), [2 * len(row) for row in rows], truncated)
        else:
            used, count = encoded, len(asked.anchors)
            both = torch.from_numpy(encoded.embeddings)
            anchor, positive = both[:count], both[count:]
        content: dict[str, Any] = {
            "object": "components",
            "model": encoder.id,
            "version": encoder.version,
            "objective": name,
            "views": "dropout" if encoded is None else "given",
            **take_apart(objective, anchor, positive, asked.step),
            "truncated": [asked.name(i) for i, cut in enumerate(used.truncated) if cut],
        }
        return with_usage(content, [used])
