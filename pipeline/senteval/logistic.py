"""scikit-learn's logistic regression as a family of classifiers: trained to the optimum, no chance.

Strengths are scikit-learn's C, the inverse of what regularizes. Nothing is held out or stopped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

from pipeline.senteval.rows import Fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.senteval.rows import Fold, Rows

MAX_ITERATIONS = 1000  # scikit-learn's 100 end before the optimum of wide features


def fit(
    rows: Rows, folds: Sequence[Fold], advance: Callable[[int], None] | None = None
) -> list[Fitted]:
    """Fits every fold at every strength.

    Args:
        rows: What the row numbers of the folds stand for.
        folds: Where `dev` is None, nothing is held out and the validation accuracy is NaN.
        advance: Told the number of folds whenever some are done.
    """
    fitted = []
    for fold in folds:
        weights = torch.stack([_fit_one(rows, fold.train, c) for c in fold.strengths])
        accuracy = np.full(len(fold.strengths), np.nan)
        if fold.dev is not None:
            accuracy = rows.accuracy(rows.predict(weights, fold.dev), fold.dev)
        fitted.append(Fitted(weights, accuracy))
        if advance:
            advance(1)
    return fitted


def _fit_one(rows: Rows, train: np.ndarray, inverse_strength: float) -> torch.Tensor:
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415 - see classifier.py

    numbers = torch.from_numpy(train)
    features = rows.matrix[numbers, : rows.features].numpy()
    model = LogisticRegression(C=inverse_strength, max_iter=MAX_ITERATIONS)
    model.fit(features, rows.labels[numbers].numpy())
    weights = torch.zeros(rows.classes, rows.matrix.shape[1], dtype=rows.matrix.dtype)
    # Two classes have one row of coefficients, which speaks for the second.
    fitted = slice(1, 2) if rows.classes == 2 else slice(None)
    weights[fitted, : rows.features] = torch.from_numpy(model.coef_).to(weights.dtype)
    weights[fitted, rows.features] = torch.from_numpy(model.intercept_).to(weights.dtype)
    return weights
