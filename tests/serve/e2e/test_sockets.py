"""Clients that stall, leave, send too much or speak another protocol; all others are answered."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.process import eventually
from tests.serve.e2e.store import LIMITS, WIDE, long_texts
from tests.serve.e2e.wire import JSON_TYPE, Connection, head, post

if TYPE_CHECKING:
    from tests.serve.e2e.process import Server

EMBEDDINGS = "/v1/embeddings"
SHORT = {"model": "vicreg-42", "input": "A man is playing a guitar."}


def answers(server: Server) -> bool:
    """Whether another client is answered; who is held up runs into the time-out of its socket."""
    return server.post(EMBEDDINGS, SHORT).status == 200


@pytest.mark.parametrize("piece", [b"", b" "], ids=["stalls", "trickles in"])
def test_a_body_that_does_not_come_whole_gets_408_in_time_and_holds_up_nobody(
    server: Server, connection: Connection, piece: bytes
) -> None:
    """A byte from time to time does not begin the time anew."""
    limit = LIMITS["body_seconds"]
    begun = time.monotonic()
    connection.send(head("POST", EMBEDDINGS, JSON_TYPE, "Content-Length: 100000"))
    while not connection.answering:
        assert time.monotonic() - begun < 10 * limit
        connection.send(piece)
        assert answers(server)
    answer = connection.answer()
    assert time.monotonic() - begun >= limit - 0.1  # clocks are coarse
    assert answer.status == 408
    assert f"body_seconds={limit:g}" in answer.error
    assert connection.ended


def test_half_bodies_take_up_room_no_longer_than_until_408(server: Server) -> None:
    large = post(EMBEDDINGS, b" " * 250_000)
    with ExitStack() as stack:
        half = [stack.enter_context(Connection(server.address)) for _ in range(5)]
        for connection in half:
            connection.send(large[:-1])
        statuses = sorted(connection.answer().status for connection in half)
    assert statuses == [408, 408, 408, 408, 429]
    assert server.ask(large).status == 400  # read, and no JSON


def test_a_chunked_body_over_body_bytes_gets_413(server: Server, connection: Connection) -> None:
    connection.send(head("POST", EMBEDDINGS, JSON_TYPE, "Transfer-Encoding: chunked"))
    chunk = b"%x\r\n%s\r\n" % (1 << 16, b" " * (1 << 16))
    for _ in range(4):
        connection.send(chunk)
    assert answers(server)
    connection.send(b"1\r\n \r\n")
    answer = connection.answer()
    assert answer.status == 413
    assert "body_bytes=262144" in answer.error
    assert connection.ended


def test_a_chunked_body_within_body_bytes_is_read(connection: Connection) -> None:
    connection.send(head("POST", EMBEDDINGS, JSON_TYPE, "Transfer-Encoding: chunked"))
    for part in json.dumps(SHORT).encode():
        connection.send(b"1\r\n%c\r\n" % part)
    connection.send(b"0\r\n\r\n")
    assert connection.answer().status == 200


def test_who_sends_all_of_a_body_that_is_too_large_reads_the_413(server: Server) -> None:
    for _ in range(10):  # the answer must not be lost to a race
        with Connection(server.address) as connection:
            assert connection.ask(post(EMBEDDINGS, b" " * 300_000)).status == 413


def test_a_client_that_leaves_frees_its_place_and_its_texts_are_not_computed(
    server: Server,
) -> None:
    cancelled = f'triad_cancelled_total{{route="{EMBEDDINGS}"}}'
    before = server.series()
    content = {"model": WIDE, "input": long_texts(400, 1000)}
    with Connection(server.address) as connection:
        connection.send(post(EMBEDDINGS, content))
        eventually(lambda: server.series()["triad_queue_texts"] == 400)
    eventually(lambda: server.series()["triad_queue_texts"] == 0)
    assert answers(server)  # what was computed before it is counted
    settled = server.series()["triad_texts_total"]
    assert settled - before["triad_texts_total"] < 400
    assert server.series()[cancelled] == before.get(cancelled, 0) + 1
    time.sleep(1)
    assert server.series()["triad_texts_total"] == settled


def test_a_client_that_leaves_in_the_middle_of_its_body_is_no_error(server: Server) -> None:
    faults = 'triad_requests_total{route="/v1/embeddings",status="500"}'
    with Connection(server.address) as connection:
        connection.send(post(EMBEDDINGS, SHORT)[:-5])
    assert answers(server)
    assert faults not in server.series()


def test_a_slow_reader_of_a_large_answer_holds_up_nobody_and_gets_all_of_it(
    server: Server,
) -> None:
    texts = [f"text {number}" for number in range(1000)]
    content = {"model": "vicreg-42", "sources": texts, "targets": texts}
    with Connection(server.address, receive_buffer=4096) as connection:
        connection.send(post("/v1/similarity", content))
        connection.wait()
        assert all(answers(server) for _ in range(5))
        answer = connection.answer()
    rows = answer.json["data"][0]["similarities"]
    assert len(answer.body) > 5_000_000
    assert [len(row) for row in rows] == [1000] * 1000


def test_pipelined_requests_are_answered_in_their_order(connection: Connection) -> None:
    slow = {"model": WIDE, "input": long_texts(10)}
    wanted = [
        post(EMBEDDINGS, slow, "X-Request-Id: 1"),
        head("GET", "/v1/gone", "X-Request-Id: 2"),
        post(EMBEDDINGS, SHORT, "X-Request-Id: 3"),
        post(EMBEDDINGS, b"{", "X-Request-Id: 4"),
    ]
    connection.send(b"".join(wanted))
    answers = [connection.answer() for _ in wanted]
    assert [answer.status for answer in answers] == [200, 404, 200, 400]
    assert [answer.headers["x-request-id"] for answer in answers] == ["1", "2", "3", "4"]


def test_a_connection_is_kept_for_longer_than_clients_leave_it_idle(connection: Connection) -> None:
    """Clients give theirs up after 5 s; one that the server closes first may lose a request."""
    assert connection.ask(post(EMBEDDINGS, SHORT)).status == 200
    time.sleep(6.5)
    assert connection.ask(post(EMBEDDINGS, SHORT)).status == 200


ENDING = {
    "Connection: close": post(EMBEDDINGS, SHORT, "Connection: close"),
    "HTTP/1.0": post(EMBEDDINGS, SHORT).replace(b"HTTP/1.1", b"HTTP/1.0"),
}


@pytest.mark.parametrize("last", ENDING.values(), ids=ENDING)
def test_a_client_that_wants_no_more_is_answered_and_the_connection_ends(
    connection: Connection, last: bytes
) -> None:
    assert connection.ask(last).status == 200
    assert connection.ended


def test_expect_100_continue_is_told_to_continue(connection: Connection) -> None:
    request = post(EMBEDDINGS, SHORT, "Expect: 100-continue")
    start, _, body = request.partition(b"\r\n\r\n")
    connection.send(start + b"\r\n\r\n")
    assert connection.interim() == 100
    assert connection.ask(body).status == 200
