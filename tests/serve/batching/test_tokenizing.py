"""A request's inputs on their way to token ids: slices, limits, and which input is to blame."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.batching.jobs import Job
from serve.batching.tokenizing import SLICE, tokenise_some
from serve.errors import ApiError
from tests.serve.fakes import HEAD, TAIL, WORDS, Fake, row, served, words
from tests.serve.served import PROPERTY

if TYPE_CHECKING:
    from collections.abc import Sequence

LONG = words(*range(3, 33))  # 32 tokens with the special ones, twice what the fake takes
inputs = st.lists(
    st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=30)
    | st.lists(st.integers(3, WORDS - 1), max_size=30).map(lambda ids: words(*ids)),
    min_size=1,
    max_size=12,
)


def job(some: Sequence[str | list[int]], *, truncate: bool = True, most_tokens: int = 10**6) -> Job:
    loop = asyncio.new_event_loop()
    loop.close()
    return Job(
        served(Fake()),
        list(some),
        lambda index: f"input[{index}]",
        truncate,
        most_tokens,
        loop,
        loop.create_future(),
    )


def step(asked: Job) -> bool | ApiError:
    (outcome,) = tokenise_some([asked])
    return outcome


def refused(asked: Job) -> ApiError:
    outcome: bool | ApiError = False
    while outcome is False:
        outcome = step(asked)
    assert isinstance(outcome, ApiError)
    assert outcome.status == 400
    return outcome


@PROPERTY
@given(some=inputs)
def test_texts_and_ids_become_complete_rows_in_their_order(some: list[str | list[int]]) -> None:
    asked = job(some)
    assert step(asked) is True
    tokenizer = asked.encoder.tokenizer
    whole = [
        tokenizer.encode([one])[0] if isinstance(one, str) else tokenizer.complete(one)
        for one in some
    ]
    assert asked.rows == [tokenizer.cut(ids) for ids in whole]
    assert asked.truncated == [len(ids) > tokenizer.max_length for ids in whole]


@PROPERTY
@given(some=st.lists(inputs, max_size=6))
def test_jobs_that_are_tokenised_together_get_what_each_gets_alone(
    some: list[list[str | list[int]]],
) -> None:
    """Of two encoders, in any order; a job that is refused changes nothing for the others."""
    first, second = job([words(5)]), job([words(6)])
    encoders = first.encoder, second.encoder
    jobs = [replace(job(one), encoder=encoders[len(one) % 2]) for one in some]
    wrong = job([words(5), [WORDS]])
    outcomes = tokenise_some([first, *jobs[:3], wrong, second, *jobs[3:]])
    assert isinstance(outcomes.pop(len(jobs[:3]) + 1), ApiError)
    assert outcomes == [True] * (len(jobs) + 2)
    for asked, one in zip(jobs, some, strict=True):
        alone = job(one)
        step(alone)
        assert (asked.rows, asked.truncated) == (alone.rows, alone.truncated)


def test_a_long_request_is_tokenised_in_slices() -> None:
    text = words(5) + " " * (SLICE // 2)
    asked = job([text] * 5)
    steps = [(step(asked), len(asked.rows)) for _ in range(3)]
    assert steps == [(False, 2), (False, 4), (True, 5)]
    assert asked.rows == [list(row(5))] * 5


def test_a_text_longer_than_a_slice_is_one() -> None:
    asked = job([words(5) + " " * (3 * SLICE), words(6)])
    assert step(asked) is False
    assert step(asked) is True
    assert asked.rows == [list(row(5)), list(row(6))]


@pytest.mark.parametrize("text", [LONG, list(range(3, 33))])
def test_a_long_text_is_cut_and_marked(text: str | list[int]) -> None:
    asked = job([words(5), text])
    assert step(asked) is True
    assert asked.rows[1] == list(row(*range(3, 17)))
    assert asked.truncated == [False, True]


@pytest.mark.parametrize("text", [LONG, list(range(3, 33))])
def test_where_nothing_may_be_cut_a_long_text_is_refused_by_name(text: str | list[int]) -> None:
    error = refused(job([words(5), words(6), text], truncate=False))
    assert (error.code, error.param) == ("context_length_exceeded", "input")
    assert error.message == (
        "input[2]: has 32 tokens, special ones included, and fake takes 16; shorten it, or leave "
        "truncate out to have it cut."
    )


def test_a_text_of_exactly_the_length_is_not_too_long() -> None:
    asked = job([words(*range(3, 17)), list(row(*range(3, 17)))], truncate=False)
    assert step(asked) is True
    assert [len(ids) for ids in asked.rows] == [16, 16]


@pytest.mark.parametrize("wrong", [WORDS, 10**30, 10**4299])
def test_ids_outside_the_vocabulary_are_refused_by_name(wrong: int) -> None:
    error = refused(job([[5], [6, wrong, 7]]))
    assert (error.code, error.param) == ("invalid_value", "input")
    assert error.message.startswith(f"input[1]: the token id {wrong} is outside")
    assert error.message.endswith("fake, 0 to 99; take ids from /v1/tokenize.")


@pytest.mark.parametrize("right", [0, HEAD, TAIL, WORDS - 1])
def test_all_ids_of_the_vocabulary_are_taken(right: int) -> None:
    assert step(job([[right]])) is True


def test_more_tokens_than_the_limit_are_refused_with_their_number() -> None:
    """Four rows of three tokens; three of them are within the limit."""
    error = refused(job([words(5)] * 4, most_tokens=11))
    assert (error.code, error.param) == ("limit_exceeded", "input")
    assert error.message == (
        "input: the first 4 texts have 12 tokens, over the limit tokens=11; divide the request."
    )
    assert step(job([words(5)] * 4, most_tokens=12)) is True


def test_the_limit_of_tokens_holds_over_slices() -> None:
    text = words(5) + " " * SLICE
    asked = job([text] * 4, most_tokens=8)
    assert step(asked) is False
    assert step(asked) is False
    assert "the first 3 texts have 9 tokens" in refused(asked).message


def test_what_is_cut_off_does_not_count_against_the_limit() -> None:
    assert step(job([LONG], most_tokens=16)) is True
