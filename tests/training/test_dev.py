"""The dev score, and what counts as a collapse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import CollapseError
from pipeline.senteval.graded_pairs import read_dev
from pipeline.senteval.readers import Pairs
from pipeline.senteval.similarity import cosine_scores, spearman
from pipeline.training.dev import DevSet, refuse_collapsed
from tests.tiny import SAMPLE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="module")
def dev() -> DevSet:
    pairs = read_dev(SAMPLE)
    return DevSet(Pairs("dev", pairs.first[:40], pairs.second[:40], pairs.gold[:40]), 16)


def test_the_score_is_that_of_the_encoder_without_dropout(dev: DevSet, tiny: Path) -> None:
    encoder = SentenceEncoder.load(tiny, "cpu")
    expected = spearman(cosine_scores(encoder.encode, dev.pairs), dev.pairs.gold)
    encoder.model.train()
    score = dev.scorer(encoder)
    assert score() == score() == pytest.approx(expected, abs=0.2)
    assert encoder.model.training


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_a_collapse(
    dev: DevSet, tiny_bert: Path, value: float
) -> None:
    encoder = SentenceEncoder.load(tiny_bert, "cpu")
    torch.nn.init.constant_(encoder.model.get_parameter("embeddings.LayerNorm.weight"), value)
    with pytest.raises(CollapseError, match=r"of \d+ dev embeddings are NaN or infinite"):
        dev.scorer(encoder)()
    assert encoder.model.training  # as the loop expects it, whatever happened


def test_equal_embeddings_are_a_collapse(dev: DevSet, tiny_bert: Path) -> None:
    encoder = SentenceEncoder.load(tiny_bert, "cpu")
    norm = "encoder.layer.1.output.LayerNorm"
    torch.nn.init.constant_(encoder.model.get_parameter(f"{norm}.weight"), 0)
    torch.nn.init.constant_(encoder.model.get_parameter(f"{norm}.bias"), 1)
    with pytest.raises(CollapseError, match=r"all \d+ dev embeddings are equal \(spread "):
        dev.scorer(encoder)()


@pytest.mark.parametrize("noise", [0, 1e-5])
def test_one_direction_is_a_collapse_whatever_the_lengths(noise: float) -> None:
    generator = np.random.default_rng(0)
    lengths = generator.uniform(0.1, 10, (50, 1))
    direction = generator.normal(size=(1, 16)) + noise * generator.normal(size=(50, 16))
    with pytest.raises(CollapseError, match="equal"):
        refuse_collapsed((lengths * direction).astype(np.float32))


def test_narrow_but_different_embeddings_are_none() -> None:
    generator = np.random.default_rng(0)
    refuse_collapsed(1 + 0.01 * generator.normal(size=(50, 16)).astype(np.float32))


def test_one_nan_is_enough() -> None:
    embeddings = np.eye(4, dtype=np.float32)
    embeddings[2, 1] = np.nan
    with pytest.raises(CollapseError, match="1 of 4 dev embeddings are NaN"):
        refuse_collapsed(embeddings)


def test_the_version_depends_on_sentences_and_gold(dev: DevSet) -> None:
    first, second, gold = dev.pairs.first, dev.pairs.second, dev.pairs.gold
    sets = [
        Pairs("other name", first, second, gold),
        Pairs("dev", second, first, gold),
        Pairs("dev", first, second, 5 - gold),
    ]
    assert len({DevSet(pairs, 8).version for pairs in sets}) == 3
    assert DevSet(sets[0], 8).version == dev.version
