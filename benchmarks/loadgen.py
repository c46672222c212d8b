"""A closed-loop HTTP load that takes as little as it can of the cores it shares with the server.

Each client has one keep-alive connection and sends its next request as soon as the answer to the
last one is complete. Requests are bytes made beforehand. Of an answer only the status and
Content-Length are read; its body is counted and dropped.

Counting starts and ends in the midst of the load. A request that was under way at either edge
counts by the share of its time that lies within: servers answer in bursts of many requests, and
whole ones would make throughput depend on how many bursts the edges happen to enclose.

Not here: what is sent (serve.py), clients that look at their answers (serve_peers/traffic.py).
"""

from __future__ import annotations

import asyncio
import gc
import time
from array import array
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

import numpy as np
import uvloop

from benchmarks.serve_peers.messages import HOST, read_head

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

# The "status" of a request whose connection ended before its answer was complete.
DROPPED = 0
_PAUSE = 0.05  # seconds after a refusal, so that a client does not spin
_DRAIN = 120.0  # seconds that the last answers may take

Reading = TypeVar("Reading")


@dataclass(frozen=True)
class Load:
    """How hard to press: connections with one request under way, texts of each, how long."""

    clients: int
    texts: int
    seconds: float  # that are counted
    lead_in: float  # seconds before these


@dataclass(frozen=True)
class Outcome(Generic[Reading]):
    """What a load brought.

    Attributes:
        seconds: how long was counted.
        texts: texts answered with 200 within these seconds, those of shares included.
        latencies: seconds from sending to an answer 200 that was complete within these seconds.
        statuses: answers of each status, those before and after the counted seconds included.
        before, after: what the probe gave as counting started and ended.
    """

    seconds: float
    texts: float
    latencies: np.ndarray
    statuses: Mapping[int, int]
    before: Reading
    after: Reading

    @property
    def texts_per_second(self) -> float:
        """Throughput within the counted seconds."""
        return self.texts / self.seconds


def press(
    port: int, requests: Iterator[bytes], load: Load, probe: Callable[[], Reading]
) -> Outcome[Reading]:
    """Put a load on the server at a port of this machine.

    Args:
        port: where it listens.
        requests: what to send, one after the other.
        load: how hard.
        probe: called as counting starts and ends; should take milliseconds at most.

    Raises:
        OSError: nobody listens, or nobody listens any more.
        ValueError: an answer cannot be read.
        TimeoutError: an answer did not come.
    """
    gc.collect()
    gc.disable()
    try:
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_Pressing(port, requests, load).run(probe))
    finally:
        gc.enable()


class _Pressing:
    """The clients of one load, and what they count together."""

    def __init__(self, port: int, requests: Iterator[bytes], load: Load) -> None:
        self.requests = requests
        self.sending = True
        self._port = port
        self._load = load
        self._statuses: Counter[int] = Counter()
        self._times = array("d")  # of each answer 200: sent, complete
        self._awaited: set[_Client] = set()  # clients whose answers are still to be counted
        self._ended = asyncio.Event()  # these have come, or the load has failed
        self._failure: Exception | None = None
        self._clients: set[_Client] = set()
        self._reconnecting: set[asyncio.Task[None]] = set()

    async def run(self, probe: Callable[[], Reading]) -> Outcome[Reading]:
        try:
            return await self._counted(probe)
        finally:
            self.sending = False
            for client in self._clients:
                client.transport.abort()
            await asyncio.sleep(0)  # uvloop may hang if it is closed before its connections

    async def _counted(self, probe: Callable[[], Reading]) -> Outcome[Reading]:
        for client in [await self._connect() for _ in range(self._load.clients)]:
            client.send()
        await self._pass(self._load.lead_in)
        before, began = probe(), time.perf_counter()
        await self._pass(self._load.seconds)
        ended, after = time.perf_counter(), probe()
        await self._answers()  # the load stays until all that is counted is complete
        self.sending = False
        await self._answers()
        sent, complete = np.array(self._times).reshape(-1, 2).T
        within = np.minimum(complete, ended) - np.maximum(sent, began)
        shares = np.maximum(within, 0) / (complete - sent)
        latencies = (complete - sent)[(complete > began) & (complete <= ended)]
        texts = self._load.texts * float(shares.sum())
        return Outcome(ended - began, texts, latencies, dict(self._statuses), before, after)

    async def _answers(self) -> None:
        """Wait for the answers to what is under way."""
        self._awaited = {client for client in self._clients if client.waiting}
        if self._awaited:
            await self._pass(_DRAIN)
            self._ended.clear()
        if self._awaited:
            raise TimeoutError(f"{len(self._awaited)} answers did not come within {_DRAIN} s.")

    async def _pass(self, seconds: float) -> None:
        """Let time pass, until the load has ended at the latest."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            return
        if self._failure:
            raise self._failure

    async def _connect(self) -> _Client:
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: _Client(self), HOST, self._port)
        self._clients.add(client)
        return client

    def answered(self, client: _Client, status: int, sent: float) -> None:
        self._statuses[status] += 1
        if status == 200:
            self._times.extend((sent, time.perf_counter()))
        if client in self._awaited:
            self._awaited.discard(client)
            if not self._awaited:
                self._ended.set()

    def lost(self, client: _Client, pause: float) -> None:
        self._clients.discard(client)
        if self.sending and not self._failure:
            task = asyncio.get_running_loop().create_task(self._reconnect(pause))
            self._reconnecting.add(task)
            task.add_done_callback(self._reconnecting.discard)

    async def _reconnect(self, pause: float) -> None:
        await asyncio.sleep(pause)
        try:
            (await self._connect()).send()
        except OSError as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        self._failure = error
        self._ended.set()


class _Client(asyncio.Protocol):
    """One connection; at most one request is under way on it."""

    def __init__(self, pressing: _Pressing) -> None:
        self._pressing = pressing
        self._head = b""
        self._status = 0
        self._missing = -1  # bytes of the body; negative until its length is known
        self._sent: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def send(self) -> None:
        if not self._pressing.sending or self.transport.is_closing():
            return
        request = next(self._pressing.requests)
        self._sent = time.perf_counter()
        self.transport.write(request)

    @property
    def waiting(self) -> bool:
        return self._sent is not None

    def data_received(self, data: bytes) -> None:
        if self._missing < 0:
            self._head, found, data = (self._head + data).partition(b"\r\n\r\n")
            if not found:
                return
            try:
                self._status, self._missing = read_head(self._head)
            except ValueError as error:
                self._pressing.fail(error)
                return
        self._missing -= len(data)
        if self._missing <= 0:
            self._complete()

    def _complete(self) -> None:
        excess = self._missing < 0
        self._head, self._missing = b"", -1
        if excess or self._sent is None:
            self._pressing.fail(ValueError("The server sent more than it was asked for."))
            return
        sent, self._sent = self._sent, None
        self._pressing.answered(self, self._status, sent)
        if self._status == 200:
            self.send()
        else:
            asyncio.get_running_loop().call_later(_PAUSE, self.send)

    def connection_lost(self, _: Exception | None) -> None:
        dropped, self._sent = self._sent, None
        if dropped is not None:
            self._pressing.answered(self, DROPPED, dropped)
        self._pressing.lost(self, 0.0 if dropped is None else _PAUSE)
