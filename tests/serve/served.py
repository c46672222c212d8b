"""What the tests of the service share: a batcher, an engine, and a client without network.

Not here: encoders, which are fakes (fakes.py) or exported (conftest.py).
"""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
from hypothesis import HealthCheck, settings

from serve.api.app import create_api
from serve.batching.batcher import Batcher
from serve.engine import Engine
from serve.metrics import Metrics
from serve.settings import LimitParams, ServeParams, load
from tests.serve.fakes import NOWHERE, PATIENCE, embedding, row
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterator, Mapping, Sequence

    from serve.batching.jobs import Encoded, Job
    from serve.encoders.registry import ServedEncoder

# Of properties: other work on the machine must not fail them.
PROPERTY = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))

# What a test does not care about is as the repository has it.
_GIVEN = load(ROOT / "params.yaml")
LIMITS = _GIVEN.limits.model_copy(
    update={
        "items": 64,
        "tokens": 4000,
        "body_bytes": 100_000,
        "body_seconds": PATIENCE,
        "queue_texts": 200,
        "wait_seconds": PATIENCE,
    }
)
PARAMS = _GIVEN.model_copy(
    update={
        "models": None,
        "encoders": {},
        "exported": NOWHERE,
        "metrics": NOWHERE,
        "results": f"{NOWHERE}/comparison.json",
        "threads": 2,
        "batch_tokens": 128,
        "reload_seconds": 0.0,
        "limits": LIMITS,
    }
)


def limits(**changes: Any) -> LimitParams:
    return LIMITS.model_copy(update=changes)


@contextmanager
def batching(
    params: LimitParams = LIMITS, *, threads: int = 2, budget: int = 64
) -> Iterator[Batcher]:
    """A batcher; without threads, `step` does its work."""
    batcher = Batcher(params, threads, budget, Metrics())
    try:
        yield batcher
    finally:
        batcher.stop()


def submit(
    batcher: Batcher,
    encoder: ServedEncoder,
    inputs: Sequence[str | list[int]],
    *,
    truncate: bool = True,
    most_tokens: int = 10**6,
    prompt_name: str | None = None,
) -> Job:
    """As the routes do it."""
    batcher.admission.check(len(inputs))
    return batcher.submit(
        encoder,
        list(inputs),
        lambda index: f"input[{index}]",
        truncate=truncate,
        most_tokens=most_tokens,
        prompt_name=prompt_name,
    )


def step(batcher: Batcher) -> bool:
    """Do what is next on this thread; whether there was anything."""
    with batcher._changed:
        work = batcher._next()
    if work is not None:
        work()
    return work is not None


async def settle() -> None:
    """Let callbacks run, and those that they call for."""
    for _ in range(5):
        await asyncio.sleep(0)


async def finish(batcher: Batcher) -> None:
    """Do all that there is to do, on this thread."""
    while step(batcher):
        pass
    await settle()


def left(batcher: Batcher) -> list[object]:
    """What a batcher still holds; nothing when every request has ended."""
    tables = (batcher._untokenized, batcher._ready, batcher._texts)
    return [*(table for table in tables if table), *([batcher.admission] * batcher.admission.texts)]


async def until(holds: Callable[[], bool]) -> None:
    """Wait for what no event tells, such as a thread that has nothing left to do."""
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await asyncio.sleep(0.001)


def assert_right(found: Encoded, request: Sequence[Sequence[int]]) -> None:
    """That a request got what fakes give for these ids."""
    rows = [row(*one) for one in request]
    assert np.array_equal(found.embeddings, np.stack([embedding(one) for one in rows]))
    assert found.tokens == [len(one) for one in rows]
    assert found.truncated == [False] * len(rows)


@contextmanager
def running(*encoders: ServedEncoder, params: ServeParams = PARAMS) -> Iterator[Engine]:
    """An engine that serves these encoders and looks for no others."""
    engine = Engine(params)
    engine.registry.encoders = {encoder.id: encoder for encoder in encoders}
    engine.registry.loaded = True
    try:
        yield engine
    finally:
        engine.batcher.stop()


class Api:
    """A client of the API in this process; each call is one request."""

    def __init__(self, engine: Engine, keys: Sequence[bytes] = ()) -> None:
        self.engine = engine
        self.app = create_api(engine, keys)

    def session(self) -> httpx.AsyncClient:
        """For several requests at once."""
        return httpx.AsyncClient(
            transport=httpx.ASGITransport(self.app), base_url="http://triad", timeout=PATIENCE
        )

    def call(self, method: str, path: str, **options: Any) -> httpx.Response:
        async def one() -> httpx.Response:
            async with self.session() as session:
                return await session.request(method, path, **options)

        return asyncio.run(one())

    def get(self, path: str, **options: Any) -> httpx.Response:
        return self.call("GET", path, **options)

    def post(
        self, path: str, content: object, headers: Mapping[str, str | bytes] | None = None
    ) -> httpx.Response:
        """Bytes, pieces of them, or what becomes JSON."""
        body: bytes | AsyncIterable[bytes]
        plain = isinstance(content, bytes) or hasattr(content, "__aiter__")
        body = content if plain else json.dumps(content).encode()  # type: ignore[assignment]
        kind: dict[str, str | bytes] = {"Content-Type": "application/json"}
        return self.call("POST", path, content=body, headers=kind | dict(headers or {}))


def refusal(response: httpx.Response, status: int) -> dict[str, Any]:
    """What an error answer says; its shape is OpenAI's."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    content = response.json()
    assert list(content) == ["error"]
    error: dict[str, Any] = content["error"]
    assert list(error) == ["message", "type", "param", "code"]
    assert error["message"].endswith(".")
    return error
