"""Training many classifiers at once: what must not change what any of them learns."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from pipeline.senteval import softmax
from pipeline.senteval.softmax import Fold, Rows
from tests.senteval.made_up import ADAM, examples


def folds_of(features: np.ndarray, labels: np.ndarray, decays: tuple[float, ...]) -> list[Fold]:
    splitter = StratifiedKFold(4, shuffle=True, random_state=0)
    return [Fold(train, dev, decays) for train, dev in splitter.split(features, labels)]


def test_the_size_of_the_cache_does_not_change_what_is_learnt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    features, labels = examples(101, classes=3)
    rows = Rows.of(features, labels, torch.float64)
    folds = folds_of(features, labels, (1e-5, 0.1))
    together = softmax.fit(rows, folds, ADAM)
    monkeypatch.setattr(softmax, "CACHE_BYTES", 1)
    alone = softmax.fit(rows, folds, ADAM)
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
            results.append(softmax.fit(rows, folds, ADAM))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    for one, other in zip(*results, strict=True):
        assert torch.equal(one.weights, other.weights)


def test_rows_that_are_too_few_to_hold_any_out_are_refused() -> None:
    features, labels = examples(18, classes=2)
    rows = Rows.of(features, labels, torch.float64)
    with pytest.raises(ValueError, match=r"18 training rows are too few .* at least 20"):
        softmax.fit(rows, [Fold(np.arange(18), None, (0.1,))], ADAM)
