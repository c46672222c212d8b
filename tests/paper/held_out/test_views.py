"""Held-out sentences as two views: the encoder's own embeddings, under dropout, without a head."""

from itertools import islice
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.objectives.views import Views
from pipeline.paper.held_out.views import dropout_views
from pipeline.training.batches import batch_indices
from tests.tiny import change_json

BATCHES, BATCH_SIZE, SEED = 3, 16, 5
STILL = {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def views(encoder: SentenceEncoder, prepared: Path) -> list[Views]:
    tokens = TokenArrays.load(prepared / "held_out")
    every = dropout_views(encoder, tokens, 0, batch_size=BATCH_SIZE, seed=SEED)
    return list(islice(every, BATCHES))


def test_without_dropout_they_are_the_encoders_embeddings(own: Path, prepared: Path) -> None:
    """Without a head, of the sentences that the seeded permutation chooses, at length one."""
    change_json(own / "config.json", **STILL)
    encoder = SentenceEncoder.load(own, "cpu")
    first, *_ = views(encoder, prepared)
    tokens = TokenArrays.load(prepared / "held_out")
    chosen = next(batch_indices(len(tokens), BATCH_SIZE, SEED))
    for row, index in enumerate(chosen):
        ids = torch.from_numpy(np.asarray(tokens[int(index)], np.int64))[None]
        with torch.inference_mode():
            state = encoder.model(input_ids=ids).last_hidden_state[0, 0].double()
        for view in (first.anchor, first.positive):
            assert view[row].numpy() == pytest.approx((state / state.norm()).numpy(), abs=1e-5)


def test_dropout_makes_two_of_each_sentence(tiny_bert: Path, prepared: Path) -> None:
    encoder = SentenceEncoder.load(tiny_bert, "cpu")
    batches = views(encoder, prepared)
    assert len(batches) == BATCHES
    for batch in batches:
        assert batch.anchor.shape == batch.positive.shape == (BATCH_SIZE, encoder.dimension)
        assert (batch.anchor != batch.positive).any(dim=1).all()
