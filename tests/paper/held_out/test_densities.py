"""Densities: scipy's, on a fixed grid, of area one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import gaussian_kde

from pipeline.paper.held_out.densities import Grid, density

GRID = Grid(-4, 4, 161)
SAMPLES = np.random.default_rng(1).normal(size=500)


def test_it_is_scipys() -> None:
    expected = gaussian_kde(SAMPLES)(GRID.values)
    assert density(SAMPLES, GRID) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("samples", [SAMPLES, np.full(3, 0.5), np.array([0.51])])
def test_its_area_is_one(samples: np.ndarray) -> None:
    """Equal samples too, and one between two points of the grid."""
    found = density(samples, GRID)
    assert found is not None
    assert found.sum() * GRID.spacing == pytest.approx(1, abs=0.02)


def test_nothing_has_none() -> None:
    assert density(np.array([]), GRID) is None
