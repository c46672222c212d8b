"""SentEval's early stopping for many classifiers that train together.

After each group of epochs a classifier's weights are kept if its validation accuracy is a new best;
else a failure is counted. More failures than the tenacity, in all and not in a row, end it. Nothing
is trained or scored here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch

Places = tuple[np.ndarray, np.ndarray]

if TYPE_CHECKING:
    from torch import Tensor


class EarlyStopping:
    """Which classifiers still train, and the best that each had.

    F folds of S classifiers start. The ones that train are held in a smaller rectangle, whose
    rows are the folds with any of them and which is as wide as the most that one fold has; where
    a fold has fewer, finished classifiers fill its row and are no longer looked at.

    Attributes:
        accuracy: (F, S) best validation accuracy.
        weights: (F, S, ...) weights with it.
        folds: Fold of each row of the rectangle.
    """

    def __init__(self, weights: Tensor, tenacity: int) -> None:
        shape = weights.shape[:2]
        self.tenacity = tenacity
        self.weights = torch.zeros_like(weights)
        self.accuracy = np.full(shape, -1.0)
        self.folds = np.arange(shape[0])
        self._failures = np.zeros(shape, dtype=int)
        self._columns = np.tile(np.arange(shape[1]), (shape[0], 1))  # strength in each place
        self._training = np.ones(shape, dtype=bool)  # in each place of the rectangle

    @property
    def training(self) -> bool:
        """Whether any classifier still trains."""
        return bool(self._training.any())

    def look(self, weights: Tensor, accuracy: np.ndarray) -> Places | None:
        """Takes note of validation accuracies.

        Args:
            weights: (f, s, ...) weights in the rectangle.
            accuracy: (f, s) their accuracies.

        Returns:
            If the rectangle shrinks, the index, (f', 1) and (f', s'), of what stays in it.
        """
        rows, columns = np.nonzero(self._training)
        folds, strengths = self.folds[rows], self._columns[rows, columns]
        better = accuracy[rows, columns] > self.accuracy[folds, strengths]
        improved = folds[better], strengths[better]
        self.accuracy[improved] = accuracy[rows[better], columns[better]]
        self.weights[improved] = weights[rows[better], columns[better]]
        self._failures[folds, strengths] += ~better
        self._training[rows, columns] = self._failures[folds, strengths] <= self.tenacity
        return self._shrink()

    def _shrink(self) -> Places | None:
        rows = np.flatnonzero(self._training.any(axis=1))[:, None]  # (f', 1)
        width = int(self._training.sum(axis=1).max())
        if width == 0 or (len(rows), width) == self._training.shape:
            return None
        first = np.argsort(~self._training, axis=1, kind="stable")[:, :width]
        columns = first[rows[:, 0]]  # (f', s')
        self.folds = self.folds[rows[:, 0]]
        self._columns = self._columns[rows, columns]
        self._training = self._training[rows, columns]
        return rows, columns
