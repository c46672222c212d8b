"""The batched protocol against the plain one of `unbatched`, and what must not change a score."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from pipeline.senteval.classifier import (
    DECAYS,
    FAST,
    SETTINGS,
    TEST,
    ClassifierName,
    classify,
)
from tests.senteval import unbatched
from tests.senteval.made_up import METHODS, examples

pytestmark = pytest.mark.usefixtures("one_thread")

PLAIN = {
    "adam": unbatched.Protocol(
        folds=3, optimizer="adam", batch_size=16, tenacity=2, epoch_size=2, dtype=torch.float64
    ),
    "rmsprop": unbatched.Protocol(
        folds=4, optimizer="rmsprop", batch_size=32, tenacity=1, epoch_size=1, dtype=torch.float64
    ),
}


@pytest.mark.parametrize("optimizer", PLAIN)
@pytest.mark.parametrize("count", [90, 101])
def test_nested_cross_validation_predicts_as_the_plain_protocol_does(
    optimizer: str, count: int
) -> None:
    features, labels = examples(count, classes=2)
    outcome = classify({"all": features}, {"all": labels}, METHODS[optimizer])
    plain = unbatched.nested(features, labels, PLAIN[optimizer])
    assert unbatched.same(outcome.predictions, plain)
    assert outcome.strengths == tuple(plain.strengths)
    assert outcome.accuracy == plain.accuracy
    assert outcome.dev_accuracy == plain.dev_accuracy


@pytest.mark.parametrize("optimizer", PLAIN)
@pytest.mark.parametrize("classes", [2, 4])
def test_cross_validation_predicts_as_the_plain_protocol_does(optimizer: str, classes: int) -> None:
    train, test = examples(83, classes), examples(40, classes, seed=1)
    outcome = classify(
        {"train": train[0], "test": test[0]},
        {"train": train[1], "test": test[1]},
        METHODS[optimizer],
    )
    plain = unbatched.cross_validated(train, test, PLAIN[optimizer])
    assert unbatched.same(outcome.predictions, plain)
    assert outcome.strengths == tuple(plain.strengths)
    assert outcome.accuracy == plain.accuracy
    assert outcome.dev_accuracy == plain.dev_accuracy


@pytest.mark.parametrize("optimizer", PLAIN)
def test_given_validation_rows_choose_as_in_the_plain_protocol(optimizer: str) -> None:
    train, dev, test = (examples(count, 2, seed) for seed, count in enumerate((70, 30, 40)))
    parts = {"train": train, "dev": dev, "test": test}
    outcome = classify(
        {part: features for part, (features, _) in parts.items()},
        {part: labels for part, (_, labels) in parts.items()},
        METHODS[optimizer],
    )
    plain = unbatched.validated(train, dev, test, PLAIN[optimizer])
    assert unbatched.same(outcome.predictions, plain)
    assert outcome.strengths == tuple(plain.strengths)
    assert outcome.accuracy == plain.accuracy
    assert outcome.dev_accuracy == plain.dev_accuracy


def test_settings_are_those_of_the_field() -> None:
    for setting, plain in ((TEST, unbatched.TEST), (FAST, unbatched.FAST)):
        training = setting.training
        assert setting.folds == plain.folds
        assert training.optimizer == plain.optimizer
        assert training.batch_size == plain.batch_size
        assert training.epoch_size == plain.epoch_size
        assert training.tenacity == plain.tenacity
    assert SETTINGS == {"test": TEST, "fast": FAST}
    assert DECAYS == unbatched.STRENGTHS


@pytest.mark.parametrize(
    ("parts", "classifier"),
    [(("all",), "mlp"), (("train", "test"), "logistic"), (("train", "dev", "test"), "mlp")],
)
def test_the_shares_of_the_work_that_are_told_sum_to_one(
    parts: tuple[str, ...], classifier: ClassifierName
) -> None:
    given = {part: examples(90, 2, seed) for seed, part in enumerate(parts)}
    told: list[float] = []
    classify(
        {part: features for part, (features, _) in given.items()},
        {part: labels for part, (_, labels) in given.items()},
        dataclasses.replace(METHODS["adam"], classifier=classifier),
        told.append,
    )
    assert sum(told) == pytest.approx(1)
    assert min(told) > 0


def test_unknown_parts_are_refused() -> None:
    features, labels = examples(60, classes=2)
    with pytest.raises(ValueError, match=r"parts \('train',\) of features .* must be \('all',\)"):
        classify({"train": features}, {"train": labels}, METHODS["adam"])


def test_a_class_with_fewer_rows_than_folds_is_refused() -> None:
    features, _ = examples(60, classes=2)
    labels = np.array([1] * 2 + [0] * 58)
    with pytest.raises(ValueError, match="class 1 has 2 training rows and 3 folds need 3 of every"):
        classify({"all": features}, {"all": labels}, METHODS["adam"])
