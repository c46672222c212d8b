"""Inputs on their way to token ids: what is cut, what is refused, and which input is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serve.errors import ApiError
from tests.serve.fakes import HEAD, TAIL, WORDS, Fake, fake_tokenizer, served, words
from tests.serve.served import PROPERTY, batching, finish, on_loop, submit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from serve.batching.jobs import Encoded

LONG = words(*range(3, 18))  # 17 tokens with the special ones, one more than the fake takes
inputs = st.lists(
    st.lists(st.integers(0, WORDS - 1), min_size=1, max_size=30)
    | st.lists(st.integers(3, WORDS - 1), max_size=30).map(lambda ids: words(*ids)),
    min_size=1,
    max_size=12,
)


async def encode(
    fake: Fake, some: Sequence[str | list[int]], *, truncate: bool = True, most: int = 10**6
) -> Encoded:
    """What a request for these inputs gets."""
    with batching(threads=0) as batcher:
        job = submit(batcher, served(fake), some, truncate=truncate, most_tokens=most)
        await finish(batcher)
        return job.future.result()


async def refused(
    some: Sequence[str | list[int]], *, truncate: bool = True, most: int = 10**6
) -> ApiError:
    with pytest.raises(ApiError) as caught:
        await encode(Fake(), some, truncate=truncate, most=most)
    assert (caught.value.status, caught.value.param) == (400, "input")
    return caught.value


@PROPERTY
@given(some=inputs)
@on_loop
async def test_texts_and_ids_become_complete_rows_that_are_cut_and_marked(
    some: list[str | list[int]],
) -> None:
    fake, tokenizer = Fake(), fake_tokenizer()
    found = await encode(fake, some)
    whole = [
        tokenizer.encode([one])[0] if isinstance(one, str) else tokenizer.complete(one)
        for one in some
    ]
    assert set(fake.computed) == {tuple(tokenizer.cut(ids)) for ids in whole}
    assert found.tokens == [min(len(ids), tokenizer.max_length) for ids in whole]
    assert found.truncated == [len(ids) > tokenizer.max_length for ids in whole]


@pytest.mark.parametrize("text", [LONG, list(range(3, 18))], ids=["text", "ids"])
@on_loop
async def test_where_nothing_may_be_cut_a_longer_text_is_refused_by_name(
    fake: Fake, text: str | list[int]
) -> None:
    error = await refused([words(5), words(6), text], truncate=False)
    assert error.code == "context_length_exceeded"
    assert error.message == (
        "input[2]: has 17 tokens, special ones included, and fake takes 16; shorten it, or leave "
        "truncate out to have it cut."
    )
    exact: list[str | list[int]] = [words(*range(3, 17)), [HEAD, *range(3, 17), TAIL]]
    assert (await encode(fake, exact, truncate=False)).tokens == [16, 16]


@pytest.mark.parametrize("wrong", [WORDS, 10**30, 10**4299], ids=["next", "large", "huge"])
@on_loop
async def test_ids_outside_the_vocabulary_are_refused_by_name(wrong: int) -> None:
    error = await refused([[5], [6, wrong, 7]])
    assert error.code == "invalid_value"
    assert error.message.startswith(f"input[1]: the token id {wrong} is outside")
    assert error.message.endswith("fake, 0 to 99; take ids from /v1/tokenize.")


@on_loop
async def test_more_tokens_than_the_limit_are_refused_with_their_number(fake: Fake) -> None:
    """Four rows of three tokens; three of them are within the limit."""
    error = await refused([words(5)] * 4, most=11)
    assert error.code == "limit_exceeded"
    assert error.message == (
        "input: the first 4 texts have 12 tokens, over the limit tokens=11; divide the request."
    )
    assert (await encode(fake, [words(5)] * 4, most=12)).tokens == [3] * 4
    assert (await encode(fake, [LONG], most=16)).truncated == [True]  # cut off first
