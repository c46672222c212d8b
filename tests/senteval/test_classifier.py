"""The batched protocol against the plain one of `unbatched`, and what must not change a score."""

from __future__ import annotations

import dataclasses
import random
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

from pipeline.senteval import logistic, softmax
from pipeline.senteval.classifier import (
    DECAYS,
    FAST,
    SETTINGS,
    TEST,
    ClassifierName,
    Method,
    Setting,
    classify,
)
from pipeline.senteval.rows import Fold, Rows
from pipeline.senteval.softmax import Training
from tests.senteval import unbatched

if TYPE_CHECKING:
    from collections.abc import Iterator


PLAIN = {
    "adam": unbatched.Protocol(
        folds=3, optimizer="adam", batch_size=16, tenacity=2, epoch_size=2, dtype=torch.float64
    ),
    "rmsprop": unbatched.Protocol(
        folds=4, optimizer="rmsprop", batch_size=32, tenacity=1, epoch_size=1, dtype=torch.float64
    ),
}
METHODS = {
    "adam": Method(
        Setting(3, Training("adam", batch_size=16, epoch_size=2, tenacity=2)), double=True
    ),
    "rmsprop": Method(
        Setting(4, Training("rmsprop", batch_size=32, epoch_size=1, tenacity=1)), double=True
    ),
}


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """More would wait for each other in problems as small as these."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def examples(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features in five dimensions and noisy classes of uneven sizes."""
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, 5)) + 0.3
    directions = np.linspace(-1, 1, 5 * classes).reshape(5, classes) ** 2
    noise = generator.normal(size=(count, classes))
    return features, (features @ directions + noise).argmax(axis=1)


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


def test_another_seed_of_the_classifiers_leaves_the_folds_as_they_are() -> None:
    features, labels = examples(90, classes=2)
    method = dataclasses.replace(METHODS["adam"], seed=7)
    outcome = classify({"all": features}, {"all": labels}, method)
    plain = unbatched.nested(features, labels, dataclasses.replace(PLAIN["adam"], seed=7))
    assert unbatched.same(outcome.predictions, plain)


def test_the_first_outer_folds_alone_are_those_of_the_whole() -> None:
    features, labels = examples(90, classes=2)
    whole = classify({"all": features}, {"all": labels}, METHODS["adam"])
    method = dataclasses.replace(METHODS["adam"], outer_folds=2)
    part = classify({"all": features}, {"all": labels}, method)
    assert part.strengths == whole.strengths[:2]
    for ours, theirs in zip(part.predictions, whole.predictions[:2], strict=True):
        assert np.array_equal(ours, theirs)


# What is trained together must not matter.


def folds_of(features: np.ndarray, labels: np.ndarray, strengths: tuple[float, ...]) -> list[Fold]:
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    return [Fold(train, dev, strengths) for train, dev in splitter.split(features, labels)]


TRAINING = Training("adam", batch_size=16, epoch_size=1, tenacity=3)


def test_the_order_of_strengths_does_not_change_what_each_learns() -> None:
    features, labels = examples(101, classes=3)
    rows = Rows.of(features, labels, torch.float64)
    strengths, order = (1e-5, 0.1, 1e-2, 1e-3), [2, 0, 3, 1]
    shuffled = tuple(strengths[k] for k in order)
    first = softmax.fit(rows, folds_of(features, labels, strengths), TRAINING, seed=1)
    second = softmax.fit(rows, folds_of(features, labels, shuffled), TRAINING, seed=1)
    for one, other in zip(first, second, strict=True):
        torch.testing.assert_close(one.weights[order], other.weights, rtol=0, atol=1e-12)
        assert one.dev_accuracy[order].tolist() == other.dev_accuracy.tolist()


@pytest.mark.parametrize("kept", [[0], [3, 1], [0, 1, 2]])
def test_a_fold_learns_the_same_whichever_others_are_trained(kept: list[int]) -> None:
    features, labels = examples(101, classes=3)
    rows = Rows.of(features, labels, torch.float64)
    folds = folds_of(features, labels, (1e-5, 0.1))
    every = softmax.fit(rows, folds, TRAINING, seed=1)
    some = softmax.fit(rows, [folds[k] for k in kept], TRAINING, seed=1)
    for number, one in zip(kept, some, strict=True):
        torch.testing.assert_close(one.weights, every[number].weights, rtol=0, atol=1e-12)
        assert one.dev_accuracy.tolist() == every[number].dev_accuracy.tolist()


