"""Who may wait: no more than the queue holds, no longer than the limit says, and never in vain."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import Fake, served
from tests.serve.served import PROPERTY, batching, finish, left, limits, submit, until

if TYPE_CHECKING:
    from serve.batching.batcher import Batcher


def full(batcher: Batcher, texts: int) -> ApiError:
    with pytest.raises(ApiError) as caught:
        batcher.admission.check(texts)
    return caught.value


def refused(batcher: Batcher, limit: str) -> float:
    return batcher._metrics.registry.get_sample_value("triad_refused_total", {"limit": limit}) or 0


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back() -> None:
    async def main() -> None:
        encoder = served(Fake())
        with batching(limits(queue_texts=5), threads=0) as batcher:
            submit(batcher, encoder, [[5]] * 3)
            error = full(batcher, 3)
            assert (error.status, error.code, error.param) == (429, "overloaded", None)
            assert 1 <= int(error.headers["Retry-After"]) <= 60
            assert error.message == (
                "the queue is full: 3 texts wait and 3 more would exceed the limit queue_texts=5; "
                "try again later."
            )
            assert refused(batcher, "queue_texts") == 1
            submit(batcher, encoder, [[5]] * 2)
            await finish(batcher)
            assert not left(batcher)

    asyncio.run(main())


@PROPERTY
@given(most=st.integers(1, 30), data=st.data())
def test_a_lone_request_within_the_limit_is_never_refused(most: int, data: st.DataObject) -> None:
    async def main() -> None:
        encoder = served(Fake())
        with batching(limits(queue_texts=most), threads=0) as batcher:
            for _ in range(3):
                job = submit(batcher, encoder, [[5]] * data.draw(st.integers(1, most)))
                if data.draw(st.booleans()):
                    job.future.cancel()
                await finish(batcher)
                assert not left(batcher)

    asyncio.run(main())


def test_a_request_whose_turn_does_not_come_in_time_is_refused() -> None:
    async def main() -> None:
        with batching(limits(wait_seconds=0.01), threads=0) as batcher:
            job = submit(batcher, served(Fake()), [[5]])
            with pytest.raises(ApiError) as caught:
                await job.future
            error = caught.value
            assert (error.status, error.code) == (429, "overloaded")
            assert error.message == (
                "the request waited longer than the limit wait_seconds=0.01; try again later."
            )
            assert error.headers["Retry-After"] == "1"
            assert refused(batcher, "wait_seconds") == 1
            await finish(batcher)
            assert not left(batcher)

    asyncio.run(main())


def test_a_request_behind_a_blocked_backend_is_refused_in_time() -> None:
    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        with batching(limits(wait_seconds=0.1), threads=1) as batcher:
            fake.gate.clear()
            first = submit(batcher, encoder, [[5]])
            await asyncio.to_thread(fake.entered.acquire)
            second = submit(batcher, encoder, [[6]])
            with pytest.raises(ApiError, match="wait_seconds"):
                await second.future
            assert not first.future.done()  # it was begun in time
            fake.gate.set()
            assert (await first.future).tokens == [3]
            await until(lambda: not left(batcher))
        assert len(fake.computed) == 1

    asyncio.run(main())


def test_retry_after_is_what_the_queue_takes_at_the_pace_of_late() -> None:
    async def main() -> None:
        with batching(limits(queue_texts=40), threads=0) as batcher:
            submit(batcher, served(Fake()), [[5]] * 40)
            for pace, seconds in ((0.0, "1"), (0.1, "4"), (10.0, "60")):
                batcher.admission.seconds_per_text = pace
                assert full(batcher, 1).headers["Retry-After"] == seconds
            await finish(batcher)
            assert batcher.admission.seconds_per_text < 10

    asyncio.run(main())
