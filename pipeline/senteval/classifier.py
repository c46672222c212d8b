"""SentEval's protocols for classifiers on fixed features: which folds, which strength, which score.

Rows in one part, `all`, are scored by nested cross-validation; rows in `train` and `test` by
cross-validation within `train`; rows in `train`, `dev` and `test` by what `dev` chooses. Scores are
percentages, rounded to two decimals before the first best is taken. How classifiers are trained is
said in `softmax` and `logistic`; sentences are not known here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch

from pipeline.senteval import logistic, softmax
from pipeline.senteval.rows import Fold, Rows
from pipeline.senteval.softmax import Training

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pipeline.senteval.rows import Fitted

    Fit = Callable[[Sequence[Fold]], list[Fitted]]

FOLD_SEED = 1111  # SentEval shuffles folds with it, whatever the seed of the classifiers
CLASSIFIER_SEED = 1111
DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)
# SentEval's C for scikit-learn, the inverse of a strength, differ between the protocols.
INVERSE_STRENGTHS = tuple(2.0**power for power in range(-2, 4))
INVERSE_STRENGTHS_WITH_TEST = tuple(2.0**power for power in range(-1, 6))

SettingName = Literal["test", "fast"]
ClassifierName = Literal["mlp", "logistic"]


@dataclass(frozen=True)
class Setting:
    """Number of folds and how classifiers are trained."""

    folds: int
    training: Training


TEST = Setting(folds=10, training=Training("adam", batch_size=64, epoch_size=4, tenacity=5))
FAST = Setting(folds=5, training=Training("rmsprop", batch_size=128, epoch_size=2, tenacity=3))
SETTINGS: dict[SettingName, Setting] = {"test": TEST, "fast": FAST}


@dataclass(frozen=True)
class Method:
    """What a score depends on besides the features.

    Attributes:
        setting: The field's `TEST` or `FAST`, or one of your own.
        classifier: `mlp`, SentEval's name for softmax regression stopped early, which papers
            report; or `logistic`, scikit-learn's, trained to its optimum and without chance.
        seed: Of the `mlp`.
        double: Whether to compute in float64.
        outer_folds: Nested cross-validation ends after so many folds; None for all of them.
    """

    setting: Setting = TEST
    classifier: ClassifierName = "mlp"
    seed: int = CLASSIFIER_SEED
    double: bool = False
    outer_folds: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a protocol says of features.

    Attributes:
        accuracy: In percent; of nested cross-validation, the mean of the outer folds.
        dev_accuracy: In percent, of the chosen strength on the rows that chose it.
        strengths: The chosen ones, one for each outer fold.
        predictions: Of the tested rows in their order, one array for each outer fold.
    """

    accuracy: float
    dev_accuracy: float
    strengths: tuple[float, ...]
    predictions: tuple[np.ndarray, ...]


