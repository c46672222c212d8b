"""Limits of one request, and of all bodies together."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.fakes import Fake, served, words
from tests.serve.served import PARAMS, Api, limits, refusal, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


ITEMS = PARAMS.limits.items
EMBEDDINGS = {"model": "fake", "input": words(5)}


def texts(number: int) -> list[str]:
    return [words(5)] * number


@pytest.mark.parametrize(
    ("path", "fields", "param", "items"),
    [
        ("embeddings", {"model": "fake", "input": texts(ITEMS + 1)}, "input", 65),
        ("similarity", {"model": "fake", "pairs": [texts(2)] * 33}, "pairs", 66),
        ("similarity", {"model": "fake", "sources": texts(64), "targets": ["a"]}, "sources", 65),
        ("search", {"model": "fake", "query": "a", "documents": texts(64)}, "query", 65),
        ("tokenize", {"model": "fake", "input": texts(65)}, "input", 65),
    ],
)
def test_more_texts_than_the_limit_are_refused_with_their_number(
    api: Api, path: str, fields: dict[str, Any], param: str, items: int
) -> None:
    error = refusal(api.post(f"/v1/{path}", fields), 400)
    assert (error["code"], error["param"]) == ("limit_exceeded", param)
    assert error["message"] == (
        f"{param}: the request has {items} texts, over the limit items=64; divide it."
    )


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("embeddings", {"model": "fake", "input": texts(ITEMS)}),
        ("similarity", {"model": "fake", "pairs": [texts(2)] * 32}),
        ("search", {"model": "fake", "query": "a", "documents": texts(63)}),
        ("tokenize", {"model": "fake", "input": texts(64)}),
    ],
)
def test_as_many_texts_as_the_limit_are_answered(
    api: Api, path: str, fields: dict[str, Any]
) -> None:
    assert api.post(f"/v1/{path}", fields).status_code == 200


def test_texts_count_for_each_model() -> None:
    fake = Fake()
    fields = {"models": ["a", "b"], "sources": texts(16), "targets": texts(16)}
    with running(served(fake, "a"), served(fake, "b")) as engine:
        api = Api(engine)
        assert api.post("/v1/similarity", fields).status_code == 200
        error = refusal(api.post("/v1/similarity", fields | {"targets": texts(17)}), 400)
        assert "has 66 texts, over the limit items=64" in error["message"]


class TestAllBodies:
    """Bodies that are in the service at once have a bound together."""

    SIZE = 2000
    BOUND = PARAMS.model_copy(
        update={"threads": 1, "limits": limits(body_bytes=SIZE, all_bodies_bytes=SIZE)}
    )

    def body(self, size: int) -> bytes:
        return json.dumps(EMBEDDINGS).encode().ljust(size)

    def test_a_body_beyond_the_bound_is_refused_until_another_is_answered(self) -> None:
        fake = Fake()
        with running(served(fake), params=self.BOUND) as engine:
            api = Api(engine)

            async def main() -> None:
                async with api.session() as session:

                    async def post(size: int) -> Any:
                        kind = {"Content-Type": "application/json"}
                        return await session.post(
                            "/v1/embeddings", content=self.body(size), headers=kind
                        )

                    fake.gate.clear()
                    first = asyncio.create_task(post(self.SIZE - 500))
                    await asyncio.to_thread(fake.entered.acquire)
                    refused = await post(501)
                    error = refusal(refused, 429)
                    assert "all_bodies_bytes=2000" in error["message"]
                    assert int(refused.headers["Retry-After"]) >= 1
                    fake.gate.set()
                    assert (await first).status_code == 200
                    assert (await post(self.SIZE)).status_code == 200

            asyncio.run(main())
            refused = engine.metrics.registry.get_sample_value(
                "triad_refused_total", {"limit": "all_bodies_bytes"}
            )
            assert refused == 1

    @pytest.mark.parametrize(
        "wrong", [b"{", b'{"model": 3}', b'{"model": "x", "input": "a"}', b" " * 2001]
    )
    def test_bodies_that_were_refused_count_no_more(self, wrong: bytes) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield wrong.ljust(self.SIZE)

        with running(served(Fake()), params=self.BOUND) as engine:
            api = Api(engine)
            for _ in range(3):
                assert api.post("/v1/embeddings", pieces()).status_code in {400, 404, 413}
            assert api.post("/v1/embeddings", self.body(self.SIZE)).status_code == 200
