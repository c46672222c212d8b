"""Densities on fixed grids, so that figures can lay encoders over one another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import norm

if TYPE_CHECKING:
    import numpy.typing as npt

    Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Grid:
    """Equally spaced points, both ends included."""

    start: float
    stop: float
    points: int

    @property
    def values(self) -> Floats:
        """The points, rising."""
        return np.linspace(self.start, self.stop, self.points)

    @property
    def spacing(self) -> float:
        """From one point to the next."""
        return (self.stop - self.start) / (self.points - 1)


def density(samples: Floats, grid: Grid) -> Floats | None:
    """Gaussian kernel density estimate at the grid's points; None without samples.

    The bandwidth is Scott's, deviation * n^(-1/5), as in `scipy.stats.gaussian_kde`, but at least
    half the grid's spacing: the grid would miss narrower peaks, and equal samples have no width.
    Nothing is folded back at the ends of a variable's range.
    """
    if not len(samples):
        return None
    deviation = float(samples.std(ddof=1)) if len(samples) > 1 else 0.0
    bandwidth = max(deviation * len(samples) ** -0.2, grid.spacing / 2)
    # One point at a time: a matrix of points and samples would take gigabytes.
    return np.array([norm.pdf(point, samples, bandwidth).mean() for point in grid.values])
