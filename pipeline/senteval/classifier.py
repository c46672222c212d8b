"""SentEval's protocols for classifiers on fixed features: which folds, which decay, which score.

Scores are percentages, rounded to two decimals before the first best is taken. `softmax` trains.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch

from pipeline.senteval.softmax import Fitted, Fold, Rows, Setting, fit

FOLD_SEED = 1111  # SentEval shuffles folds with it, whatever the seed of the classifiers
WEIGHT_DECAYS = (1e-5, 1e-4, 1e-3, 1e-2)

Split = tuple[np.ndarray, np.ndarray]  # indices of the rows to train on and of those to test on
SettingName = Literal["test", "fast"]
SETTINGS: dict[SettingName, Setting] = {
    "test": Setting(folds=10, optimizer="adam", batch_size=64, epoch_size=4, patience=5),
    "fast": Setting(folds=5, optimizer="rmsprop", batch_size=128, epoch_size=2, patience=3),
}


@dataclass(frozen=True)
class Outcome:
    """What a protocol says of features, in percent."""

    accuracy: float  # of nested cross-validation, the mean of the outer folds
    dev_accuracy: float  # of the chosen decay on the rows that chose it
    weight_decays: tuple[float, ...]  # the chosen ones, one for each outer fold
    predictions: tuple[np.ndarray, ...]  # of the tested rows, one array for each outer fold


def classify(
    features: Mapping[str, np.ndarray], labels: Mapping[str, np.ndarray], setting: Setting
) -> Outcome:
    """Trains and scores classifiers with the protocol that the parts ask for.

    Rows in one part, `all`, are scored by nested cross-validation; rows in `train` and `test` by
    cross-validation within `train`; rows in `train`, `dev` and `test` by what `dev` chooses.

    Args:
        features: (N, D) for each part.
        labels: (N,) classes counted from 0, for the same parts in the same order.
        setting: How to train and score.

    Raises:
        ValueError: Too few rows of a class for the folds.
    """
    ends = np.cumsum([len(part) for part in labels.values()])
    indices = dict(zip(labels, np.split(np.arange(ends[-1]), ends[:-1]), strict=True))
    rows = Rows.of(
        np.concatenate(list(features.values())),
        np.concatenate(list(labels.values())),
        torch.float64 if setting.double else torch.float32,
    )
    if "dev" in indices:
        return _validate(rows, indices["train"], indices["dev"], indices["test"], setting)
    if "all" in indices:
        outer = _folds(rows, indices["all"], setting.folds)[: setting.outer_folds]
        return _cross_validate(rows, outer, setting)
    return _cross_validate(rows, [(indices["train"], indices["test"])], setting)


def _cross_validate(rows: Rows, outer: Sequence[Split], setting: Setting) -> Outcome:
    """Of each split, folds of the training rows choose a decay, which the tested rows score."""
    inner = [
        Fold(train, dev, WEIGHT_DECAYS)
        for rest, _ in outer
        for train, dev in _folds(rows, rest, setting.folds)
    ]
    fitted = fit(rows, inner, setting)
    best = [_choose(fitted[k : k + setting.folds]) for k in range(0, len(fitted), setting.folds)]
    decays, dev_scores = zip(*best, strict=True)
    best_folds = [
        Fold(train, None, (decay,)) for (train, _), decay in zip(outer, decays, strict=True)
    ]
    final = fit(rows, best_folds, setting)
    tested = [test for _, test in outer]
    predictions = [
        rows.predict(fitted.weights, test)[0] for fitted, test in zip(final, tested, strict=True)
    ]
    scores = [_percent(rows.accuracy(*pair)) for pair in zip(predictions, tested, strict=True)]
    return Outcome(_mean(scores), _mean(dev_scores), decays, tuple(predictions))


def _validate(
    rows: Rows, train: np.ndarray, dev: np.ndarray, test: np.ndarray, setting: Setting
) -> Outcome:
    """Given validation rows; the last fit of SentEval repeats the chosen one: not done here."""
    fitted = fit(rows, [Fold(train, dev, WEIGHT_DECAYS)], setting)
    decay, score = _choose(fitted)
    predictions = rows.predict(fitted[0].weights, test)[WEIGHT_DECAYS.index(decay)]
    return Outcome(_percent(rows.accuracy(predictions, test)), score, (decay,), (predictions,))


def _folds(rows: Rows, indices: np.ndarray, count: int) -> list[Split]:
    """Stratified and shuffled training and held-out parts of the rows with these indices."""
    labels = rows.labels.numpy()[indices]
    sizes = np.bincount(labels, minlength=rows.classes)
    if sizes.min() < count:
        raise ValueError(
            f"class {sizes.argmin()} has {sizes.min()} training rows and "
            f"{count} folds need {count} of every class; add rows or use fewer folds."
        )
    # Imported here: scikit-learn takes longer than all else that most stages import of this.
    from sklearn.model_selection import StratifiedKFold  # noqa: PLC0415

    split = StratifiedKFold(count, shuffle=True, random_state=FOLD_SEED).split(labels, labels)
    return [(indices[train], indices[held_out]) for train, held_out in split]


def _choose(fitted: Sequence[Fitted]) -> tuple[float, float]:
    """The first decay with the best mean validation accuracy, and that score."""
    scores = [_percent(mean) for mean in np.mean([fold.dev_accuracy for fold in fitted], axis=0)]
    return WEIGHT_DECAYS[int(np.argmax(scores))], max(scores)


def _mean(scores: Sequence[float]) -> float:
    return round(float(np.mean(scores)), 2)


def _percent(share: float | np.ndarray) -> float:
    return round(100 * float(share), 2)
