"""The batcher: whoever asks for what and when, each gets what it would get alone, in fair turns."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from tests.serve.fakes import Fake, row, served, words
from tests.serve.served import (
    PROPERTY,
    assert_right,
    batching,
    finish,
    left,
    limits,
    on_loop,
    settle,
    step,
    submit,
    until,
)

if TYPE_CHECKING:
    from collections.abc import Sequence


Numbers = list[int]
MANY = limits(queue_texts=10_000)
TURN = 32  # texts of a long request before others have their turn
SLICE = 1 << 16  # characters that a thread tokenizes in one go
# Few different ones, so that equal texts meet.
numbers = st.lists(st.integers(3, 6), min_size=1, max_size=4)
requests = st.lists(st.lists(numbers, min_size=1, max_size=8), min_size=1, max_size=8)


def inputs(request: Sequence[Numbers]) -> list[str | list[int]]:
    """Every other one as text, the others as ids."""
    return [words(*one) if place % 2 else one for place, one in enumerate(request)]


@PROPERTY
@given(asked=requests, threads=st.integers(1, 3), budget=st.integers(1, 40))
@on_loop
async def test_concurrent_requests_get_their_single_results(
    asked: list[list[Numbers]], threads: int, budget: int
) -> None:
    with batching(threads=threads, budget=budget) as batcher:
        encoder = served(Fake())
        jobs = [submit(batcher, encoder, inputs(request)) for request in asked]
        found = await asyncio.gather(*(job.future for job in jobs))
        for result, request in zip(found, asked, strict=True):
            assert_right(result, request)
        await until(lambda: not left(batcher))


@PROPERTY
@given(asked=requests, budget=st.integers(1, 40))
@on_loop
async def test_equal_texts_that_wait_together_are_computed_once_in_batches_within_the_budget(
    asked: list[list[Numbers]], budget: int
) -> None:
    fake = Fake()
    with batching(threads=0, budget=budget) as batcher:
        encoder = served(fake)
        for request in asked:
            submit(batcher, encoder, inputs(request))
        await finish(batcher)
    assert set(Counter(fake.computed).values()) == {1}
    assert set(fake.computed) == {row(*one) for request in asked for one in request}
    for batch in fake.batches:
        assert len(batch) == 1 or len(batch) * max(map(len, batch)) <= budget


@PROPERTY
@given(asked=requests, data=st.data())
@on_loop
async def test_whatever_comes_and_leaves_in_whatever_order_nothing_is_left_or_wrong(
    asked: list[list[Numbers]], data: st.DataObject
) -> None:
    """Requests come, leave, and work goes on, one thing at a time, as drawn."""
    with batching(threads=0, budget=data.draw(st.integers(1, 40))) as batcher:
        encoder = served(Fake())
        jobs = []
        for request in asked:
            jobs.append(submit(batcher, encoder, inputs(request)))
            for _ in range(data.draw(st.integers(0, 3))):
                step(batcher)
            if data.draw(st.booleans()):
                data.draw(st.sampled_from(jobs)).future.cancel()
            if data.draw(st.booleans()):
                await settle()
        await finish(batcher)
        for job, request in zip(jobs, asked, strict=True):
            assert job.future.done()
            if not job.future.cancelled():
                assert_right(job.future.result(), request)


@on_loop
async def test_encoders_do_not_share_texts() -> None:
    first, second = Fake(), Fake()
    with batching(threads=0) as batcher:
        jobs = [submit(batcher, served(fake), [[5], [6]]) for fake in (first, second)]
        await finish(batcher)
        for job in jobs:
            assert_right(job.future.result(), [[5], [6]])
    assert first.computed == second.computed == [row(5), row(6)]


@on_loop
async def test_a_text_joins_an_equal_one_that_is_being_computed(fake: Fake) -> None:
    encoder = served(fake)
    with batching(threads=2) as batcher:
        fake.gate.clear()
        first = submit(batcher, encoder, [[5]])
        await asyncio.to_thread(fake.entered.acquire)
        second = submit(batcher, encoder, [[5]])
        await until(lambda: second.missing == 1)
        fake.gate.set()
        for found in await asyncio.gather(first.future, second.future):
            assert_right(found, [[5]])
        assert not left(batcher)
    assert fake.computed == [row(5)]


@on_loop
async def test_only_what_nothing_is_computed_beside_takes_all_threads() -> None:
    each, alone = Fake(), Fake()
    encoder = served(each, alone=alone)
    with batching(threads=2) as batcher:
        await until(lambda: batcher._idle == 2)
        alone.gate.clear()
        first = submit(batcher, encoder, [[5]])
        await asyncio.to_thread(alone.entered.acquire)
        second = submit(batcher, encoder, [[6]])
        assert_right(await second.future, [[6]])
        alone.gate.set()
        assert_right(await first.future, [[5]])
    assert (alone.computed, each.computed) == ([row(5)], [row(6)])


@on_loop
async def test_texts_share_batches_of_requests_that_wait_together(fake: Fake) -> None:
    encoder = served(fake)
    with batching(threads=0, budget=64) as batcher:
        for number in range(3, 11):
            submit(batcher, encoder, [[number]])
        await finish(batcher)
    assert [len(batch) for batch in fake.batches] == [8]


@on_loop
async def test_a_batch_is_divided_among_idle_threads_if_it_is_large(fake: Fake) -> None:
    long = [[3 + place // 90, 3 + place % 90] * 7 for place in range(64)]  # 16 tokens each
    with batching(threads=4, budget=2048) as batcher:
        await until(lambda: batcher._idle == 4)
        job = submit(batcher, served(fake), long)
        assert_right(await job.future, long)
    assert len(fake.batches) > 1
    assert sum(len(batch) < 16 for batch in fake.batches) <= 1  # the rest, 16 are 256 tokens


@on_loop
async def test_a_text_of_much_other_length_waits_for_its_like(fake: Fake) -> None:
    short = [[3 + number] * 18 for number in range(5)]
    with batching(threads=0, budget=4096) as batcher:
        submit(batcher, served(fake, max_length=400), [*short[:2], [9] * 398, *short[2:]])
        await finish(batcher)
    lengths = sorted([len(one) for one in batch] for batch in fake.batches)
    assert lengths == [[20] * 5, [400]]


def many(texts: int, tokens: int) -> list[list[int]]:
    """Different texts of so many tokens, special ones included."""
    return [[3 + place // 90, 3 + place % 90] + [3] * (tokens - 4) for place in range(texts)]


@on_loop
async def test_a_request_that_comes_later_passes_a_long_one(fake: Fake) -> None:
    """The long one has three turns of one text a batch; the short one waits for one turn."""
    encoder = served(fake)
    with batching(MANY, threads=0, budget=4) as batcher:
        submit(batcher, encoder, many(3 * TURN, tokens=4))
        step(batcher)
        submit(batcher, encoder, [[99]])
        await finish(batcher)
    assert fake.computed.index(row(99)) == TURN


@on_loop
async def test_a_long_request_ends_though_short_ones_keep_coming(fake: Fake) -> None:
    """For each text that is computed a new short request comes, as under steady overload."""
    encoder = served(fake)
    with batching(MANY, threads=0, budget=5) as batcher:
        job = submit(batcher, encoder, many(2 * TURN, tokens=5))
        for short in many(20 * TURN, tokens=4):
            submit(batcher, encoder, [short])
            step(batcher)
            step(batcher)
            await settle()
        assert job.future.done()


@on_loop
async def test_a_request_that_is_long_to_tokenize_lets_others_pass_and_is_read_whole(
    fake: Fake,
) -> None:
    encoder = served(fake)
    texts = [[3] * length for length in range(1, 6)]
    with batching(threads=0) as batcher:
        long = submit(batcher, encoder, [words(*text) + " " * SLICE for text in texts])
        step(batcher)
        short = submit(batcher, encoder, [[6]])
        for _ in range(4):
            step(batcher)
        await settle()
        assert short.future.done()
        assert not long.future.done()
        await finish(batcher)
        assert_right(long.future.result(), texts)
