"""The dev score, and what counts as a collapse."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import CollapseError
from pipeline.senteval.readers import Pairs
from pipeline.senteval.similarity import cosine_scores, spearman
from pipeline.training.dev import DevSet, refuse_collapsed
from tests.training.lab import dev_set

DEV = DevSet(dev_set().pairs, batch_size=16)
NORM = "encoder.layer.1.output.LayerNorm"


def test_the_score_is_that_of_the_encoder_without_dropout(tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    expected = spearman(cosine_scores(encoder.encode, DEV.pairs), DEV.pairs.gold)
    encoder.model.train()
    score = DEV.scorer(encoder)
    assert score() == score() == pytest.approx(expected, abs=0.2)
    assert encoder.model.training


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (math.nan, r"of \d+ dev embeddings are NaN or infinite"),
        (math.inf, r"of \d+ dev embeddings are NaN or infinite"),
        (0.0, r"all \d+ dev embeddings are equal \(spread "),
    ],
)
def test_an_encoder_whose_embeddings_are_equal_or_not_finite_has_collapsed(
    tiny_bert: Path, weight: float, message: str
) -> None:
    encoder = SentenceEncoder.load(tiny_bert, "cpu")
    torch.nn.init.constant_(encoder.model.get_parameter(f"{NORM}.weight"), weight)
    torch.nn.init.constant_(encoder.model.get_parameter(f"{NORM}.bias"), 1)
    with pytest.raises(CollapseError, match=message):
        DEV.scorer(encoder)()
    assert encoder.model.training  # as the loop expects it, whatever happened


@pytest.mark.parametrize("noise", [0, 1e-5])
def test_one_direction_is_a_collapse_whatever_the_lengths(noise: float) -> None:
    generator = np.random.default_rng(0)
    lengths = generator.uniform(0.1, 10, (50, 1))
    direction = generator.normal(size=(1, 16)) + noise * generator.normal(size=(50, 16))
    with pytest.raises(CollapseError, match="equal"):
        refuse_collapsed((lengths * direction).astype(np.float32))


def test_narrow_but_different_embeddings_are_none_and_one_nan_is() -> None:
    generator = np.random.default_rng(0)
    embeddings = 1 + 0.01 * generator.normal(size=(50, 16)).astype(np.float32)
    refuse_collapsed(embeddings)
    embeddings[2, 1] = np.nan
    with pytest.raises(CollapseError, match="1 of 50 dev embeddings are NaN"):
        refuse_collapsed(embeddings)


def test_the_version_depends_on_sentences_and_gold() -> None:
    first, second, gold = DEV.pairs.first, DEV.pairs.second, DEV.pairs.gold
    sets = [
        Pairs("other name", first, second, gold),
        Pairs("dev", second, first, gold),
        Pairs("dev", first, second, 5 - gold),
    ]
    assert len({DevSet(pairs, 8).version for pairs in sets}) == 3
    assert DevSet(sets[0], 8).version == DEV.version
