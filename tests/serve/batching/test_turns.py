"""Turns: a long request lets others pass, and comes to its end."""

from __future__ import annotations

import asyncio

from tests.serve.fakes import Fake, row, served, words
from tests.serve.served import assert_right, batching, finish, limits, settle, step, submit

MANY = limits(queue_texts=10_000)
TURN = 32  # texts of a long request before others have their turn
LONG_TEXT = words(5) + " " * (1 << 16)  # as much as a thread tokenizes in one go


def many(texts: int, tokens: int) -> list[list[int]]:
    """Different texts of so many tokens, special ones included."""
    return [[3 + place // 90, 3 + place % 90] + [3] * (tokens - 4) for place in range(texts)]


def test_a_request_that_comes_later_passes_a_long_one() -> None:
    """The long one has three turns of one text a batch; the short one waits for one turn."""

    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        long = many(3 * TURN, tokens=4)
        with batching(MANY, threads=0, budget=4) as batcher:
            submit(batcher, encoder, long)
            step(batcher)
            submit(batcher, encoder, [[99]])
            await finish(batcher)
        assert fake.computed.index(row(99)) == TURN

    asyncio.run(main())


def test_a_long_request_ends_though_short_ones_keep_coming() -> None:
    """For each text that is computed a new short request comes, as under steady overload."""

    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        long = many(2 * TURN, tokens=5)
        with batching(MANY, threads=0, budget=5) as batcher:
            job = submit(batcher, encoder, long)
            for short in many(10 * len(long), tokens=4):
                submit(batcher, encoder, [short])
                step(batcher)
                step(batcher)
                await settle()
            assert job.future.done()

    asyncio.run(main())


def test_a_request_that_is_long_to_tokenize_lets_others_pass() -> None:
    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        with batching(threads=0) as batcher:
            long = submit(batcher, encoder, [LONG_TEXT] * 5)
            step(batcher)
            short = submit(batcher, encoder, [[6]])
            for _ in range(4):
                step(batcher)
            await settle()
            assert short.future.done()
            assert not long.future.done()
            await finish(batcher)
            assert_right(long.future.result(), [[5]] * 5)

    asyncio.run(main())
