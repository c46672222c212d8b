"""Tokenizers as they are served: the ids of the encoder's own, and what clients' ids become."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.encoders.reference_texts import TEXTS
from serve.encoders.text import TextTokenizer
from tests.serve.fakes import HEAD, TAIL, fake_tokenizer, row
from tests.serve.served import PROPERTY
from tests.tiny import LONGEST, corpus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.conftest import Tiny

pieces = st.sampled_from([*corpus()[:40], *TEXTS, "[SEP]", "[MASK]", "</s>", "<mask>", " "])
texts = st.text() | st.lists(pieces | st.text(max_size=8), max_size=12).map(" ".join)


class Special(NamedTuple):
    head: tuple[int, ...]
    tail: tuple[int, ...]


def own(tiny: Tiny, text: str) -> list[int]:
    """As the encoder itself reads and cuts a text."""
    encoded = tiny.reference.tokenizer([text], truncation=True, max_length=LONGEST)
    ids: list[int] = encoded["input_ids"][0]
    return ids


@PROPERTY
@given(text=texts)
@example(text="")
@example(text="[CLS] a [SEP] b")
@example(text="a\x00b\ufffd\U000e0001")
@example(text=" ".join(corpus()[:30]))
def test_ids_are_those_of_the_encoders_own_tokenizer(reader: Tiny, text: str) -> None:
    tokenizer = reader.served.tokenizer
    (ids,) = tokenizer.encode([text])
    assert tokenizer.cut(ids) == own(reader, text)


@PROPERTY
@given(some=st.lists(texts, max_size=6))
def test_the_company_of_a_text_changes_nothing(reader: Tiny, some: list[str]) -> None:
    tokenizer = reader.served.tokenizer
    assert tokenizer.encode(some) == [tokenizer.encode([text])[0] for text in some]


@PROPERTY
@given(text=texts)
def test_ids_with_or_without_special_tokens_are_completed_to_those_of_the_text(
    reader: Tiny, text: str
) -> None:
    tokenizer = reader.served.tokenizer
    (ids,) = tokenizer.encode([text])
    inside = ids[len(tokenizer.head) : len(ids) - len(tokenizer.tail)]
    assert tokenizer.complete(ids) == ids
    if inside and tokenizer.complete(inside) != inside:  # unless the text itself has them
        assert tokenizer.complete(inside) == ids


def test_special_tokens_are_found_in_the_tokenizer(reader: Tiny) -> None:
    tokenizer, theirs = reader.served.tokenizer, reader.reference.tokenizer
    assert tokenizer.head == (theirs.cls_token_id,)
    assert tokenizer.tail == (theirs.sep_token_id,)


@pytest.mark.parametrize(
    ("ids", "completed"),
    [
        ([7], [HEAD, 7, TAIL]),
        ([HEAD, 7, TAIL], [HEAD, 7, TAIL]),
        ([HEAD, TAIL], [HEAD, TAIL]),
        # Half of the special tokens are a part of what is to be encoded.
        ([HEAD, 7], [HEAD, HEAD, 7, TAIL]),
        ([7, TAIL], [HEAD, 7, TAIL, TAIL]),
        ([HEAD], [HEAD, HEAD, TAIL]),
        ([TAIL], [HEAD, TAIL, TAIL]),
    ],
)
def test_ids_are_completed_unless_they_have_both_ends(ids: list[int], completed: list[int]) -> None:
    assert fake_tokenizer().complete(ids) == completed


@pytest.mark.parametrize(
    ("special", "ids", "completed"),
    [
        (Special((), ()), [7], [7]),
        (Special((1,), ()), [7], [1, 7]),
        (Special((1,), ()), [1, 7], [1, 7]),
        (Special((), (2,)), [7], [7, 2]),
        (Special((1, 5), (2,)), [1, 5, 7, 2], [1, 5, 7, 2]),
        (Special((1, 5), (2,)), [1, 7, 2], [1, 5, 1, 7, 2, 2]),
        (Special((1,), (1,)), [1], [1, 1, 1]),
    ],
)
def test_other_special_tokens_are_completed_too(
    special: Special, ids: list[int], completed: list[int]
) -> None:
    tokenizer = TextTokenizer(fake_tokenizer().tokenizer, 16, *special)
    assert tokenizer.complete(ids) == completed


@PROPERTY
@given(ids=st.lists(st.integers(3, 90), max_size=40), most=st.integers(3, 20))
def test_a_cut_keeps_the_first_tokens_and_the_special_ones(ids: list[int], most: int) -> None:
    whole = list(row(*ids))
    cut = fake_tokenizer(most).cut(whole)
    assert len(cut) == min(most, len(whole))
    assert cut == whole if len(whole) <= most else cut == [*whole[: most - 1], TAIL]


def test_the_vocabulary_ends_after_the_greatest_id(reader: Tiny) -> None:
    tokenizer = reader.served.tokenizer
    assert tokenizer.vocabulary == len(reader.reference.tokenizer)
    assert tokenizer.token(tokenizer.vocabulary - 1) != "None"




def test_a_tokenizer_file_that_cuts_and_pads_does_neither_here(
    reader: Tiny, tmp_path: Path
) -> None:
    tokenizer = reader.exported.tokenizer().tokenizer
    tokenizer.enable_truncation(4)
    tokenizer.enable_padding(length=9)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    served = TextTokenizer.load(tmp_path / "tokenizer.json", LONGEST)
    some = ["a", "the house by the river and the hill"]
    assert served.encode(some) == reader.served.tokenizer.encode(some)
