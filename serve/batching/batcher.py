"""Requests of many clients -> batches for the backends.

Each thread does what is next: it tokenizes what has come in, or computes a batch of the texts that
are ready, equal ones once. Nothing waits for a batch to fill: while the threads are busy, texts
gather by themselves. Not here: the order of texts (jobs.py), HTTP (http/).
"""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np

from serve.batching.admission import Admission
from serve.batching.cache import EmbeddingCache
from serve.batching.computing import compute, fault
from serve.batching.jobs import PATIENCE, TURN, Item, Job, Ready, answer
from serve.batching.tokenizing import SLICE, tokenize_some
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError
from serve.metrics import Metrics
from serve.settings import LimitParams

log = logging.getLogger("serve.batching.batcher")

# A batch is not divided among idle threads below this many tokens.
_SMALLEST = 256


class Batcher:
    """Encodes texts for all requests on so many threads; see the module.

    `batch_tokens`: most tokens of a batch, padding included.
    """

    def __init__(
        self,
        limits: LimitParams,
        threads: int,
        batch_tokens: int,
        cache: EmbeddingCache,
        metrics: Metrics,
    ) -> None:
        self.admission = Admission(limits, metrics)
        self._budget = batch_tokens
        self._cache = cache
        self._metrics = metrics
        self._changed = threading.Condition()
        self._fresh: deque[Job] = deque()  # not tokenized
        self._partly: deque[Job] = deque()  # tokenized in part: long ones, which let others pass
        self._ready: dict[ServedEncoder, Ready] = {}
        self._items: dict[tuple[ServedEncoder, bytes], Item] = {}
        self._partly_next = False
        self._idle = 0
        self._served = 0  # texts computed or being computed: the clock of turns
        self._numbers = count()
        self._stopping = False
        self._threads = [
            threading.Thread(target=self._run, name=f"encode-{index}", daemon=True)
            for index in range(threads)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End the threads after what they are doing; what waits stays unanswered."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()

    @property
    def alive(self) -> bool:
        """Whether all threads run."""
        return all(thread.is_alive() for thread in self._threads)

    def submit(
        self,
        encoder: ServedEncoder,
        inputs: list[str | list[int]],
        names: Callable[[int], str],
        *,
        truncate: bool,
        most_tokens: int,
    ) -> Job:
        """Queue a request's inputs (at least one); its future gives `Encoded` or an ApiError.

        Called on the event loop, after `admission.check`.
        """
        loop = asyncio.get_running_loop()
        job = Job(encoder, inputs, names, truncate, most_tokens, loop, loop.create_future())
        self.admission.enter(job)
        with self._changed:
            self._fresh.append(job)
            self._changed.notify()
        return job

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._wait()()
            except Exception:  # the thread must outlive any fault
                log.exception("a thread of the batcher met a fault")

    def _wait(self) -> Callable[[], None]:
        """The next thing to do, as soon as there is one; nothing at the end."""
        with self._changed:
            while not self._stopping:
                work = self._next()
                if work is not None:
                    return work
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
        return lambda: None

    def _next(self) -> Callable[[], None] | None:
        """What to do next; holds the lock."""
        self._partly_next = not self._partly_next
        if self._fresh or (self._partly and (self._partly_next or not self._ready)):
            return partial(self._tokenize, self._slice(self._fresh or self._partly))
        while self._ready:
            encoder = min(self._ready, key=lambda one: self._ready[one].urgency)
            ready = self._ready[encoder]
            share = max(_SMALLEST, ready.tokens // (self._idle + 1))
            batch = ready.take(min(share, self._budget), self._forget)
            if not ready:
                del self._ready[encoder]
            if batch:
                self._served += len(batch)
                self._start({job for item in batch for job, _ in item.waiting})
                alone = self._idle == len(self._threads) - 1 and not self._ready
                return partial(self._compute, encoder, batch, alone=alone)
        return None

    def _start(self, jobs: set[Job]) -> None:
        now = time.monotonic()
        for job in jobs:
            if not job.started:
                job.started = True
                self._metrics.queue_seconds.observe(now - job.submitted)

    def _slice(self, queue: deque[Job]) -> list[Job]:
        """Jobs to tokenize in one go, about `SLICE` characters; holds the lock."""
        jobs: list[Job] = []
        characters = 0
        while queue and characters < SLICE:
            job = queue.popleft()
            if not job.over:
                jobs.append(job)
                characters += sum(map(len, job.inputs[len(job.rows) :]))
        return jobs

    def _tokenize(self, jobs: list[Job]) -> None:
        begun = time.perf_counter()
        for job, outcome in zip(jobs, self._tokenized(jobs), strict=True):
            if isinstance(outcome, ApiError):
                answer([(job, outcome)])
            elif outcome:
                self._release(job)
            else:
                with self._changed:
                    self._partly.append(job)
        self._metrics.tokenise_seconds.observe(time.perf_counter() - begun)

    def _tokenized(self, jobs: list[Job]) -> list[bool | ApiError]:
        try:
            return tokenize_some(jobs)
        except Exception as error:
            if len(jobs) > 1:
                return [outcome for job in jobs for outcome in self._tokenized([job])]
            log.exception("tokenizing failed")
            return [fault(error)]

    def _release(self, job: Job) -> None:
        """Tokenized: let each text join an equal one, or wait for a batch."""
        encoder = job.encoder
        job.missing = len(job.rows)
        job.embeddings = np.empty((len(job.rows), encoder.dimension), np.float32)
        keys = [np.array(row, np.int32).tobytes() for row in job.rows]
        with self._changed:
            for place, (row, key) in enumerate(zip(job.rows, keys, strict=True)):
                known = self._cache.get((encoder.version, key))
                if known is not None:
                    job.embeddings[place] = known
                    job.missing -= 1
                    continue
                turn = self._served + place // TURN * TURN * PATIENCE
                item = self._items.get((encoder, key))
                if item is None:
                    item = self._items[encoder, key] = Item((encoder, key), row)
                item.waiting.append((job, place))
                if item.taken:
                    self._start({job})
                if item.turn is None or (not item.taken and turn < item.turn):
                    ready = self._ready.setdefault(encoder, Ready())
                    ready.add(item, turn, next(self._numbers))
            if self._idle:
                self._changed.notify_all()
        if not job.missing:
            answer([(job, None)])

    def _forget(self, item: Item) -> None:
        """Nobody may join a text any more; holds the lock."""
        del self._items[item.key]

    def _compute(self, encoder: ServedEncoder, batch: list[Item], *, alone: bool) -> None:
        begun = time.perf_counter()
        outcomes = compute(encoder, batch, alone=alone)
        self._metrics.batch([len(item.ids) for item in batch], time.perf_counter() - begun)
        answers: list[tuple[Job, ApiError | None]] = []
        with self._changed:
            for item, outcome in zip(batch, outcomes, strict=True):
                self._forget(item)
                if isinstance(outcome, ApiError):
                    answers += [(job, outcome) for job, _ in item.waiting]
                    continue
                self._cache.put((encoder.version, item.key[1]), outcome)
                for job, place in item.waiting:
                    job.embeddings[place] = outcome
                    job.missing -= 1
                    if not job.missing:
                        answers.append((job, None))
        answer(answers)
