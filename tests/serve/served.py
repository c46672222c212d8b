"""What the tests of the service share: a batcher, an engine, and a client without network.

Not here: encoders, which are fakes (fakes.py) or exported (conftest.py).
"""

from __future__ import annotations

import asyncio
import json
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import httpx
import numpy as np
from hypothesis import HealthCheck, settings

from serve.api.app import create_api
from serve.batching.batcher import Batcher
from serve.engine import Engine
from serve.metrics import Metrics
from serve.settings import LimitParams, load
from tests.serve.fakes import NOWHERE, PATIENCE, embedding, row
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence

    from serve.batching.jobs import Encoded, Job
    from serve.demo import Page
    from serve.encoders.registry import ServedEncoder

P = ParamSpec("P")

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


def on_loop(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that is a coroutine; each run has an event loop of its own."""

    @wraps(test)
    def run(*arguments: P.args, **named: P.kwargs) -> None:
        asyncio.run(test(*arguments, **named))

    return run


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
    batcher: Batcher, encoder: ServedEncoder, inputs: Sequence[str | list[int]], **more: Any
) -> Job:
    """As the routes do it."""
    batcher.admission.check(len(inputs))
    options: dict[str, Any] = {"truncate": True, "most_tokens": 10**6} | more
    return batcher.submit(encoder, list(inputs), lambda index: f"input[{index}]", **options)


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
    """Do all that there is to do, on this thread; nothing is left of any request."""
    while step(batcher):
        pass
    await settle()
    assert not left(batcher)


def left(batcher: Batcher) -> bool:
    """Whether a batcher still holds anything of a request."""
    tables = (batcher._untokenized, batcher._ready, batcher._texts)
    return any(tables) or batcher.admission.texts != 0


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
def serving(
    *encoders: ServedEncoder,
    keys: Sequence[bytes] = (),
    page: Page | None = None,
    **changes: Any,
) -> Iterator[Api]:
    """The API over these encoders and no others; `changes` are to PARAMS."""
    engine = Engine(PARAMS.model_copy(update=changes))
    engine.registry.encoders = {encoder.id: encoder for encoder in encoders}
    engine.registry.loaded = True
    try:
        yield Api(engine, keys, page)
    finally:
        engine.batcher.stop()


class Api:
    """A client of the API in this process; each call is one request."""

    def __init__(
        self, engine: Engine, keys: Sequence[bytes] = (), page: Page | None = None
    ) -> None:
        self.engine = engine
        self.app = create_api(engine, keys, page)

    def session(self, **options: Any) -> httpx.AsyncClient:
        """For several requests at once."""
        transport = httpx.ASGITransport(self.app, **options)
        return httpx.AsyncClient(transport=transport, base_url="http://triad", timeout=PATIENCE)

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
        raw = isinstance(content, bytes) or hasattr(content, "__aiter__")
        body = content if raw else json.dumps(content).encode()
        own = {"Content-Type": "application/json"} | dict(headers or {})
        return self.call("POST", path, content=body, headers=own)

    def count(self, metric: str, **labels: str) -> float | None:
        """What its metrics say."""
        return self.engine.metrics.registry.get_sample_value(metric, labels)


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
