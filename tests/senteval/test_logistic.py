"""Logistic regression beside scikit-learn's."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from pipeline.senteval import logistic
from pipeline.senteval.classifier import classify
from pipeline.senteval.rows import Fold, Rows
from tests.senteval.made_up import METHODS, examples

pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.mark.parametrize("classes", [2, 3])
def test_logistic_regression_predicts_as_scikit_learn_does(classes: int) -> None:
    features, labels = examples(120, classes)
    rows = Rows.of(features, labels, torch.float64)
    train, dev = np.arange(0, 120, 2), np.arange(1, 120, 2)
    fitted = logistic.fit(rows, [Fold(train, dev, (0.25, 4.0))])[0]
    for number, inverse_strength in enumerate((0.25, 4.0)):
        peer = LogisticRegression(C=inverse_strength).fit(features[train], labels[train])
        assert np.array_equal(
            rows.predict(fitted.weights, dev)[number], peer.predict(features[dev])
        )
        assert fitted.dev_accuracy[number] == peer.score(features[dev], labels[dev])


def test_logistic_regression_tries_the_strengths_of_each_protocol() -> None:
    """Features of pure noise want the strongest regularization: the least C of the grid."""
    features, labels = np.random.default_rng(3).normal(size=(60, 40)), np.tile([0, 1], 30)
    method = dataclasses.replace(METHODS["adam"], classifier="logistic")
    nested = classify({"all": features}, {"all": labels}, method)
    parts = {"train": features, "test": features}
    tested = classify(parts, dict.fromkeys(parts, labels), method)
    assert set(nested.strengths) <= {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}
    assert set(tested.strengths) <= {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0}
    assert tested.accuracy > nested.accuracy  # it is tested on its training rows
