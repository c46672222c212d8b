"""Tokenizers as they are served: the ids of the encoder's own, and what clients' ids become."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.encoders.reference_texts import TEXTS
from serve.encoders.text import TextTokenizer
from tests.serve.fakes import fake_tokenizer
from tests.serve.served import PROPERTY
from tests.tiny import LONGEST, corpus

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.conftest import Tiny

pieces = st.sampled_from([*corpus()[:40], *TEXTS, "[SEP]", "[MASK]", "</s>", "<mask>", " "])
texts = st.text() | st.lists(pieces | st.text(max_size=8), max_size=12).map(" ".join)


@PROPERTY
@given(text=texts)
@example(text="")
@example(text="[CLS] a [SEP] b")
@example(text="a\x00b\ufffd\U000e0001")
@example(text=" ".join(corpus()[:30]))
def test_ids_are_those_of_the_encoders_own_tokenizer(reader: Tiny, text: str) -> None:
    served, own = reader.served.tokenizer, reader.reference.tokenizer
    (ids,) = served.encode([text])
    assert served.cut(ids) == own(text, truncation=True, max_length=LONGEST)["input_ids"]
    bare = own(text, add_special_tokens=False)["input_ids"]
    assert served.complete(ids) == ids
    closed = bare[:1] == ids[:1] and bare[-1:] == ids[-1:]  # by the text itself
    assert served.complete(bare) == (bare if closed else ids)


@PROPERTY
@given(some=st.lists(texts, max_size=6))
def test_the_company_of_a_text_changes_nothing(reader: Tiny, some: list[str]) -> None:
    tokenizer = reader.served.tokenizer
    assert tokenizer.encode(some) == [tokenizer.encode([text])[0] for text in some]


@pytest.mark.parametrize(
    ("head", "tail", "ids", "completed"),
    [
        ((1,), (2,), [7], [1, 7, 2]),
        ((1,), (2,), [1, 7, 2], [1, 7, 2]),
        ((1,), (2,), [1, 2], [1, 2]),
        # Half of the special tokens are a part of what is to be encoded.
        ((1,), (2,), [1, 7], [1, 1, 7, 2]),
        ((1,), (2,), [7, 2], [1, 7, 2, 2]),
        ((1,), (2,), [1], [1, 1, 2]),
        ((1,), (2,), [2], [1, 2, 2]),
        ((), (), [7], [7]),
        ((1,), (), [7], [1, 7]),
        ((1,), (), [1, 7], [1, 7]),
        ((), (2,), [7], [7, 2]),
        ((1, 5), (2,), [1, 5, 7, 2], [1, 5, 7, 2]),
        ((1, 5), (2,), [1, 7, 2], [1, 5, 1, 7, 2, 2]),
        ((1,), (1,), [1], [1, 1, 1]),
    ],
)
def test_ids_are_completed_unless_they_have_both_ends(
    head: tuple[int, ...], tail: tuple[int, ...], ids: list[int], completed: list[int]
) -> None:
    tokenizer = TextTokenizer(fake_tokenizer().tokenizer, 16, head, tail)
    assert tokenizer.complete(ids) == completed


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
