"""The load against a server of a few lines: what is counted, and how."""

from __future__ import annotations

import asyncio
import itertools
import json
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np
import pytest

from benchmarks.loadgen import DROPPED, Load, press
from benchmarks.serve_peers.messages import HOST, ask, post, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Answer = bytes | None  # None: the connection is closed instead
SOON = Load(clients=4, texts=3, seconds=0.3, lead_in=0.05)


def answer(status: int = 200, body: bytes = b"[]") -> bytes:
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


class Fake:
    """Answers every request with what `reply` gives for its body, some time later, in pieces."""

    def __init__(self, reply: Callable[[bytes], Answer], delay: float, piece: int) -> None:
        self._reply = reply
        self._delay = delay
        self._piece = piece
        self.connections = 0
        self.bodies: list[bytes] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.bodies.append(await reader.readexactly(length))
                await asyncio.sleep(self._delay)
                given = self._reply(self.bodies[-1])
                if given is None:
                    return
                for start in range(0, len(given), self._piece):
                    writer.write(given[start : start + self._piece])
                    await writer.drain()
                    await asyncio.sleep(0)
        except (asyncio.IncompleteReadError, ConnectionError):
            return
        finally:
            writer.close()


@contextmanager
def serving(
    reply: Callable[[bytes], Answer], delay: float = 0.005, piece: int = 1 << 20
) -> Iterator[tuple[int, Fake]]:
    fake = Fake(reply, delay, piece)
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(fake.serve, HOST, 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield server.sockets[0].getsockname()[1], fake
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        server.close()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0.01))
        loop.close()


def requests(port: int) -> Iterator[bytes]:
    return (post(port, "/x", {"number": number}) for number in itertools.count())


def test_throughput_is_clients_times_texts_over_latency() -> None:
    """4 clients x 3 texts, each answered 20 ms later: nearly 4 x 3 / 0.02 = 600 texts/s."""
    with serving(lambda _: answer(), delay=0.02) as (port, _fake):
        outcome = press(port, requests(port), SOON, int)
    assert 60 < outcome.texts_per_second <= 600  # a busy machine takes longer
    assert (outcome.latencies >= 0.02).all()
    assert outcome.statuses.keys() == {200}
    assert outcome.texts_per_second == pytest.approx(12 / outcome.latencies.mean(), rel=0.25)


def test_bursts_do_not_make_throughput_jump() -> None:
    """Requests of 0.2 s within 0.3 s: whole ones would be 4 or 8, that is 40 or 80 texts/s."""
    with serving(lambda _: answer(), delay=0.2) as (port, _fake):
        outcome = press(port, requests(port), SOON, int)
    assert 45 < outcome.texts_per_second <= 60


def test_every_client_has_one_connection_and_one_request_under_way() -> None:
    with serving(lambda _: answer()) as (port, fake):
        outcome = press(port, requests(port), SOON, int)
    assert fake.connections == SOON.clients
    assert sum(outcome.statuses.values()) == len(fake.bodies)
    assert [json.loads(body)["number"] for body in fake.bodies] == list(range(len(fake.bodies)))


@pytest.mark.parametrize("piece", [1, 7, 40])
def test_answers_may_come_in_pieces(piece: int) -> None:
    with serving(lambda _: answer(body=b"x" * 100), piece=piece) as (port, _fake):
        outcome = press(port, requests(port), SOON, int)
    assert outcome.statuses.keys() == {200}
    assert outcome.texts > 0


def test_refusals_are_counted_by_status_and_give_no_texts() -> None:
    with serving(lambda _: answer(429)) as (port, _fake):
        outcome = press(port, requests(port), SOON, int)
    assert outcome.statuses.keys() == {429}
    assert outcome.texts == 0
    assert len(outcome.latencies) == 0


def test_closed_connections_are_counted_and_opened_again() -> None:
    def every_third(body: bytes) -> Answer:
        return None if json.loads(body)["number"] % 3 == 0 else answer()

    with serving(every_third) as (port, fake):
        outcome = press(port, requests(port), SOON, int)
    assert outcome.statuses.keys() == {200, DROPPED}
    assert fake.connections > SOON.clients


def test_the_probe_is_read_at_both_ends_of_what_is_counted() -> None:
    with serving(lambda _: answer()) as (port, _fake):
        outcome = press(port, requests(port), SOON, time.perf_counter)
    assert outcome.after - outcome.before == pytest.approx(outcome.seconds, abs=0.2)
    assert outcome.seconds > 0.9 * SOON.seconds  # timers count milliseconds


@pytest.mark.parametrize(
    "wrong", [b"HTTP/1.1 200 X\r\nTransfer-Encoding: chunked\r\n\r\n", b"SSH-2.0\r\n\r\n"]
)
def test_what_cannot_be_read_ends_the_load(wrong: bytes) -> None:
    with serving(lambda _: wrong) as (port, _), pytest.raises(ValueError, match="Content-Length"):
        press(port, requests(port), SOON, int)


def test_more_than_was_announced_ends_the_load() -> None:
    with (
        serving(lambda _: answer() + b"more") as (port, _fake),
        pytest.raises(ValueError, match="more than it was asked for"),
    ):
        press(port, requests(port), SOON, int)


def test_nobody_listening_is_an_error() -> None:
    with serving(lambda _: answer()) as (port, _fake):
        pass
    with pytest.raises(OSError, match="refused"):
        press(port, requests(port), SOON, int)


def test_one_answer_can_be_read_in_full() -> None:
    with serving(lambda body: answer(404, body[::-1])) as (port, _fake):
        assert ask(port, post(port, "/x", b"abc")) == (404, b"cba")


def test_the_head_of_an_answer_is_read_in_any_case() -> None:
    assert read_head(b"HTTP/1.1 204 No\r\nX: 1\r\ncontent-LENGTH:  12\r\nY: 2") == (204, 12)
    assert np.isscalar(read_head(b"HTTP/1.1 200 OK\r\nContent-Length: 0")[1])
