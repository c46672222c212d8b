"""The batched protocol against the plain one of `unbatched`, and what must not change a score."""

import dataclasses
import zlib

import numpy as np
import pytest
import torch

from pipeline.senteval.classifier import SETTINGS, WEIGHT_DECAYS, Outcome, SettingName, classify
from pipeline.senteval.softmax import Setting
from pipeline.senteval.tasks import read_transfer
from pipeline.senteval.transfer import transfer_features
from tests.real import REAL, needs_real_data
from tests.senteval import unbatched
from tests.senteval.made_up import ADAM, RMSPROP, examples

Part = tuple[np.ndarray, np.ndarray]  # features and labels
both_optimizers = pytest.mark.parametrize("setting", [ADAM, RMSPROP], ids=["adam", "rmsprop"])


def batched(setting: Setting, **parts: Part) -> Outcome:
    features, labels = ({name: part[k] for name, part in parts.items()} for k in (0, 1))
    return classify(features, labels, setting)


def protocol(setting: Setting) -> unbatched.Protocol:
    """The same setting of the plain protocol."""
    names = [field.name for field in dataclasses.fields(unbatched.Protocol)]
    same = {name: getattr(setting, name) for name in names if name != "dtype"}
    return unbatched.Protocol(**same, dtype=torch.float64 if setting.double else torch.float32)


def assert_same(outcome: Outcome, plain: unbatched.Outcome) -> None:
    """Every prediction of every fold, and what chose the decays."""
    for ours, theirs in zip(outcome.predictions, plain.predictions, strict=True):
        assert np.array_equal(ours, theirs)
    assert outcome.weight_decays == tuple(plain.strengths)
    assert (outcome.accuracy, outcome.dev_accuracy) == (plain.accuracy, plain.dev_accuracy)


@both_optimizers
@pytest.mark.parametrize("count", [90, 101])
def test_nested_cross_validation_predicts_as_the_plain_protocol_does(
    setting: Setting, count: int
) -> None:
    rows = examples(count, classes=2)
    assert_same(batched(setting, all=rows), unbatched.nested(*rows, protocol(setting)))


@both_optimizers
@pytest.mark.parametrize("classes", [2, 4])
def test_cross_validation_predicts_as_the_plain_protocol_does(
    setting: Setting, classes: int
) -> None:
    train, test = examples(83, classes), examples(40, classes, seed=1)
    plain = unbatched.cross_validated(train, test, protocol(setting))
    assert_same(batched(setting, train=train, test=test), plain)


@both_optimizers
def test_given_validation_rows_choose_as_in_the_plain_protocol(setting: Setting) -> None:
    train, dev, test = (examples(count, 2, seed) for seed, count in enumerate((70, 30, 40)))
    plain = unbatched.validated(train, dev, test, protocol(setting))
    assert_same(batched(setting, train=train, dev=dev, test=test), plain)


def word_vectors(sentences: list[str]) -> np.ndarray:
    """Sums of a random vector of each word: an encoder that needs no model, in float64."""
    words = sorted({word for sentence in sentences for word in sentence.split()})
    vectors = {
        word: np.random.default_rng(zlib.crc32(word.encode())).normal(size=64) for word in words
    }
    return np.stack(
        [sum((vectors[word] for word in one.split()), np.zeros(64)) for one in sentences]
    )


def real(task: str) -> dict[str, Part]:
    data = read_transfer(REAL, task)
    features = transfer_features(word_vectors, data)
    return {name: (features[name], part.labels) for name, part in data.parts.items()}


@needs_real_data
@pytest.mark.parametrize("name", ["fast", pytest.param("test", marks=pytest.mark.verify)])
def test_trec_is_predicted_as_in_the_plain_protocol(name: SettingName) -> None:
    """Trained on every third question, for the plain protocol's sake."""
    setting = dataclasses.replace(SETTINGS[name], double=True)
    parts = real("TREC")
    train, test = (parts["train"][0][::3], parts["train"][1][::3]), parts["test"]
    plain = unbatched.cross_validated(train, test, protocol(setting))
    assert_same(batched(setting, train=train, test=test), plain)


@pytest.mark.verify
@needs_real_data
def test_an_outer_fold_of_mr_is_predicted_as_in_the_plain_protocol() -> None:
    """Every sixth sentence: the plain protocol takes minutes for all."""
    setting = dataclasses.replace(SETTINGS["test"], double=True, outer_folds=1)
    features, labels = real("MR")["all"]
    rows = features[::6], labels[::6]
    plain = unbatched.nested(*rows, protocol(setting), outer_folds=1)
    assert_same(batched(setting, all=rows), plain)


def test_settings_are_those_of_the_field() -> None:
    plain = {"test": unbatched.TEST, "fast": unbatched.FAST}
    assert {name: protocol(setting) for name, setting in SETTINGS.items()} == plain
    assert WEIGHT_DECAYS == unbatched.STRENGTHS


def test_a_class_with_fewer_rows_than_folds_is_refused() -> None:
    features, _ = examples(60, classes=2)
    labels = np.array([1] * 2 + [0] * 58)
    with pytest.raises(ValueError, match="class 1 has 2 training rows and 3 folds need 3 of every"):
        batched(ADAM, all=(features, labels))
