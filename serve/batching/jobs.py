"""A request's texts on their way through the batcher, and how ready texts become batches.

Here are the data and the order; not here: which texts suit each other (grouping.py), threads and
admission (batcher.py).
"""

import asyncio
import heapq
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from serve.batching.grouping import cheapest_group
from serve.encoders.exported import Embeddings
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError

# A request's texts take their turns in groups of this size. Each group lets so many times its size
# of others' texts pass, so that a long list does not hold up the short ones that come after it, and
# gets its share while these keep coming.
TURN = 32
PATIENCE = 4
# How many waiting texts are looked at for a batch of like lengths.
WINDOW = 512


@dataclass(frozen=True)
class Encoded:
    """What a request gets: N texts' embeddings, pooled and not normalized.

    Attributes:
        embeddings: (N, D) float32.
        tokens: tokens encoded of each text, special ones included.
        truncated: whether each text was cut.
    """

    embeddings: Embeddings
    tokens: list[int]
    truncated: list[bool]


@dataclass(eq=False)
class Job:
    """One request to one encoder.

    Attributes:
        encoder: whose embeddings are wanted.
        inputs: texts, or token ids.
        names: how each input is named in messages, like `input[3]`.
        truncate: whether long texts are cut rather than refused.
        most_tokens: tokens that all of them together may have.
        loop: the event loop on which `future` lives.
        future: the result.
        rows: token ids of each input, as far as they are known.
        truncated: whether each was cut.
        embeddings: (N, D), filled by and by.
        missing: how many rows of `embeddings` are not there yet.
        submitted: when it came, on the monotonic clock.
        started: whether the computation of any text has begun.
        over: whether nobody waits for it any more: answered, failed or cancelled.
    """

    encoder: ServedEncoder
    inputs: list[str | list[int]]
    names: Callable[[int], str]
    truncate: bool
    most_tokens: int
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Encoded]"
    rows: list[list[int]] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    embeddings: Embeddings = field(default_factory=lambda: np.empty((0, 0), np.float32))
    missing: int = 0
    submitted: float = field(default_factory=time.monotonic)
    started: bool = False
    over: bool = False

    def result(self) -> Encoded:
        """What the request gets."""
        return Encoded(self.embeddings, [len(row) for row in self.rows], self.truncated)


@dataclass(eq=False)
class Item:
    """A text to encode, once for all that wait for it.

    Attributes:
        key: equal for equal token ids of the same encoder.
        ids: its tokens.
        waiting: the jobs that wait for it, with its place in each.
        turn: when it is to be computed; None before it is ready.
        taken: whether it is in a batch already.
    """

    key: tuple[ServedEncoder, bytes]
    ids: list[int]
    waiting: list[tuple[Job, int]] = field(default_factory=list)
    turn: int | None = None
    taken: bool = False

    @property
    def wanted(self) -> bool:
        """Whether anybody still waits."""
        return any(not job.over for job, _ in self.waiting)


class Ready:
    """The texts of one encoder that wait for a batch, the most urgent first."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, Item]] = []
        self._count = 0
        self.tokens = 0

    def __len__(self) -> int:
        return len(self._heap)

    @property
    def urgency(self) -> tuple[int, int]:
        """Turn and number of the most urgent text; smaller is more urgent."""
        return self._heap[0][:2]

    def add(self, item: Item, turn: int, number: int) -> None:
        """Let a text wait for its turn, or for an earlier one than it had.

        `number` orders texts of one turn.
        """
        if item.turn is None:
            self.tokens += len(item.ids)
        item.turn = turn
        heapq.heappush(self._heap, (turn, number, item))

    def take(self, budget: int, forget: Callable[[Item], None]) -> list[Item]:
        """Remove a batch: the most urgent text with others of like length.

        Its texts times its longest text's tokens are within the budget, unless it is one text.
        Texts that nobody waits for are dropped and given to `forget`; so a batch may be empty.
        """
        window: list[tuple[int, int, Item]] = []
        while self._heap and len(window) < WINDOW:
            entry = heapq.heappop(self._heap)
            turn, _, item = entry
            if item.taken or item.turn != turn:
                continue  # an earlier turn was given to it
            if item.wanted:
                window.append(entry)
            else:
                self.tokens -= len(item.ids)
                forget(item)
        if not window:
            return []
        chosen = set(cheapest_group([len(item.ids) for _, _, item in window], budget))
        batch = []
        for index, entry in enumerate(window):
            if index in chosen:
                batch.append(entry[2])
                entry[2].taken = True
                self.tokens -= len(entry[2].ids)
            else:
                heapq.heappush(self._heap, entry)
        return batch


def answer(answers: Iterable[tuple[Job, ApiError | None]]) -> None:
    """Settle jobs on their event loops, one wake-up a loop."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, ApiError | None]]] = {}
    for job, error in answers:
        job.over = job.over or error is not None  # its other texts need not be computed
        by_loop.setdefault(job.loop, []).append((job, error))
    for loop, settled in by_loop.items():
        loop.call_soon_threadsafe(_settle, settled)


def _settle(answers: list[tuple[Job, ApiError | None]]) -> None:
    for job, error in answers:
        if job.future.done():
            continue
        if error is None:
            job.future.set_result(job.result())
        else:
            job.future.set_exception(error)
