"""A request's texts on their way through the batcher, and how waiting texts become batches.

Not here: threads and fairness between requests (batcher.py).
"""

import bisect
import heapq
import math
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipeline.encoder.vectors import Embeddings
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError

if TYPE_CHECKING:
    import asyncio

# What a call of a backend costs besides its tokens, in tokens. ONNX Runtime and OpenVINO take 10 to
# 30, MiniLM on one core; from 10 to 64, a simulated load of 64 clients x 1 text changes by 3 %.
CALL = 20


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
        prompt: what is put before each text.
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
    prompt: str
    future: "asyncio.Future[Encoded]"
    rows: list[list[int]] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)
    embeddings: Embeddings = field(default_factory=lambda: np.empty((0, 0), np.float32))
    missing: int = 0
    submitted: float = field(default_factory=time.monotonic)
    started: bool = False
    over: bool = False


@dataclass(eq=False)
class Text:
    """A text to encode, once for all that wait for it.

    Attributes:
        encoder: whose embedding is wanted.
        ids: its tokens.
        number: orders texts of one turn and of one length.
        wanted_by: the jobs that wait for it, with its index in each.
        taken: whether it is in a batch already.
    """

    encoder: ServedEncoder
    ids: tuple[int, ...]
    number: int
    wanted_by: list[tuple[Job, int]] = field(default_factory=list)
    taken: bool = False


class Ready:
    """The texts of one encoder that wait for a batch."""

    def __init__(self) -> None:
        self._by_turn: list[tuple[int, int, Text]] = []  # a heap
        self._by_length: list[tuple[int, int, Text]] = []  # sorted

    def __len__(self) -> int:
        return len(self._by_length)

    @property
    def tokens(self) -> int:
        """Of all its texts."""
        return sum(length for length, _, _ in self._by_length)

    @property
    def urgency(self) -> tuple[int, int]:
        """Turn and number of the most urgent text; smaller is more urgent."""
        return self._by_turn[0][:2]

    def call(self, text: Text, turn: int) -> None:
        """Take a text in that turn, or in an earlier one for which it was called too."""
        heapq.heappush(self._by_turn, (turn, text.number, text))
        if len(text.wanted_by) == 1:  # the first call
            bisect.insort(self._by_length, (len(text.ids), text.number, text))

    def take(self, budget: int) -> list[Text]:
        """Remove a batch: the most urgent text with others of like length.

        Its texts times its longest text's tokens are within the budget, unless it is one text.
        """
        _, number, urgent = self._by_turn[0]
        first = bisect.bisect_left(self._by_length, (len(urgent.ids), number))
        begin, end = self._neighbours(first, budget)
        batch = [text for _, _, text in self._by_length[begin:end]]
        del self._by_length[begin:end]
        for text in batch:
            text.taken = True
        while self._by_turn and self._by_turn[0][2].taken:
            heapq.heappop(self._by_turn)
        return batch

    def _neighbours(self, first: int, budget: int) -> tuple[int, int]:
        """Begin and end of a run of texts in the order of their lengths that costs little a token.

        It grows from the first text, to the shorter or the longer side, as long as the next text
        adds less a token of its own than the run costs a token: a run of n texts of at most L
        tokens costs n L, as each is padded to the longest, and `CALL`.
        """
        lengths = self._by_length
        begin, end = first, first + 1
        longest = tokens = lengths[first][0]
        while True:
            count = end - begin + 1  # with one more
            cost = (count - 1) * longest
            shorter = longer = math.inf
            if begin > 0 and count * longest <= budget:
                shorter = longest / lengths[begin - 1][0]
            if end < len(lengths) and count * lengths[end][0] <= budget:
                longer = (count * lengths[end][0] - cost) / lengths[end][0]
            if min(shorter, longer) > (cost + CALL) / tokens:
                return begin, end
            if shorter < longer:
                begin -= 1
                tokens += lengths[begin][0]
            else:
                longest = lengths[end][0]
                tokens += longest
                end += 1


def answer(answers: Iterable[tuple[Job, ApiError | None]]) -> None:
    """Settle jobs on their event loops, one wake-up a loop; without an error they succeed."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, ApiError | None]]] = {}
    for job, error in answers:
        job.over = job.over or error is not None  # its other texts need not be computed
        by_loop.setdefault(job.future.get_loop(), []).append((job, error))
    for loop, settled in by_loop.items():
        loop.call_soon_threadsafe(_settle, settled)


def _settle(answers: list[tuple[Job, ApiError | None]]) -> None:
    for job, error in answers:
        if job.future.done():
            continue
        if error is None:
            tokens = [len(row) for row in job.rows]
            job.future.set_result(Encoded(job.embeddings, tokens, job.truncated))
        else:
            job.future.set_exception(error)
