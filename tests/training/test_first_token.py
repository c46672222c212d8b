"""A last layer for the first token only gives the same embeddings and gradients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.training.first_token import only_first_token
from tests.tiny import write_bert, write_roberta

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TEXTS = ["One short sentence.", "A much longer sentence, so that the other one is padded.", "Two"]


def first_states(encoder: SentenceEncoder) -> torch.Tensor:
    batch = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    hidden: torch.Tensor = encoder.model(**batch).last_hidden_state
    return hidden[:, 0]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
@pytest.mark.parametrize("write", [write_bert, write_roberta])
def test_embeddings_and_gradients_stay_the_same(
    tmp_path: Path, write: Callable[[Path], Path], attention: str
) -> None:
    folder, found = write(tmp_path), []
    for only in (False, True):
        encoder = SentenceEncoder.load(folder, "cpu")
        encoder.model.set_attn_implementation(attention)
        encoder.model.double()
        assert not only or only_first_token(encoder.model)
        states = first_states(encoder)
        states.square().sum().backward()  # type: ignore[no-untyped-call]
        gradients = {name: p.grad for name, p in encoder.model.named_parameters()}
        found.append((states.detach(), gradients))
    torch.testing.assert_close(*(states for states, _ in found))
    torch.testing.assert_close(*(gradients for _, gradients in found))


def test_one_state_a_sentence_is_left(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    assert only_first_token(encoder.model)
    batch = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
    assert encoder.model(**batch).last_hidden_state.shape[:2] == (len(TEXTS), 1)


def test_what_is_saved_does_not_change(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    before = list(encoder.model.state_dict())
    only_first_token(encoder.model)
    assert list(encoder.model.state_dict()) == before


def test_other_models_are_left_as_they_are() -> None:
    model = DistilBertModel(DistilBertConfig(dim=32, n_layers=1, n_heads=2, hidden_dim=32))
    assert not only_first_token(model)
