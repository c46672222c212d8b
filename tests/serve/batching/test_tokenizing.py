"""Inputs on their way to token ids: what is cut, what is refused, and which input is to blame."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import HEAD, TAIL, WORDS, Fake, Row, fake_tokenizer, row, served, words
from tests.serve.served import PROPERTY, batching, finish, submit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from serve.batching.jobs import Encoded

LONG = words(*range(3, 33))  # 32 tokens with the special ones, twice what the fake takes
inputs = st.lists(
    st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=30)
    | st.lists(st.integers(3, WORDS - 1), max_size=30).map(lambda ids: words(*ids)),
    min_size=1,
    max_size=12,
)


def encode(
    fake: Fake, some: Sequence[str | list[int]], *, truncate: bool = True, most: int = 10**6
) -> Encoded:
    """What a request for these inputs gets."""

    async def main() -> Encoded:
        with batching(threads=0) as batcher:
            job = submit(batcher, served(fake), some, truncate=truncate, most_tokens=most)
            await finish(batcher)
            return job.future.result()

    return asyncio.run(main())


def refused(
    some: Sequence[str | list[int]], *, truncate: bool = True, most: int = 10**6
) -> ApiError:
    with pytest.raises(ApiError) as caught:
        encode(Fake(), some, truncate=truncate, most=most)
    assert caught.value.status == 400
    return caught.value


@PROPERTY
@given(some=inputs)
def test_texts_and_ids_become_complete_rows_that_are_cut_and_marked(
    some: list[str | list[int]],
) -> None:
    fake, tokenizer = Fake(), fake_tokenizer()
    found = encode(fake, some)
    whole = [
        tokenizer.encode([one])[0] if isinstance(one, str) else tokenizer.complete(one)
        for one in some
    ]
    assert set(fake.computed) == {tuple(tokenizer.cut(ids)) for ids in whole}
    assert found.tokens == [min(len(ids), tokenizer.max_length) for ids in whole]
    assert found.truncated == [len(ids) > tokenizer.max_length for ids in whole]


def test_a_request_of_many_long_texts_is_tokenized_whole() -> None:
    found = encode(Fake(), [words(*range(3, 3 + place)) + " " * (1 << 15) for place in range(6)])
    assert found.tokens == [2, 3, 4, 5, 6, 7]


@pytest.mark.parametrize("text", [LONG, list(range(3, 33))])
def test_where_nothing_may_be_cut_a_long_text_is_refused_by_name(text: str | list[int]) -> None:
    error = refused([words(5), words(6), text], truncate=False)
    assert (error.code, error.param) == ("context_length_exceeded", "input")
    assert error.message == (
        "input[2]: has 32 tokens, special ones included, and fake takes 16; shorten it, or leave "
        "truncate out to have it cut."
    )


def test_a_text_of_exactly_the_length_is_not_too_long() -> None:
    exact: list[str | list[int]] = [words(*range(3, 17)), [HEAD, *range(3, 17), TAIL]]
    assert encode(Fake(), exact, truncate=False).tokens == [16, 16]


@pytest.mark.parametrize("wrong", [WORDS, 10**30, 10**4299])
def test_ids_outside_the_vocabulary_are_refused_by_name(wrong: int) -> None:
    error = refused([[5], [6, wrong, 7]])
    assert (error.code, error.param) == ("invalid_value", "input")
    assert error.message.startswith(f"input[1]: the token id {wrong} is outside")
    assert error.message.endswith("fake, 0 to 99; take ids from /v1/tokenize.")


def test_more_tokens_than_the_limit_are_refused_with_their_number() -> None:
    """Four rows of three tokens; three of them are within the limit."""
    error = refused([words(5)] * 4, most=11)
    assert (error.code, error.param) == ("limit_exceeded", "input")
    assert error.message == (
        "input: the first 4 texts have 12 tokens, over the limit tokens=11; divide the request."
    )
    assert encode(Fake(), [words(5)] * 4, most=12).tokens == [3] * 4


def test_what_is_cut_off_does_not_count_against_the_limit() -> None:
    assert encode(Fake(), [LONG], most=16).truncated == [True]


@pytest.mark.parametrize(
    ("default", "name", "first"),
    [
        (None, None, row(5)),
        (None, "query", row(90, 5)),
        ("query", None, row(90, 5)),
        ("query", "passage", row(91, 5)),
    ],
)
def test_a_prompt_is_put_before_texts_and_not_before_ids(
    default: str | None, name: str | None, first: Row
) -> None:
    async def main() -> None:
        fake = Fake()
        with batching(threads=0) as batcher:
            encoder = served(fake, default_prompt=default)
            submit(batcher, encoder, [words(5), [6]], prompt_name=name)
            await finish(batcher)
        assert set(fake.computed) == {first, row(6)}

    asyncio.run(main())
