"""Who may wait: the bound on all texts in the service, and how long one request waits.

All of it happens on the event loop, so nothing needs a lock.
"""

import asyncio
from functools import partial

from serve.batching.jobs import Encoded, Job
from serve.errors import ApiError, overloaded
from serve.metrics import Metrics
from serve.settings import LimitParams


class Admission:
    """Counts the texts that are not yet answered.

    Attributes:
        texts: their number.
        seconds_per_text: what a text took of late, as the batcher says; for `Retry-After`.
    """

    def __init__(self, limits: LimitParams, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self.texts = 0
        self.seconds_per_text = 0.0

    def check(self, texts: int) -> None:
        """Refuse texts for which there is no room, with 429; nothing is counted yet."""
        most = self._limits.queue_texts
        if self.texts + texts > most:
            raise self._refusal(
                "queue_texts",
                f"the queue is full: {self.texts} texts wait and {texts} more would exceed the "
                f"limit queue_texts={most}",
            )

    def enter(self, job: Job) -> None:
        """Count a job's texts until it is over, however it ends."""
        self.texts += len(job.inputs)
        loop = job.future.get_loop()
        timer = loop.call_later(self._limits.wait_seconds, self._expire, job)
        job.future.add_done_callback(partial(self._leave, job, timer))

    def _leave(self, job: Job, timer: asyncio.TimerHandle, _: "asyncio.Future[Encoded]") -> None:
        job.over = True
        timer.cancel()
        self.texts -= len(job.inputs)

    def _expire(self, job: Job) -> None:
        if not job.started and not job.future.done():
            seconds = self._limits.wait_seconds
            job.future.set_exception(
                self._refusal(
                    "wait_seconds",
                    f"the request waited longer than the limit wait_seconds={seconds:g}",
                )
            )

    def _refusal(self, limit: str, why: str) -> ApiError:
        self._metrics.refused.labels(limit).inc()
        seconds = min(60, max(1, round(self.texts * self.seconds_per_text)))
        return overloaded(f"{why}; try again later.", seconds)
