"""Errors: every one in OpenAI's shape, with a status that its clients understand."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from serve.engine import Engine
from tests.serve.fakes import PATIENCE, Fake, row, served, words
from tests.serve.served import PARAMS, Api, limits, refusal, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator


ASKED: dict[str, dict[str, Any]] = {
    "/v1/embeddings": {"model": "fake", "input": words(5)},
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
COMPUTING = [path for path in ASKED if path != "/v1/tokenize"]
JSON = {"Content-Type": "application/json"}


async def pieces(body: bytes, size: int = 1000) -> AsyncIterator[bytes]:
    """A body whose length is not announced."""
    for start in range(0, len(body), size):
        yield body[start : start + size]


@pytest.mark.parametrize("path", ASKED)
class TestEveryPost:
    def test_400_for_what_is_no_json(self, api: Api, path: str) -> None:
        error = refusal(api.post(path, b"{"), 400)
        assert (error["type"], error["code"]) == ("invalid_request_error", "invalid_json")

    def test_400_for_a_wrong_field(self, api: Api, path: str) -> None:
        error = refusal(api.post(path, ASKED[path] | {"model": 3}), 400)
        assert (error["param"], error["code"]) == ("model", "invalid_value")

    def test_404_for_an_unknown_encoder(self, api: Api, path: str) -> None:
        error = refusal(api.post(path, ASKED[path] | {"model": "fakes"}), 404)
        assert (error["code"], error["param"]) == ("model_not_found", "model")
        assert "did you mean 'fake'?" in error["message"]

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
        engine = Engine(PARAMS)
        error = refusal(Api(engine).post(path, ASKED[path]), 503)
        engine.batcher.stop()
        assert (error["type"], error["code"]) == ("server_error", "loading")


class TestBodies:
    """All POSTs read their bodies in the same way; here it is tried on one."""

    PATH = "/v1/embeddings"

    @pytest.mark.parametrize("options", ["charset=utf-8", 'charset="UTF-8"', "a=b;  Charset=utf8 "])
    def test_utf_8_may_be_named(self, api: Api, options: str) -> None:
        kind = {"Content-Type": f"Application/JSON; {options}"}
        assert api.post(self.PATH, ASKED[self.PATH], kind).status_code == 200

    @pytest.mark.parametrize("charset", ["iso-8859-1", "UTF-16", "x" * 1000])
    def test_415_for_another_charset(self, api: Api, charset: str) -> None:
        kind = {"Content-Type": f"application/json; charset={charset}"}
        error = refusal(api.post(self.PATH, ASKED[self.PATH], kind), 415)
        assert error["code"] == "unsupported_media_type"
        assert error["message"] == (
            f"the body must be JSON in UTF-8: leave the charset out, got {charset.lower()[:100]!r}."
        )

    def test_413_for_an_announced_body_that_is_not_read(self, api: Api) -> None:
        read = []

        async def body() -> AsyncIterator[bytes]:
            read.append(1)
            yield b"{"

        response = api.post(self.PATH, body(), {"Content-Length": "100001"})
        error = refusal(response, 413)
        assert error["code"] == "body_too_large"
        assert "of 100001 bytes is over the limit body_bytes=100000" in error["message"]
        assert response.headers["Connection"] == "close"
        assert not read

    def test_413_for_a_body_that_turns_out_too_long(self, api: Api) -> None:
        response = api.post(self.PATH, pieces(b" " * 100_001))
        assert refusal(response, 413)["code"] == "body_too_large"
        assert response.headers["Connection"] == "close"

    @pytest.mark.parametrize("length", ["9" * 30, "9" * 5000])
    def test_413_for_a_length_that_no_memory_has(self, api: Api, length: str) -> None:
        refusal(api.post(self.PATH, pieces(b"{}"), {"Content-Length": length}), 413)

    @pytest.mark.parametrize("kind", ["", "text/plain", "multipart/form-data", "application/jsonx"])
    def test_415_for_what_is_not_said_to_be_json(self, api: Api, kind: str) -> None:
        response = api.call("POST", self.PATH, content=b"{}", headers={"Content-Type": kind})
        error = refusal(response, 415)
        assert error["code"] == "unsupported_media_type"
        assert repr(kind or "none") in error["message"]

    def test_415_for_a_compressed_body(self, api: Api) -> None:
        response = api.post(self.PATH, b"\x1f\x8b", {"Content-Encoding": "gzip"})
        assert refusal(response, 415)["code"] == "unsupported_encoding"

    def test_408_for_a_body_that_does_not_come(self) -> None:
        async def slow() -> AsyncIterator[bytes]:
            yield b"{"
            await asyncio.sleep(PATIENCE)

        quick = PARAMS.model_copy(update={"limits": limits(body_seconds=0.01)})
        with running(served(Fake()), params=quick) as engine:
            response = Api(engine).post(self.PATH, slow())
        assert refusal(response, 408)["code"] == "body_timeout"
        assert "the limit body_seconds=0.01" in response.json()["error"]["message"]
        assert response.headers["Connection"] == "close"


@pytest.mark.parametrize("path", COMPUTING)
class TestEveryPostThatComputes:
    @pytest.fixture(autouse=True)
    def _quiet(self) -> Iterator[None]:
        """Faults are logged with their traceback."""
        logging.disable(logging.ERROR)
        yield
        logging.disable(logging.NOTSET)

    def test_500_where_the_encoder_fails(self, api: Api, fake: Fake, path: str) -> None:
        fake.broken.add(row(5))
        error = refusal(api.post(path, ASKED[path]), 500)
        assert (error["type"], error["code"]) == ("server_error", "internal_error")
        assert "RuntimeError" in error["message"]
        assert "kernel" not in error["message"]


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