def classify(
    features: Mapping[str, np.ndarray],
    labels: Mapping[str, np.ndarray],
    method: Method,
    advance: Callable[[float], None] | None = None,
) -> Outcome:
    """Trains and scores classifiers with the protocol that the names of the parts ask for.

    Args:
        features: (N, D) for each part: `all`, or `train` and `test`, with `dev` between or without.
        labels: (N,) classes counted from 0, for the same parts in the same order.
        method: How to train and score.
        advance: Told the share of the work whenever some has been done.

    Raises:
        ValueError: The parts are none of the three, or too few rows of a class for the folds.
    """
    parts = tuple(features)
    if parts not in _PROTOCOLS or parts != tuple(labels):
        raise ValueError(
            f"classify: parts {parts} of features and {tuple(labels)} of labels; both must be "
            f"{', '.join(map(str, _PROTOCOLS))}, in this order."
        )
    ends = np.cumsum([len(labels[part]) for part in parts])
    numbers = dict(zip(parts, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
    rows = Rows.of(
        np.concatenate([features[part] for part in parts]),
        np.concatenate([labels[part] for part in parts]),
        torch.float64 if method.double else torch.float32,
    )
    return _PROTOCOLS[parts](_Bench(rows, method, advance), numbers)


class _Bench:
    """Folds and fits of one matrix with one method."""

    def __init__(self, rows: Rows, method: Method, advance: Callable[[float], None] | None) -> None:
        self.rows, self.method, self.advance = rows, method, advance
        self.labels = rows.labels.numpy()

    def fit(self, folds: Sequence[Fold], share: float) -> list[Fitted]:
        """Fits all, which are this share of the work."""

        def advance(done: int) -> None:
            if self.advance:
                self.advance(share * done / len(folds))

        if self.method.classifier == "logistic":
            return logistic.fit(self.rows, folds, advance)
        return softmax.fit(
            self.rows, folds, self.method.setting.training, self.method.seed, advance
        )

    def folds(self, numbers: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Stratified and shuffled training and held-out parts of the rows with these numbers."""
        count = self.method.setting.folds
        sizes = np.bincount(self.labels[numbers], minlength=self.rows.classes)
        if sizes.min() < count:
            raise ValueError(
                f"class {sizes.argmin()} has {sizes.min()} training rows and "
                f"{count} folds need {count} of every class; add rows or use fewer folds."
            )
        # Imported here: scikit-learn takes longer than all else that most stages import of this.
        from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

        splitter = StratifiedKFold(count, shuffle=True, random_state=FOLD_SEED)
        split = splitter.split(np.zeros(len(numbers)), self.labels[numbers])
        return [(numbers[train], numbers[held_out]) for train, held_out in split]

    def test(self, fitted: Fitted, numbers: np.ndarray) -> tuple[np.ndarray, float]:
        """Predictions of a fold's only classifier, and their accuracy in percent."""
        predictions = self.rows.predict(fitted.weights, numbers)
        return predictions[0], _percent(self.rows.accuracy(predictions, numbers)[0])


def _nested(bench: _Bench, numbers: Mapping[str, np.ndarray]) -> Outcome:
    strengths = _strengths(bench.method, INVERSE_STRENGTHS)
    outer = bench.folds(numbers["all"])[: bench.method.outer_folds]
    inner = [Fold(train, dev, strengths) for rest, _ in outer for train, dev in bench.folds(rest)]
    count = len(inner) // len(outer)
    fitted = bench.fit(inner, share=count / (count + 1))
    best = [_choose(fitted[k * count : (k + 1) * count], strengths) for k in range(len(outer))]
    final = bench.fit(
        [
            Fold(train, None, (strength,))
            for (train, _), (strength, _) in zip(outer, best, strict=True)
        ],
        share=1 / (count + 1),
    )
    tested = [bench.test(one, test) for one, (_, test) in zip(final, outer, strict=True)]
    return Outcome(
        accuracy=round(float(np.mean([accuracy for _, accuracy in tested])), 2),
        dev_accuracy=round(float(np.mean([score for _, score in best])), 2),
        strengths=tuple(strength for strength, _ in best),
        predictions=tuple(predictions for predictions, _ in tested),
    )


def _cross_validated(bench: _Bench, numbers: Mapping[str, np.ndarray]) -> Outcome:
    strengths = _strengths(bench.method, INVERSE_STRENGTHS_WITH_TEST)
    inner = [Fold(train, dev, strengths) for train, dev in bench.folds(numbers["train"])]
    count = len(inner)
    strength, score = _choose(bench.fit(inner, share=count / (count + 1)), strengths)
    final = bench.fit([Fold(numbers["train"], None, (strength,))], share=1 / (count + 1))
    predictions, accuracy = bench.test(final[0], numbers["test"])
    return Outcome(accuracy, score, (strength,), (predictions,))


def _validated(bench: _Bench, numbers: Mapping[str, np.ndarray]) -> Outcome:
    """The given validation rows; the last fit of SentEval repeats the chosen one: not done here."""
    strengths = _strengths(bench.method, INVERSE_STRENGTHS)
    fitted = bench.fit([Fold(numbers["train"], numbers["dev"], strengths)], share=1)
    strength, score = _choose(fitted, strengths)
    chosen = fitted[0].only(strengths.index(strength))
    predictions, accuracy = bench.test(chosen, numbers["test"])
    return Outcome(accuracy, score, (strength,), (predictions,))


_PROTOCOLS = {
    ("all",): _nested,
    ("train", "test"): _cross_validated,
    ("train", "dev", "test"): _validated,
}


def _strengths(method: Method, inverse: tuple[float, ...]) -> tuple[float, ...]:
    return inverse if method.classifier == "logistic" else DECAYS


def _choose(fitted: Sequence[Fitted], strengths: tuple[float, ...]) -> tuple[float, float]:
    """The first strength with the best mean validation accuracy, and that score."""
    means = np.mean([fold.dev_accuracy for fold in fitted], axis=0)
    scores = [_percent(mean) for mean in means]
    return strengths[int(np.argmax(scores))], max(scores)


def _percent(share: float) -> float:
    return round(100 * float(share), 2)
