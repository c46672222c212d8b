"""Errors and limits: every refusal in OpenAI's shape, with a status that its clients understand."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.serve.fakes import PATIENCE, Fake, row, served, words
from tests.serve.served import Api, limits, on_loop, refusal, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import httpx

EMBEDDINGS = "/v1/embeddings"
ASKED: dict[str, dict[str, Any]] = {
    EMBEDDINGS: {"model": "fake", "input": words(5)},
    "/v1/similarity": {"model": "fake", "pairs": [[words(5), words(6)]]},
    "/v1/search": {"model": "fake", "query": words(5), "documents": [words(6)]},
    "/v1/tokenize": {"model": "fake", "input": words(5)},
    "/v1/components": {
        "model": "fake",
        "anchors": [words(5), words(6)],
        "positives": [words(7), words(8)],
        "objective": "info_nce",
    },
}
GETS = ["/v1/models", "/v1/results", "/livez", "/readyz", "/metrics", "/openapi.json", "/docs", "/"]


@pytest.mark.parametrize("path", ASKED)
class TestEveryPost:
    @pytest.mark.parametrize(
        ("wrong", "status", "code", "param"),
        [
            (b"{", 400, "invalid_json", None),
            ({"model": 3}, 400, "invalid_value", "model"),
            ({"model": "fakes"}, 404, "model_not_found", "model"),
        ],
        ids=["no JSON", "a wrong field", "an unknown encoder"],
    )
    def test_what_is_wrong_is_refused_with_its_field(
        self, api: Api, path: str, wrong: Any, status: int, code: str, param: str | None
    ) -> None:
        body = wrong if isinstance(wrong, bytes) else ASKED[path] | wrong
        error = refusal(api.post(path, body), status)
        assert error["type"] == "invalid_request_error"
        assert (error["code"], error["param"]) == (code, param)

    def test_500_for_a_fault_that_nobody_foresaw(
        self, api: Api, path: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def fault(*_: object) -> None:
            raise ZeroDivisionError(words(5))

        monkeypatch.setattr("serve.api.contract.parse", fault)
        response = api.post(path, ASKED[path], {"X-Request-Id": "mine"})
        error = refusal(response, 500)
        assert (error["type"], error["code"]) == ("server_error", "internal_error")
        assert error["message"].endswith("details under request mine.")
        assert words(5) not in response.text

    def test_503_while_encoders_are_loaded(self, path: str) -> None:
        with serving() as api:
            api.engine.registry.loaded = False
            error = refusal(api.post(path, ASKED[path]), 503)
        assert (error["type"], error["code"]) == ("server_error", "loading")


@pytest.mark.parametrize("path", [path for path in ASKED if path != "/v1/tokenize"])
@pytest.mark.parametrize(
    ("fault", "kind"),
    [(RuntimeError("no such kernel"), "RuntimeError"), (np.nan, "FloatingPointError")],
)
def test_500_where_the_encoder_fails_tells_the_kind_of_fault_and_never_its_message(
    api: Api, fake: Fake, path: str, fault: Exception | float, kind: str
) -> None:
    fake.faults[row(5)] = fault
    error = refusal(api.post(path, ASKED[path]), 500)
    assert (error["type"], error["code"]) == ("server_error", "internal_error")
    assert error["message"] == f"the encoder failed ({kind}); the server's log has details."
    assert api.get("/livez").status_code == 200  # the threads outlive it


class TestBodies:
    """All POSTs read their bodies in the same way; here it is tried on one."""

    @pytest.mark.parametrize("options", ["charset=utf-8", 'charset="UTF-8"', "a=b;  Charset=utf8 "])
    def test_utf_8_may_be_named(self, api: Api, options: str) -> None:
        kind = {"Content-Type": f"Application/JSON; {options}"}
        assert api.post(EMBEDDINGS, ASKED[EMBEDDINGS], kind).status_code == 200

    @pytest.mark.parametrize(
        ("kind", "message"),
        [
            ("", "JSON: send the header Content-Type: application/json, got 'none'."),
            ("text/plain", "application/json, got 'text/plain'."),
            ("multipart/form-data", "application/json, got 'multipart/form-data'."),
            ("application/jsonx", "application/json, got 'application/jsonx'."),
            ("application/json; charset=UTF-16", "UTF-8: leave the charset out, got 'utf-16'."),
            ("application/json; charset=iso-8859-1", "leave the charset out, got 'iso-8859-1'."),
            ("application/json; charset=" + "x" * 1000, f"charset out, got '{'x' * 100}'."),
        ],
    )
    def test_415_for_what_is_not_said_to_be_json_in_utf_8(
        self, api: Api, kind: str, message: str
    ) -> None:
        error = refusal(api.post(EMBEDDINGS, ASKED[EMBEDDINGS], {"Content-Type": kind}), 415)
        assert error["code"] == "unsupported_media_type"
        assert error["message"].startswith("the body must be JSON")
        assert error["message"].endswith(message)

    def test_415_for_a_compressed_body(self, api: Api) -> None:
        response = api.post(EMBEDDINGS, b"\x1f\x8b", {"Content-Encoding": "gzip"})
        assert refusal(response, 415)["code"] == "unsupported_encoding"

    @pytest.mark.parametrize("length", ["100001", "9" * 30, "9" * 5000], ids=len)
    def test_413_for_an_announced_body_that_is_not_read(self, api: Api, length: str) -> None:
        read = []

        async def body() -> AsyncIterator[bytes]:
            read.append(1)
            yield b"{"

        response = api.post(EMBEDDINGS, body(), {"Content-Length": length})
        error = refusal(response, 413)
        assert error["code"] == "body_too_large"
        assert f"of {length[:20]} bytes is over the limit body_bytes=100000" in error["message"]
        assert response.headers["Connection"] == "close"
        assert not read

    def test_413_for_a_body_that_turns_out_too_long(self, api: Api) -> None:
        async def body() -> AsyncIterator[bytes]:
            yield b" " * 100_000
            yield b" "

        response = api.post(EMBEDDINGS, body())
        assert refusal(response, 413)["code"] == "body_too_large"
        assert response.headers["Connection"] == "close"

    def test_408_for_a_body_that_does_not_come(self) -> None:
        async def slow() -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(PATIENCE)

        with serving(served(Fake()), limits=limits(body_seconds=0.01)) as api:
            response = api.post(EMBEDDINGS, slow())
        error = refusal(response, 408)
        assert error["code"] == "body_timeout"
        assert "the limit body_seconds=0.01" in error["message"]
        assert response.headers["Connection"] == "close"


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        *((path, "POST") for path in ASKED),
        *((path, "GET, HEAD") for path in GETS),
        ("/v1/models/fake", "GET, HEAD"),
        ("/v1/models/fake/training", "GET, HEAD"),
        ("/docs/assets/swagger-ui.css", "GET, HEAD"),
    ],
)
def test_405_with_what_is_allowed(api: Api, path: str, allowed: str) -> None:
    for method in {"GET", "POST", "PUT", "DELETE", "OPTIONS", "BREW"} - set(allowed.split(", ")):
        response = api.call(method, path)
        assert refusal(response, 405)["code"] == "method_not_allowed"
        assert sorted(response.headers["Allow"].split(", ")) == allowed.split(", ")


@pytest.mark.parametrize(
    "path",
    [
        *("/nothing", "/v1", "/v1/", "/v1/embeddings/", "/v1/models/", "/v2/embeddings"),
        *("//v1/models", "/docs/", "/docs/assets/nothing.js", "/docs/assets/"),
        *("/docs/assets/../docs.py", "/docs/assets/%2e%2e/__init__.py", "/docs/assets/%00"),
        *("/docs/assets/" + "a" * 5000, "/" + "a" * 5000, "/v1/models/a%2Fb", "/%ff", "/%0a%0d"),
    ],
)
def test_404_for_other_paths(api: Api, path: str) -> None:
    error = refusal(api.get(path), 404)
    assert error["code"] in {"not_found", "model_not_found"}
    assert len(error["message"]) < 300


def texts(number: int) -> list[str]:
    return [words(5)] * number


@pytest.mark.parametrize(
    ("path", "param", "step", "fields"),
    [
        ("embeddings", "input", 1, lambda count: {"input": texts(count)}),
        ("similarity", "pairs", 2, lambda count: {"pairs": [texts(2)] * (count // 2)}),
        ("similarity", "sources", 1, lambda count: {"sources": texts(count - 1), "targets": ["a"]}),
        ("search", "query", 1, lambda count: {"query": "a", "documents": texts(count - 1)}),
        ("tokenize", "input", 1, lambda count: {"input": texts(count)}),
        (
            "components",
            "anchors",
            2,
            lambda count: {
                "objective": "info_nce",
                "anchors": texts(count // 2),
                "positives": texts(count // 2),
            },
        ),
    ],
)
def test_a_request_has_as_many_texts_as_the_limit_and_no_more(
    api: Api, path: str, param: str, step: int, fields: Callable[[int], dict[str, Any]]
) -> None:
    def post(count: int) -> httpx.Response:
        return api.post(f"/v1/{path}", {"model": "fake"} | fields(count))

    assert post(64).status_code == 200
    error = refusal(post(64 + step), 400)
    assert (error["code"], error["param"]) == ("limit_exceeded", param)
    assert error["message"] == (
        f"{param}: the request has {64 + step} texts, over the limit items=64; divide it."
    )


def test_texts_count_for_each_model() -> None:
    fake = Fake()
    fields = {"models": ["a", "b"], "sources": texts(16), "targets": texts(16)}
    with serving(served(fake, "a"), served(fake, "b")) as api:
        assert api.post("/v1/similarity", fields).status_code == 200
        error = refusal(api.post("/v1/similarity", fields | {"targets": texts(17)}), 400)
        assert "has 66 texts, over the limit items=64" in error["message"]


class TestAllBodies:
    """Bodies that are in the service at once have a bound together."""

    SIZE = 2000
    BOUND = limits(body_bytes=SIZE, all_bodies_bytes=SIZE)

    def body(self, size: int) -> bytes:
        return json.dumps(ASKED[EMBEDDINGS]).encode().ljust(size)

    @on_loop
    async def test_a_body_beyond_the_bound_is_refused_until_another_is_answered(
        self, fake: Fake
    ) -> None:
        kind = {"Content-Type": "application/json"}
        with serving(served(fake), threads=1, limits=self.BOUND) as api:
            async with api.session() as session:

                async def post(size: int) -> httpx.Response:
                    body = self.body(size)
                    return await session.post(EMBEDDINGS, content=body, headers=kind)

                fake.gate.clear()
                first = asyncio.create_task(post(self.SIZE - 500))
                await asyncio.to_thread(fake.entered.acquire)
                refused = await post(501)
                assert "all_bodies_bytes=2000" in refusal(refused, 429)["message"]
                assert int(refused.headers["Retry-After"]) >= 1
                fake.gate.set()
                assert (await first).status_code == 200
                assert (await post(self.SIZE)).status_code == 200
            assert api.count("triad_refused_total", limit="all_bodies_bytes") == 1

    @pytest.mark.parametrize(
        "wrong", [b"{", b'{"model": 3}', b'{"model": "x", "input": "a"}', b" " * 2001]
    )
    def test_bodies_that_were_refused_count_no_more(self, wrong: bytes) -> None:
        async def pieces() -> AsyncIterator[bytes]:
            yield wrong.ljust(self.SIZE)

        with serving(served(Fake()), threads=1, limits=self.BOUND) as api:
            for _ in range(3):
                assert api.post(EMBEDDINGS, pieces()).status_code in {400, 404, 413}
            assert api.post(EMBEDDINGS, self.body(self.SIZE)).status_code == 200
