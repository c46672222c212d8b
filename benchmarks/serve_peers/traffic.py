"""Clients of a soak: mixed requests whose every answer is checked, bad ones, and ones given up.

Each client does one thing after the other and thinks between them, so that the checks do not take
the cores from the server. A 429 is waited out as its Retry-After says, and sent again.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.serve_peers.bad_inputs import bad_inputs
from benchmarks.serve_peers.messages import HOST, post, read_head
from benchmarks.serve_peers.peers import MODEL, cosines, vectors_of

if TYPE_CHECKING:
    from benchmarks.serve_peers.texts import Pool

PATH = "/v1/embeddings"
AGREEMENT = 0.9999
BAD = CANCELLED = 0.05  # shares of what clients do
SIZES = (1, 1, 1, 2, 4, 8, 16, 32, 64)
_FLOATS = 0.2  # share of good requests that ask for JSON numbers
_PATIENCE = 120.0  # seconds without an answer


@dataclass(frozen=True)
class Expected:
    """What good answers must hold.

    Attributes:
        pool: the texts that are sent.
        vectors: of each of them.
        limit: tokens that the model reads of a text.
    """

    pool: Pool
    vectors: np.ndarray
    limit: int


@dataclass
class Tally:
    """What has been sent and what came back.

    Attributes:
        statuses: complete answers by kind (`good`, or the name of a bad input) and status.
        wrong: everything that must not happen, by what it was.
        cancelled: requests that their client gave up, sent wholly or in part.
        checked: vectors that were compared.
        least_cosine: of these.
        waited: seconds that clients waited because a Retry-After said so.
        latencies: seconds of good answers.
    """

    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    wrong: Counter[str] = field(default_factory=Counter)
    cancelled: int = 0
    checked: int = 0
    least_cosine: float = 1.0
    waited: float = 0.0
    latencies: list[float] = field(default_factory=list)

    def by_status(self) -> Counter[int]:
        """Complete answers by status."""
        total: Counter[int] = Counter()
        for (_, status), count in self.statuses.items():
            total[status] += count
        return total


class Client:
    """One of the clients; `run` until the deadline."""

    def __init__(self, port: int, expected: Expected, tally: Tally, seed: int) -> None:
        self._port = port
        self._expected = expected
        self._tally = tally
        self._random = np.random.default_rng(seed)
        self._bad = bad_inputs(MODEL)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def run(self, deadline: float, think: float) -> None:
        """Until `time.monotonic()` is past the deadline; `think` is the mean of pauses, seconds."""
        while time.monotonic() < deadline:
            draw = self._random.random()
            if draw < BAD:
                await self._refused(deadline)
            elif draw < BAD + CANCELLED:
                await self._given_up()
            else:
                await self._good(deadline)
            await asyncio.sleep(self._random.exponential(think))
        self._close()

    async def _good(self, deadline: float) -> None:
        chosen, content = self._content()
        request = post(self._port, PATH, content)
        began = time.monotonic()
        status, body = await self._insist("good", request, deadline)
        if status != 200:
            self._expect("good", status, {429})
            return
        self._tally.latencies.append(time.monotonic() - began)
        try:
            self._check(chosen, json.loads(body)["data"])
        except (KeyError, TypeError, ValueError) as error:
            self._tally.wrong[f"a body that cannot be read: {error!r}"[:200]] += 1

    async def _refused(self, deadline: float) -> None:
        bad = self._bad[self._random.integers(len(self._bad))]
        request = post(self._port, PATH, bad.body)
        status, body = await self._insist(bad.name, request, deadline)
        self._expect(bad.name, status, {bad.status, 429})
        if status == bad.status and b'"error"' not in body:
            self._tally.wrong[f"{bad.name}: no error in the body"] += 1

    async def _given_up(self) -> None:
        request = post(self._port, PATH, self._content()[1])
        half = self._random.random() < 0.25
        try:
            _, writer = await self._connected()
            writer.write(request[: len(request) // 2] if half else request)
            await asyncio.sleep(self._random.uniform(0, 0.1))
        except OSError as error:
            self._tally.wrong[f"connection: {error!r}"[:200]] += 1
        self._tally.cancelled += 1
        self._close()

    def _content(self) -> tuple[np.ndarray, dict[str, Any]]:
        size = int(self._random.choice(SIZES))
        chosen = self._random.integers(len(self._expected.pool.texts), size=size)
        texts = [self._expected.pool.texts[index] for index in chosen]
        alone = size == 1 and self._random.random() < 0.5
        floats = self._random.random() < _FLOATS
        content = {"model": MODEL, "input": texts[0] if alone else texts}
        return chosen, content | {"encoding_format": "float" if floats else "base64"}

    async def _insist(self, kind: str, request: bytes, deadline: float) -> tuple[int, bytes]:
        """Send until the answer is no 429, or time is up; status 0 if there was no answer."""
        while True:
            try:
                head, body = await asyncio.wait_for(self._exchange(request), _PATIENCE)
                status = read_head(head)[0]
            except (OSError, EOFError, TimeoutError, ValueError) as error:
                self._tally.wrong[f"no answer: {error!r}"[:200]] += 1
                self._close()
                return 0, b""
            self._tally.statuses[kind, status] += 1
            if status != 429 or time.monotonic() >= deadline:
                return status, body
            await self._wait(head, deadline)

    async def _wait(self, head: bytes, deadline: float) -> None:
        lines = dict(line.split(b":", 1) for line in head.lower().split(b"\r\n")[1:])
        value = lines.get(b"retry-after", b"").strip()
        if not value.isdigit():
            self._tally.wrong["429 without a Retry-After in seconds"] += 1
        seconds = min(float(value or 1), max(deadline - time.monotonic(), 0.0))
        self._tally.waited += seconds
        await asyncio.sleep(seconds)

    async def _exchange(self, request: bytes) -> tuple[bytes, bytes]:
        reader, writer = await self._connected()
        writer.write(request)
        await writer.drain()
        head = (await reader.readuntil(b"\r\n\r\n"))[:-4]
        body = await reader.readexactly(read_head(head)[1])
        if b"connection: close" in head.lower():
            self._close()
        return head, body

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(HOST, self._port)
        return self._streams

    def _close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()
            self._streams = None

    def _expect(self, kind: str, status: int, allowed: set[int]) -> None:
        if status not in allowed | {0}:  # 0 is told of already
            self._tally.wrong[f"{kind}: status {status}"] += 1

    def _check(self, chosen: np.ndarray, data: list[dict[str, Any]]) -> None:
        if len(data) != len(chosen):
            raise ValueError(f"{len(data)} vectors for {len(chosen)} texts")
        found = cosines(vectors_of(data), self._expected.vectors[chosen])
        self._tally.checked += len(chosen)
        self._tally.least_cosine = min(self._tally.least_cosine, *found.tolist())
        if not (found >= AGREEMENT).all():
            self._tally.wrong["vectors that differ"] += int((~(found >= AGREEMENT)).sum())
        for index, one in zip(chosen, data, strict=True):
            longer = self._expected.pool.tokens[index] > self._expected.limit
            if one["truncated"] != longer:
                self._tally.wrong[f"truncated is {one['truncated']}, not {longer}"] += 1
