"""Real transfer tasks are predicted as in the plain protocol of `unbatched`."""

from __future__ import annotations

import dataclasses
import zlib

import numpy as np
import pytest
import torch

from pipeline.senteval.classifier import FAST, TEST, Method, Setting, classify
from pipeline.senteval.transfer import transfer_features
from pipeline.senteval.transfer_readers import TransferData, read_transfer
from tests.real import REAL, needs_real_data
from tests.senteval import unbatched

pytestmark = pytest.mark.usefixtures("one_thread")


def word_vectors(sentences: list[str]) -> np.ndarray:
    """Sums of a random vector of each word: an encoder that needs no model, in float64."""
    words = sorted({word for sentence in sentences for word in sentence.split()})
    vectors = {
        word: np.random.default_rng(zlib.crc32(word.encode())).normal(size=64) for word in words
    }
    return np.stack(
        [sum((vectors[word] for word in one.split()), np.zeros(64)) for one in sentences]
    )


def real(task: str) -> tuple[TransferData, dict[str, np.ndarray], dict[str, np.ndarray]]:
    data = read_transfer(REAL, task)
    labels = {part: examples.labels for part, examples in data.parts.items()}
    return data, transfer_features(word_vectors, data), labels


@needs_real_data
@pytest.mark.parametrize(
    ("setting", "protocol"),
    [
        (FAST, unbatched.FAST),
        pytest.param(TEST, unbatched.TEST, marks=pytest.mark.verify),
    ],
    ids=["fast", "test"],
)
def test_trec_is_predicted_as_in_the_plain_protocol(
    setting: Setting, protocol: unbatched.Protocol
) -> None:
    """Trained on every third question, for the plain protocol's sake."""
    data, features, labels = real("TREC")
    assert data.label == "benchmark"
    features["train"], labels["train"] = features["train"][::3], labels["train"][::3]
    outcome = classify(features, labels, Method(setting, double=True))
    plain = unbatched.cross_validated(
        (features["train"], labels["train"]),
        (features["test"], labels["test"]),
        dataclasses.replace(protocol, dtype=torch.float64),
    )
    assert unbatched.same(outcome.predictions, plain)
    assert (outcome.accuracy, outcome.dev_accuracy) == (plain.accuracy, plain.dev_accuracy)


@pytest.mark.verify
@needs_real_data
def test_an_outer_fold_of_mr_is_predicted_as_in_the_plain_protocol() -> None:
    """Every sixth sentence: the plain protocol takes minutes for all."""
    data, features, labels = real("MR")
    assert data.label == "benchmark"
    features, labels = {"all": features["all"][::6]}, {"all": labels["all"][::6]}
    outcome = classify(features, labels, Method(double=True, outer_folds=1))
    plain = unbatched.nested(
        features["all"],
        labels["all"],
        dataclasses.replace(unbatched.TEST, dtype=torch.float64),
        outer_folds=1,
    )
    assert unbatched.same(outcome.predictions, plain)
    assert (outcome.accuracy, outcome.dev_accuracy) == (plain.accuracy, plain.dev_accuracy)
