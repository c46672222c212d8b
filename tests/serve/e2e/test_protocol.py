"""What is no HTTP, or more of it than anybody needs: refused, and the worker lives on."""

from __future__ import annotations

import time
from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.store import long_texts
from tests.serve.e2e.wire import JSON_TYPE, Connection, head, post

if TYPE_CHECKING:
    from tests.serve.e2e.process import Server

INVALID = {
    "a TLS greeting": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no HTTP at all": b"\x00\xff nonsense\r\n\r\n",
    "no such version": b"GET /livez HTTP/9.9\r\n\r\n",
    "no such method": b"FETCH /livez HTTP/1.1\r\nHost: triad\r\n\r\n",
    "a header without colon": b"GET /livez HTTP/1.1\r\nnonsense\r\n\r\n",
    "a NUL in a header": b"GET /livez HTTP/1.1\r\nHost: a\x00b\r\n\r\n",
    "bytes in the path": b"GET /\xff\xfe HTTP/1.1\r\nHost: triad\r\n\r\n",
    "bytes in the query": b"GET /gone?\xff HTTP/1.1\r\nHost: triad\r\n\r\n",
    "a negative length": head("POST", "/v1/embeddings", JSON_TYPE, "Content-Length: -1"),
    "a length that is no number": head("POST", "/v1/embeddings", "Content-Length: many"),
    "a length of 30 digits": head("POST", "/v1/embeddings", f"Content-Length: {'9' * 30}"),
    "two lengths": head("POST", "/v1/tokenize", "Content-Length: 1", "Content-Length: 2"),
    "length and chunks": head(
        "POST", "/v1/tokenize", "Content-Length: 5", "Transfer-Encoding: chunked"
    )
    + b"0\r\n\r\n",
    "a chunk without length": head("POST", "/v1/tokenize", JSON_TYPE, "Transfer-Encoding: chunked")
    + b"zz\r\n",
}


@pytest.mark.parametrize("data", INVALID.values(), ids=INVALID)
def test_what_is_no_http_gets_400_and_the_worker_lives_on(
    server: Server, connection: Connection, data: bytes
) -> None:
    worker = server.worker
    assert connection.ask(data).status == 400
    assert connection.ended
    assert server.worker == worker
    assert server.get("/readyz").status == 200


@pytest.mark.parametrize("length", [10_000, 60_000])
def test_a_very_long_path_is_not_found_with_a_short_message(server: Server, length: int) -> None:
    answer = server.get("/v1/models/" + "a" * length)
    assert answer.status == 404
    assert len(answer.body) < 1000


@pytest.mark.parametrize(
    "headers",
    [
        ["X-Long: " + "a" * 60_000],
        [f"X-{number}: a" for number in range(1000)],
        ["X-Request-Id: " + "a" * 60_000],
        ["Authorization: Bearer " + "a" * 60_000],
        ["Host: ["],
        ["Host: elsewhere/path?query"],
        ["traceparent: 00-nonsense", "baggage: ,,=="],
    ],
    ids=["long", "many", "long id", "long key", "no host", "path as host", "broken trace"],
)
def test_odd_headers_do_no_harm(server: Server, headers: list[str]) -> None:
    for path, status in (("/v1/models", 200), ("/v1/gone", 404)):
        answer = server.ask(head("GET", path, *headers))
        assert answer.status == status
        assert len(answer.headers["x-request-id"]) < 200


ENDLESS = {
    "a path": b"GET /",
    "a header": head("GET", "/livez")[:-2] + b"X-Long: ",
    "a trailer": head("POST", "/v1/embeddings", JSON_TYPE, "Transfer-Encoding: chunked")
    + b"0\r\nX-Long: ",
    "a header while the request before it is answered": post(
        "/v1/embeddings", {"model": "vicreg_modified-42", "input": long_texts(300)}
    )
    + head("GET", "/livez")[:-2]
    + b"X-Long: ",
}


@pytest.mark.parametrize("start", ENDLESS.values(), ids=ENDLESS)
def test_what_has_no_end_is_refused(connection: Connection, start: bytes) -> None:
    """Nothing else bounds the memory that one connection takes, nor the time to add it up."""
    connection.send(start)
    sent = 0
    with suppress(ConnectionError):
        while sent < 16:
            connection.send(b"a" * (1 << 20))
            sent += 1
    assert sent < 16, f"{sent} MiB were taken"


def test_a_body_that_nobody_wants_does_not_spoil_the_next_request(connection: Connection) -> None:
    length = 200_000
    connection.send(head("POST", "/v1/gone", JSON_TYPE, f"Content-Length: {length}"))
    assert connection.answer().status == 404
    for _ in range(10):
        connection.send(b" " * (length // 10))
        time.sleep(0.02)
    assert connection.ask(head("GET", "/v1/models")).status == 200


def test_many_pipelined_requests_are_no_long_head(connection: Connection) -> None:
    request = head("GET", "/v1/gone", "X-Long: " + "a" * 1000)
    connection.send(request * 300)
    assert [connection.answer().status for _ in range(300)] == [404] * 300


def test_a_websocket_is_refused(server: Server) -> None:
    upgrade = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13")
    for key in ("Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Key: x"):
        answer = server.ask(head("GET", "/v1/embeddings", *upgrade, key))
        assert 400 <= answer.status < 500