def test_the_size_of_the_cache_does_not_change_what_is_learnt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, labels = examples(101, classes=3)
    rows = Rows.of(features, labels, torch.float64)
    folds = folds_of(features, labels, (1e-5, 0.1))
    together = softmax.fit(rows, folds, TRAINING, seed=1)
    monkeypatch.setattr(softmax, "CACHE_BYTES", 1)
    alone = softmax.fit(rows, folds, TRAINING, seed=1)
    for one, other in zip(together, alone, strict=True):
        torch.testing.assert_close(one.weights, other.weights, rtol=0, atol=1e-12)


def test_the_number_of_threads_is_put_back_and_does_not_change_what_is_learnt() -> None:
    features, labels = examples(101, classes=2)
    rows = Rows.of(features, labels, torch.float64)
    folds = folds_of(features, labels, (1e-5, 0.1))
    before = torch.get_num_threads()
    try:
        results = []
        for threads in (1, 3):
            torch.set_num_threads(threads)
            results.append(softmax.fit(rows, folds, TRAINING, seed=1))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert torch.equal(one.weights, other.weights)


def test_first_weights_are_those_of_a_linear_layer_after_seeding() -> None:
    rows = Rows.of(np.zeros((3, 7)), np.array([0, 1, 2]), torch.float64)
    with torch.random.fork_rng():
        torch.manual_seed(1111)
        layer = torch.nn.Linear(7, 3)
    weights = rows.initial_weights(1111)
    assert torch.equal(weights[:, :7], layer.weight.detach().double())
    assert torch.equal(weights[:, 7], layer.bias.detach().double())
    assert not weights[:, 8:].any()


@pytest.mark.parametrize("classifier", ["mlp", "logistic"])
def test_the_random_state_of_the_caller_is_left_as_it_was(
    classifier: ClassifierName,
) -> None:
    features, labels = examples(60, classes=2)
    method = dataclasses.replace(METHODS["adam"], classifier=classifier)
    np.random.seed(5)  # noqa: NPY002
    torch.manual_seed(5)
    random.seed(5)
    before = np.random.get_state(legacy=False), torch.get_rng_state(), random.getstate()  # noqa: NPY002
    classify({"all": features}, {"all": labels}, method)
    assert str(np.random.get_state(legacy=False)) == str(before[0])  # noqa: NPY002
    assert torch.equal(torch.get_rng_state(), before[1])
    assert random.getstate() == before[2]


@pytest.mark.parametrize("parts", [("all",), ("train", "test"), ("train", "dev", "test")])
@pytest.mark.parametrize("classifier", ["mlp", "logistic"])
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


# scikit-learn's logistic regression


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
    """Features of pure noise want the strongest regularisation: the least C of the grid."""
    features, labels = np.random.default_rng(3).normal(size=(60, 40)), np.tile([0, 1], 30)
    method = dataclasses.replace(METHODS["adam"], classifier="logistic")
    nested = classify({"all": features}, {"all": labels}, method)
    parts = {"train": features, "test": features}
    tested = classify(parts, dict.fromkeys(parts, labels), method)
    assert set(nested.strengths) <= {0.25, 0.5, 1.0, 2.0, 4.0, 8.0}
    assert set(tested.strengths) <= {0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0}
    assert tested.accuracy > nested.accuracy  # it is tested on its training rows


# What is refused


def test_unknown_parts_are_refused() -> None:
    features, labels = examples(60, classes=2)
    with pytest.raises(ValueError, match=r"parts \('train',\) of features .* must be \('all',\)"):
        classify({"train": features}, {"train": labels}, METHODS["adam"])


def test_a_class_with_fewer_rows_than_folds_is_refused() -> None:
    features, _ = examples(60, classes=2)
    labels = np.array([1] * 2 + [0] * 58)
    with pytest.raises(ValueError, match="class 1 has 2 training rows and 3 folds need 3 of every"):
        classify({"all": features}, {"all": labels}, METHODS["adam"])


def test_rows_that_are_too_few_to_hold_any_out_are_refused() -> None:
    features, labels = examples(18, classes=2)
    rows = Rows.of(features, labels, torch.float64)
    with pytest.raises(ValueError, match=r"18 training rows are too few .* at least 20"):
        softmax.fit(rows, [Fold(np.arange(18), None, (0.1,))], TRAINING, seed=1)


# Real data, the whole protocol: minutes, most of them for the plain version
