"""Simulated batches: a grid of mean angles, normal draws around them, and a piece on all of them.

The angle of an anchor to its positive is normal around positive_mean, those to its negatives are
normal around negative_mean. Every grid point sees the same standard normal draws (common random
numbers), so that neighbours differ by their means alone. A batch is one anchor with its positive
and its negatives: a row of an (N, N) matrix of `angles.PrescribedViews`, N = negatives + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from pipeline.paper.simulation.angles import PrescribedViews

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from pipeline.config.schema import SimulationParams

Reals = NDArray[np.float64]

LEAST_MEAN = math.pi / 20
LARGEST_POSITIVE_MEAN = math.pi / 2
LARGEST_NEGATIVE_MEAN = math.pi


def positive_means(grid: int) -> Reals:
    """The grid's columns, in radians."""
    return np.linspace(LEAST_MEAN, LARGEST_POSITIVE_MEAN, grid)


def negative_means(grid: int) -> Reals:
    """The grid's rows, in radians."""
    return np.linspace(LEAST_MEAN, LARGEST_NEGATIVE_MEAN, grid)


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
        count = params.negatives + 1
        shape = (cls.count(params) // count, count, count)
        generator = torch.Generator().manual_seed(params.seed)
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


def on_each(piece: Callable[[PrescribedViews], Tensor], cosine: Tensor) -> Tensor:
    """A piece on each of (M, N, N) cosines, stacked."""

    def one(matrix: Tensor) -> Tensor:
        return piece(PrescribedViews(matrix))

    try:
        return torch.vmap(one)(cosine)
    except RuntimeError:  # a user's piece may do what vmap cannot, such as ask for a number
        return torch.stack([one(matrix) for matrix in cosine])
