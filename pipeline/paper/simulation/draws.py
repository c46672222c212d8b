"""Simulated batches: a grid of mean angles, normal draws around them, and pieces on the draws.

The angle of an anchor to its positive is normal around positive_mean, those to its negatives are
normal around negative_mean. Every grid point sees the same standard normal draws (common random
numbers), so that neighbours differ by their means alone. A batch is one anchor with its positive
and its negatives: a row of the (N, N) cosines of `PrescribedViews`, N = negatives + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

import numpy as np
import torch
from numpy.typing import NDArray

from pipeline.objectives.views import without_diagonal

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from pipeline.config.schema import SimulationParams
    from pipeline.objectives.views import Views

Reals = NDArray[np.float64]


def positive_means(grid: int) -> Reals:
    """The grid's columns, in radians."""
    return np.linspace(math.pi / 20, math.pi / 2, grid)


def negative_means(grid: int) -> Reals:
    """The grid's rows, in radians."""
    return np.linspace(math.pi / 20, math.pi, grid)


@dataclass(frozen=True)
class PrescribedViews:
    """Like `Views`, but of cosines alone: a piece that asks for embeddings finds none.

    Attributes:
        cosine: (N, N); row i is a simulated batch of its own: on the diagonal the cosine of anchor
            i to its positive, off it those to its negatives.
    """

    cosine: Tensor

    @property
    def aligned(self) -> Tensor:
        """c_ii, (N,)."""
        return self.cosine.diagonal()

    @property
    def count(self) -> int:
        """N."""
        return self.cosine.shape[0]

    @property
    def anchor_similarity(self) -> Tensor:
        """(N, N), within a view: the negatives' cosines, and each sentence's own, 1."""
        return without_diagonal(self.cosine, 1.0)

    positive_similarity = anchor_similarity


def prescribed(cosine: Tensor) -> Views:
    """What an objective takes for views."""
    return cast("Views", PrescribedViews(cosine))


@dataclass(frozen=True)
class Draws:
    """Standard normal numbers for whole matrices of batches, and the angles' deviations.

    Attributes:
        normal: (M, N, N); the diagonals are the positives'.
        positive_deviation: of the angle to the positive, in radians.
        negative_deviation: of the angles to the negatives, in radians.
    """

    normal: Tensor
    positive_deviation: float
    negative_deviation: float

    @classmethod
    def of(cls, params: SimulationParams, dtype: torch.dtype = torch.float32) -> Draws:
        """As many matrices as hold `params.batches` rows or more."""
        rows = params.negatives + 1
        generator = torch.Generator().manual_seed(params.seed)
        shape = (cls.count(params) // rows, rows, rows)
        normal = torch.randn(shape, dtype=dtype, generator=generator)
        return cls(normal, params.positive_deviation, params.negative_deviation)

    @staticmethod
    def count(params: SimulationParams) -> int:
        """Batches that are drawn: those asked for, up to a whole number of matrices."""
        rows = params.negatives + 1
        return math.ceil(params.batches / rows) * rows

    def negatives(self, mean: float) -> Tensor:
        """(M, N, N) cosines to the negatives; the diagonals are left for the positives."""
        return torch.cos(mean + self.negative_deviation * self.normal)

    def positives(self, mean: float) -> Tensor:
        """(M, N) cosines to the positives."""
        diagonals = self.normal.diagonal(dim1=1, dim2=2)
        return torch.cos(mean + self.positive_deviation * diagonals)

    def cosine(self, positive_mean: float, negative_mean: float) -> Tensor:
        """(M, N, N) cosines."""
        return with_diagonals(self.negatives(negative_mean), self.positives(positive_mean))


def with_diagonals(cosine: Tensor, positives: Tensor) -> Tensor:
    """The cosines to the negatives with those to the positives; in place, which saves a copy."""
    cosine.diagonal(dim1=1, dim2=2).copy_(positives)
    return cosine


def on_each(piece: Callable[[Views], Tensor], cosine: Tensor) -> Tensor:
    """A piece on each of (M, N, N) cosines, stacked."""

    def one(matrix: Tensor) -> Tensor:
        return piece(prescribed(matrix))

    try:
        return torch.vmap(one)(cosine)
    except RuntimeError:  # a user's piece may do what vmap cannot, such as ask for a number
        return torch.stack([one(matrix) for matrix in cosine])
