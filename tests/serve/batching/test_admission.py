"""Who may wait and how long, and what becomes of those who leave: nobody else is harmed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import Fake, row, served
from tests.serve.served import (
    PROPERTY,
    assert_right,
    batching,
    finish,
    left,
    limits,
    on_loop,
    settle,
    submit,
    until,
)

if TYPE_CHECKING:
    from serve.batching.batcher import Batcher


def refused(batcher: Batcher, limit: str) -> float | None:
    return batcher._metrics.registry.get_sample_value("triad_refused_total", {"limit": limit})


@on_loop
async def test_a_full_queue_refuses_at_once_and_says_when_to_come_back(fake: Fake) -> None:
    """In as many seconds as the queue takes at the pace of late, from 1 to 60."""
    encoder = served(fake)
    with batching(limits(queue_texts=40), threads=0) as batcher:
        submit(batcher, encoder, [[5]] * 38)
        for pace, seconds in ((0.0, "1"), (0.1, "4"), (10.0, "60")):
            batcher.admission.seconds_per_text = pace
            with pytest.raises(ApiError) as caught:
                batcher.admission.check(3)
            error = caught.value
            assert (error.status, error.code, error.param) == (429, "overloaded", None)
            assert error.headers["Retry-After"] == seconds
            assert error.message == (
                "the queue is full: 38 texts wait and 3 more would exceed the limit "
                "queue_texts=40; try again later."
            )
        assert refused(batcher, "queue_texts") == 3
        submit(batcher, encoder, [[5]] * 2)
        await finish(batcher)
        assert batcher.admission.seconds_per_text < 10


@PROPERTY
@given(most=st.integers(1, 30), data=st.data())
@on_loop
async def test_a_lone_request_within_the_limit_is_never_refused(
    most: int, data: st.DataObject
) -> None:
    encoder = served(Fake())
    with batching(limits(queue_texts=most), threads=0) as batcher:
        for _ in range(3):
            job = submit(batcher, encoder, [[5]] * data.draw(st.integers(1, most)))
            if data.draw(st.booleans()):
                job.future.cancel()
            await finish(batcher)


@on_loop
async def test_a_request_whose_turn_does_not_come_in_time_is_refused(fake: Fake) -> None:
    encoder = served(fake)
    with batching(limits(wait_seconds=0.1), threads=1) as batcher:
        fake.gate.clear()
        begun = submit(batcher, encoder, [[5]])
        await asyncio.to_thread(fake.entered.acquire)
        waiting = submit(batcher, encoder, [[6]])
        with pytest.raises(ApiError) as caught:
            await waiting.future
        error = caught.value
        assert (error.status, error.code) == (429, "overloaded")
        assert error.message == (
            "the request waited longer than the limit wait_seconds=0.1; try again later."
        )
        assert error.headers["Retry-After"] == "1"
        assert refused(batcher, "wait_seconds") == 1
        assert not begun.future.done()  # its turn came in time
        fake.gate.set()
        assert (await begun.future).tokens == [3]
        await until(lambda: not left(batcher))
    assert len(fake.computed) == 1


@pytest.mark.parametrize("wanted", [[5], [6], [7]])
@on_loop
async def test_who_leaves_before_its_turn_frees_its_place_and_only_what_others_want_is_computed(
    fake: Fake, wanted: list[int]
) -> None:
    encoder = served(fake)
    with batching(threads=0) as batcher:
        gone, stays = (submit(batcher, encoder, some) for some in ([[5], [6]], [wanted]))
        gone.future.cancel()
        await settle()
        assert batcher.admission.texts == 1
        await finish(batcher)
        assert_right(stays.future.result(), [wanted])
    assert fake.computed == [row(*wanted)]


@on_loop
async def test_who_leaves_while_it_is_computed_harms_nobody(fake: Fake) -> None:
    encoder = served(fake)
    with batching(threads=1) as batcher:
        fake.gate.clear()
        gone = submit(batcher, encoder, [[5], [6]])
        await asyncio.to_thread(fake.entered.acquire)
        stays = submit(batcher, encoder, [[6], [7]])
        gone.future.cancel()
        await settle()
        assert batcher.admission.texts == 2
        fake.gate.set()
        assert_right(await stays.future, [[6], [7]])
        await until(lambda: not left(batcher))
