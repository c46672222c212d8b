"""The matrix that all classifiers of a task share, its folds, and linear classifiers on it.

No training here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    import numpy as np
    from torch import Tensor

COLUMN_MULTIPLE = 16  # makes every row start at a cache line


@dataclass(frozen=True)
class Rows:
    """Features, a column of ones that carries the bias, and zeros up to a round width.

    Attributes:
        matrix: (N, columns).
        labels: (N,) classes, counted from 0.
        features: How many of the columns are features.
        classes: How many classes there are.
    """

    matrix: Tensor
    labels: Tensor
    features: int
    classes: int

    @classmethod
    def of(cls, features: np.ndarray, labels: np.ndarray, dtype: torch.dtype) -> Rows:
        """Lays out features (N, D) and labels (N,) in the precision to train in."""
        count, width = features.shape
        columns = math.ceil((width + 1) / COLUMN_MULTIPLE) * COLUMN_MULTIPLE
        matrix = torch.zeros(count, columns, dtype=dtype)
        matrix[:, :width] = torch.from_numpy(features)
        matrix[:, width] = 1
        return cls(matrix, torch.from_numpy(labels).long(), width, int(labels.max()) + 1)

    def initial_weights(self, seed: int) -> Tensor:
        """Weights (C, columns) as `torch.nn.Linear` draws them after seeding with `seed`."""
        generator = torch.Generator().manual_seed(seed)
        linear = torch.empty(self.classes, self.features)
        torch.nn.init.kaiming_uniform_(linear, a=math.sqrt(5), generator=generator)
        bound = 1 / math.sqrt(self.features)
        weights = torch.zeros(self.classes, self.matrix.shape[1])
        weights[:, : self.features] = linear
        weights[:, self.features].uniform_(-bound, bound, generator=generator)
        return weights.to(self.matrix.dtype)

    def predict(self, weights: Tensor, numbers: np.ndarray) -> np.ndarray:
        """Most probable classes (S, n) of the rows with these numbers, for (S, C, columns)."""
        strengths, classes, columns = weights.shape
        matrix = self.matrix[torch.from_numpy(numbers)]
        logits = matrix @ weights.view(strengths * classes, columns).T
        predictions: np.ndarray = logits.view(-1, strengths, classes).argmax(dim=2).T.numpy()
        return predictions

    def accuracy(self, predictions: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Share of correct predictions (S, n), for each classifier: (S,)."""
        hits = predictions == self.labels.numpy()[numbers]
        shares: np.ndarray = hits.mean(axis=1)
        return shares


@dataclass(frozen=True)
class Fold:
    """What classifiers of S strengths train on.

    Attributes:
        train: Row numbers.
        dev: Row numbers to validate on; None if the classifier may take them from `train`.
        strengths: Of the regularization, in the unit of the classifier.
    """

    train: np.ndarray
    dev: np.ndarray | None
    strengths: tuple[float, ...]


@dataclass(frozen=True)
class Fitted:
    """A fold's classifiers: weights (S, C, columns) and their validation accuracy (S,)."""

    weights: Tensor
    dev_accuracy: np.ndarray

    def only(self, strength: int) -> Fitted:
        """The classifier in this place."""
        place = slice(strength, strength + 1)
        return Fitted(self.weights[place], self.dev_accuracy[place])
