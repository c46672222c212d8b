"""The batcher when something fails: the request that is to blame fails, and no other."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import Fake, row, served, words
from tests.serve.served import PROPERTY, assert_right, batching, finish, on_loop, submit

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


def status_of(job: Job) -> int:
    error = job.future.exception()
    assert isinstance(error, ApiError)
    return error.status


@PROPERTY
@given(asked=requests, broken=st.sets(numbers.map(tuple), max_size=3), infinite=st.booleans())
@on_loop
async def test_requests_with_a_text_that_fails_fail_and_all_others_succeed(
    asked: list[list[list[int]]], broken: set[tuple[int, ...]], infinite: bool
) -> None:
    fake = Fake()
    fault = np.nan if infinite else RuntimeError("no such kernel")
    fake.faults = {row(*one): fault for one in broken}
    encoder = served(fake)
    with batching(threads=0) as batcher:
        jobs = [submit(batcher, encoder, request) for request in asked]
        await finish(batcher)
        for job, request in zip(jobs, asked, strict=True):
            if broken.intersection(map(tuple, request)):
                assert status_of(job) == 500
            else:
                assert_right(job.future.result(), request)


@on_loop
async def test_a_tokenizer_that_fails_fails_its_request_only(
    fake: Fake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: object) -> list[list[int]]:
        raise OSError("no such file")

    good, bad = served(fake), served(fake, "bad")
    monkeypatch.setitem(bad.tokenizer.__dict__, "encode", broken)
    with batching(threads=0) as batcher:
        first, second = (submit(batcher, encoder, [words(5)]) for encoder in (bad, good))
        await finish(batcher)
        assert status_of(first) == 500
        assert_right(second.future.result(), [[5]])


@on_loop
async def test_a_wrong_input_is_refused_while_others_of_its_slice_are_computed(fake: Fake) -> None:
    encoder = served(fake)
    with batching(threads=0) as batcher:
        wrong, right = (submit(batcher, encoder, ids) for ids in ([[5], [1000]], [[5]]))
        await finish(batcher)
        assert status_of(wrong) == 400
        assert_right(right.future.result(), [[5]])


@on_loop
async def test_the_rest_of_a_failed_request_is_not_computed(fake: Fake) -> None:
    fake.faults[row(5)] = RuntimeError("no such kernel")
    with batching(threads=0, budget=3) as batcher:
        job = submit(batcher, served(fake), [[number] for number in range(5, 25)])
        await finish(batcher)
        assert status_of(job) == 500
    assert set(fake.computed) == {row(5)}
