"""The batcher when requests leave: their places are free at once, and nobody else is harmed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.serve.fakes import Fake, embedding, row, served
from tests.serve.served import LIMITS, batching, finish, left, settle, submit, until

if TYPE_CHECKING:
    from serve.batching.batcher import Batcher
    from serve.batching.jobs import Job


async def begun(batcher: Batcher, fake: Fake, job: Job) -> None:
    """Let a thread come to the gate with a job's batch."""
    await asyncio.to_thread(fake.entered.acquire)
    assert job.started


def test_a_request_cancelled_before_its_turn_frees_its_place_and_is_not_computed() -> None:
    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        with batching(threads=0) as batcher:
            gone, stays = (submit(batcher, encoder, [[number]]) for number in (5, 6))
            gone.future.cancel()
            await settle()
            assert batcher.admission.texts == 1
            await finish(batcher)
            assert stays.future.result().tokens == [3]
            assert not left(batcher)
        assert fake.computed == [row(6)]

    asyncio.run(main())


def test_a_request_cancelled_while_it_is_computed_harms_nobody() -> None:
    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        with batching(threads=1) as batcher:
            fake.gate.clear()
            gone = submit(batcher, encoder, [[5], [6]])
            await begun(batcher, fake, gone)
            stays = submit(batcher, encoder, [[6], [7]])
            gone.future.cancel()
            await settle()
            assert batcher.admission.texts == 2
            fake.gate.set()
            found = await stays.future
            assert np.array_equal(
                found.embeddings, np.stack([embedding(row(6)), embedding(row(7))])
            )
            await until(lambda: not left(batcher))

    asyncio.run(main())


@pytest.mark.parametrize("shared", [[5], [6]])
def test_a_text_that_two_want_is_computed_when_one_leaves(shared: list[int]) -> None:
    async def main() -> None:
        fake = Fake()
        encoder = served(fake)
        with batching(threads=0) as batcher:
            gone, stays = (submit(batcher, encoder, [[5], [6]]), submit(batcher, encoder, [shared]))
            gone.future.cancel()
            await settle()
            await finish(batcher)
            assert stays.future.result().tokens == [3]
            assert not left(batcher)
        assert fake.computed == [row(*shared)]

    asyncio.run(main())


def test_threads_end_when_told_to_though_requests_wait() -> None:
    async def main() -> None:
        fake = Fake()
        with batching(LIMITS, threads=2) as batcher:
            fake.gate.clear()
            job = submit(batcher, served(fake), [[5]])
            await begun(batcher, fake, job)
            stopping = asyncio.create_task(asyncio.to_thread(batcher.stop))
            fake.gate.set()
            await stopping
            assert not batcher.alive

    asyncio.run(main())
