"""Requests of many clients -> batches for the backends.

Each thread does what is next: it tokenizes what has come in, or computes a batch of the texts that
are ready, equal ones once. Nothing waits for a batch to fill: while the threads are busy, texts
gather by themselves. Not here: which texts suit each other (jobs.py), HTTP (api/).
"""

import asyncio
import heapq
import logging
import math
import threading
import time
from collections.abc import Callable
from functools import partial
from itertools import count

import numpy as np

from pipeline.encoder.vectors import Embeddings, pad
from serve.batching.admission import Admission
from serve.batching.jobs import Job, Ready, Text, answer
from serve.batching.tokenizing import SLICE, next_part, tokenize_some
from serve.encoders.exported import Embed
from serve.encoders.registry import ServedEncoder
from serve.errors import ApiError, encoder_failed
from serve.metrics import Metrics
from serve.settings import LimitParams

log = logging.getLogger("serve.batching.batcher")

# So many of a request's texts have their turn together, or as many as fill a batch. The next ones
# let so many times that number of texts pass. So a long list does not hold up the short ones that
# come after it, and gets its share while these keep coming.
SHARE = 32
PATIENCE = 4
# A batch is not divided among idle threads below this many tokens.
_SMALLEST = 256


class Batcher:
    """Encodes texts for all requests on so many threads; see the module.

    `batch_tokens`: most tokens of a batch, padding included.
    """

    def __init__(
        self, limits: LimitParams, threads: int, batch_tokens: int, metrics: Metrics
    ) -> None:
        self.admission = Admission(limits, metrics)
        self._budget = batch_tokens
        self._metrics = metrics
        self._changed = threading.Condition()
        self._untokenized: list[tuple[float, int, Job]] = []  # a heap by turns
        self._ready: dict[ServedEncoder, Ready] = {}
        self._texts: dict[tuple[ServedEncoder, tuple[int, ...]], Text] = {}
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

    def submit(  # noqa: PLR0913 - what a request consists of
        self,
        encoder: ServedEncoder,
        inputs: list[str | list[int]],
        names: Callable[[int], str],
        *,
        truncate: bool,
        most_tokens: int,
        prompt_name: str | None = None,
    ) -> Job:
        """Queue a request's inputs (at least one); its future gives `Encoded` or an ApiError.

        Called on the event loop, after `admission.check`. `prompt_name` names one of the encoder's
        prompts, which is put before each text; None: its default prompt, if it has one.
        """
        future = asyncio.get_running_loop().create_future()
        prompt = encoder.prompt(prompt_name)
        job = Job(encoder, inputs, names, truncate, most_tokens, prompt, future)
        self.admission.enter(job)
        with self._changed:
            heapq.heappush(self._untokenized, (-1, next(self._numbers), job))  # before all batches
            self._changed.notify()
        return job

    def _run(self) -> None:
        while not self._stopping:
            try:
                with self._changed:
                    work = self._next()
                    if work is None and not self._stopping:
                        self._idle += 1
                        self._changed.wait()
                        self._idle -= 1
                if work is not None:
                    work()
            except Exception:  # the thread must outlive any fault
                log.exception("a thread of the batcher met a fault")

    def _next(self) -> Callable[[], None] | None:
        """What to do next; holds the lock."""
        while self._untokenized or self._ready:
            encoder = min(
                self._ready, key=lambda encoder: self._ready[encoder].urgency, default=None
            )
            turn = math.inf if encoder is None else self._ready[encoder].urgency[0]
            if jobs := self._jobs_before(turn):
                return partial(self._tokenize, jobs)
            if encoder is not None and (batch := self._batch(encoder)):
                alone = self._idle == len(self._threads) - 1 and not self._ready
                return partial(self._compute, encoder, batch, alone=alone)
        return None

    def _jobs_before(self, turn: float) -> list[Job]:
        """Jobs to tokenize in one go, about `SLICE` characters; holds the lock."""
        jobs: list[Job] = []
        characters = 0
        while self._untokenized and self._untokenized[0][0] < turn and characters < SLICE:
            job = heapq.heappop(self._untokenized)[2]
            if not job.over:
                jobs.append(job)
                characters += sum(map(len, next_part(job)))
        return jobs

    def _batch(self, encoder: ServedEncoder) -> list[Text]:
        """The next texts to compute; none if nobody waits for them any more. Holds the lock."""
        ready = self._ready[encoder]
        budget = self._budget
        if self._idle:
            budget = min(budget, max(_SMALLEST, ready.tokens // (self._idle + 1)))
        batch = []
        for text in ready.take(budget):
            if all(job.over for job, _ in text.wanted_by):
                del self._texts[text.encoder, text.ids]
            else:
                batch.append(text)
        if not ready:
            del self._ready[encoder]
        self._served += len(batch)
        for text in batch:
            for job, _ in text.wanted_by:
                self._start(job)
        return batch

    def _start(self, job: Job) -> None:
        if not (job.started or job.over):
            job.started = True
            self._metrics.queue_seconds.observe(time.monotonic() - job.submitted)

    def _tokenize(self, jobs: list[Job]) -> None:
        begun = time.perf_counter()
        for job, error in zip(jobs, tokenize_some(jobs), strict=True):
            if error is not None:
                answer([(job, error)])
            elif len(job.rows) == len(job.inputs):
                self._release(job)
            else:
                with self._changed:
                    turn = self._served + SHARE * PATIENCE
                    heapq.heappush(self._untokenized, (turn, next(self._numbers), job))
                    self._changed.notify()
        self._metrics.tokenize_seconds.observe(time.perf_counter() - begun)

    def _release(self, job: Job) -> None:
        """Tokenized: let its texts wait for batches, those of like length together."""
        job.missing = len(job.rows)
        job.embeddings = np.empty((len(job.rows), job.encoder.description.dimension), np.float32)
        lengths = list(map(len, job.rows))
        share = max(SHARE, self._budget * len(lengths) // sum(lengths))
        longest_first = sorted(range(len(lengths)), key=lambda index: (-lengths[index], index))
        for place in range(0, len(lengths), share):
            with self._changed:  # not for all of them at once: the event loop waits for it too
                turn = self._served + place * PATIENCE
                for index in longest_first[place : place + share]:
                    self._call(job, index, turn)
                if self._idle:
                    self._changed.notify_all()

    def _call(self, job: Job, index: int, turn: int) -> None:
        """Let a job's text wait for its turn, with an equal one if there is one; holds the lock."""
        ids = tuple(job.rows[index])
        text = self._texts.get((job.encoder, ids))
        if text is None:
            text = self._texts[job.encoder, ids] = Text(job.encoder, ids, next(self._numbers))
        text.wanted_by.append((job, index))
        if text.taken:
            self._start(job)
        else:
            self._ready.setdefault(job.encoder, Ready()).call(text, turn)

    def _compute(self, encoder: ServedEncoder, batch: list[Text], *, alone: bool) -> None:
        """`alone`: nothing else is being computed, so all threads may be used."""
        begun = time.perf_counter()
        backend = encoder.backend
        outcomes = _embeddings(encoder, batch, backend.embed_alone if alone else backend.embed)
        seconds = time.perf_counter() - begun
        self._metrics.batch([len(text.ids) for text in batch], seconds)
        pace = seconds / len(batch) / max(1, len(self._threads))
        self.admission.seconds_per_text += (pace - self.admission.seconds_per_text) / 8
        answers: list[tuple[Job, ApiError | None]] = []
        with self._changed:
            for text, outcome in zip(batch, outcomes, strict=True):
                del self._texts[text.encoder, text.ids]  # nobody may join it any more
                if isinstance(outcome, ApiError):
                    answers += [(job, outcome) for job, _ in text.wanted_by]
                    continue
                for job, index in text.wanted_by:
                    job.embeddings[index] = outcome
                    job.missing -= 1
                    if not job.missing:
                        answers.append((job, None))
        answer(answers)


def _embeddings(
    encoder: ServedEncoder, batch: list[Text], embed: Embed
) -> list[Embeddings | ApiError]:
    """An embedding (D,) for each text; if the batch fails, each text is tried by itself."""
    try:
        return list(_finite(encoder, batch, embed))
    except Exception as error:
        log.exception("a batch of %d texts failed", len(batch))
        if len(batch) == 1:
            return [encoder_failed(error)]
        return [_embeddings(encoder, [text], encoder.backend.embed)[0] for text in batch]


def _finite(encoder: ServedEncoder, batch: list[Text], embed: Embed) -> Embeddings:
    """(N, D) embeddings."""
    embeddings = embed(*pad([text.ids for text in batch], encoder.description.padding_id))
    if not np.isfinite(embeddings).all():
        raise FloatingPointError(f"{encoder.id}: an embedding is not finite")
    return embeddings
