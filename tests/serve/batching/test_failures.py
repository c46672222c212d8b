"""The batcher when something fails: the request that is to blame fails, and no other."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import Fake, embedding, row, served, words
from tests.serve.served import PROPERTY, batching, finish, left, submit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from serve.batching.jobs import Job

numbers = st.lists(st.integers(3, 6), min_size=1, max_size=2)
requests = st.lists(st.lists(numbers, min_size=1, max_size=4), min_size=1, max_size=6)


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    """Faults are logged with their traceback."""
    logging.disable(logging.ERROR)
    yield
    logging.disable(logging.NOTSET)


def error_of(job: Job) -> ApiError:
    error = job.future.exception()
    assert isinstance(error, ApiError)
    return error


@PROPERTY
@given(asked=requests, broken=st.sets(numbers.map(tuple), max_size=3), infinite=st.booleans())
def test_requests_with_a_text_that_fails_fail_and_all_others_succeed(
    asked: list[list[list[int]]], broken: set[tuple[int, ...]], infinite: bool
) -> None:
    async def main() -> None:
        fake = Fake()
        (fake.infinite if infinite else fake.broken).update(row(*one) for one in broken)
        encoder = served(fake)
        with batching(threads=0) as batcher:
            jobs = [submit(batcher, encoder, list(request)) for request in asked]
            await finish(batcher)
            for job, request in zip(jobs, asked, strict=True):
                if broken.intersection(map(tuple, request)):
                    assert error_of(job).status == 500
                else:
                    right = np.stack([embedding(row(*one)) for one in request])
                    assert np.array_equal(job.future.result().embeddings, right)
            assert not left(batcher)

    asyncio.run(main())


@pytest.mark.parametrize(
    ("attribute", "kind"), [("broken", "RuntimeError"), ("infinite", "FloatingPointError")]
)
def test_a_fault_is_told_by_its_kind_and_never_by_its_message(attribute: str, kind: str) -> None:
    async def main() -> None:
        fake = Fake()
        getattr(fake, attribute).add(row(5))
        with batching(threads=0) as batcher:
            job = submit(batcher, served(fake), [[5]])
            await finish(batcher)
            error = error_of(job)
        assert (error.status, error.code) == (500, "internal_error")
        assert error.message == f"the encoder failed ({kind}); the server's log has details."

    asyncio.run(main())


def test_a_tokenizer_that_fails_fails_its_request_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> list[list[int]]:
        raise OSError("no such file")

    async def main() -> None:
        fake = Fake()
        good, bad = served(fake), served(fake, "bad")
        monkeypatch.setattr(type(bad.tokenizer), "encode", broken)
        with batching(threads=0) as batcher:
            first = submit(batcher, bad, [words(5)])
            monkeypatch.undo()
            monkeypatch.setitem(bad.tokenizer.__dict__, "encode", broken)
            second = submit(batcher, good, [words(5)])
            await finish(batcher)
            assert error_of(first).status == 500
            assert second.future.result().tokens == [3]
            assert not left(batcher)

    asyncio.run(main())


def test_a_wrong_input_is_refused_while_others_of_its_slice_are_computed() -> None:
    async def main() -> None:
        encoder = served(Fake())
        with batching(threads=0) as batcher:
            wrong = submit(batcher, encoder, [[5], [1000]])
            right = submit(batcher, encoder, [[5]])
            await finish(batcher)
            assert error_of(wrong).status == 400
            assert right.future.result().tokens == [3]
            assert not left(batcher)

    asyncio.run(main())


def test_the_rest_of_a_failed_request_is_not_computed() -> None:
    async def main() -> None:
        fake = Fake()
        fake.broken.add(row(5))
        with batching(threads=0, budget=3) as batcher:
            job = submit(batcher, served(fake), [[number] for number in range(5, 25)])
            await finish(batcher)
            assert error_of(job).status == 500
            assert not left(batcher)
        assert set(fake.computed) == {row(5)}

    asyncio.run(main())


def test_threads_outlive_faults() -> None:
    async def main() -> None:
        fake = Fake()
        fake.broken.add(row(5))
        encoder = served(fake)
        with batching(threads=2) as batcher:
            for _ in range(4):
                with pytest.raises(ApiError):
                    await submit(batcher, encoder, [[5]]).future
            assert (await submit(batcher, encoder, [[6]]).future).tokens == [3]
            assert batcher.alive
        assert not batcher.alive

    asyncio.run(main())
