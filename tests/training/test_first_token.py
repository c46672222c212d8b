"""A last layer for the first token only gives the same embeddings and gradients."""

from pathlib import Path

import pytest
import torch
from transformers import DistilBertConfig, DistilBertModel

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.training.first_token import only_first_token

TEXTS = ["One short sentence.", "A much longer sentence, so that the other one is padded.", "Two"]


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_it_computes_one_state_a_sentence_with_the_same_embeddings_and_gradients(
    tiny: Path, attention: str
) -> None:
    found = []
    for only in (False, True):
        encoder = SentenceEncoder.load(tiny, "cpu")
        encoder.model.set_attn_implementation(attention)
        encoder.model.double()
        assert not only or only_first_token(encoder.model)
        batch = encoder.tokenizer(TEXTS, padding=True, return_tensors="pt")
        hidden = encoder.model(**batch).last_hidden_state
        assert (hidden.shape[1] == 1) == only
        states = hidden[:, 0]
        states.square().sum().backward()
        gradients = {name: p.grad for name, p in encoder.model.named_parameters()}
        found.append((states.detach(), gradients))
    torch.testing.assert_close(*(states for states, _ in found))
    torch.testing.assert_close(*(gradients for _, gradients in found))


def test_other_models_are_left_as_they_are() -> None:
    model = DistilBertModel(DistilBertConfig(dim=32, n_layers=1, n_heads=2, hidden_dim=32))
    assert not only_first_token(model)
