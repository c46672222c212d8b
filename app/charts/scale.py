"""Scales on which small and large numbers are told apart, the same for all maps of a kind."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from app.charts.style import SEQUENTIAL, SIGNED, plain
from app.statistics import Values

# Ratios: linear near 0, logarithmic beyond, to an end at the largest.
_LINEAR, _LARGEST = 0.1, 100.0
_RATIOS = (-100.0, -10.0, -1.0, 0.0, 1.0, 10.0, 100.0)
_SHARES = (0.0, 0.01, 0.1, 0.25, 0.5, 1.0)
_SIGNED_SHARES = (-1.0, -0.25, -0.05, 0.0, 0.05, 0.25, 1.0)


def shares(weight: Values) -> Values:
    """Weights (N, N) over the sum of the sizes in their row; nothing on the diagonal."""
    size = weight.copy()
    np.fill_diagonal(size, np.nan)
    # Divided twice: the sum of huge weights is too large for a number.
    size /= _divisor(np.nanmax(np.abs(size), axis=1, initial=0.0))
    return np.asarray(size / _divisor(np.nansum(np.abs(size), axis=1)))


def root(share: Values) -> Values:
    """The square root, with the share's sign: an even share is not lost beside a whole one."""
    return np.asarray(np.sign(share) * np.sqrt(np.abs(share)))


def logarithmic(ratio: Values) -> Values:
    """-1 to 1: the logarithm of 1 + |ratio| / 0.1, with the ratio's sign, over its largest."""
    size = np.log1p(np.minimum(np.abs(ratio), _LARGEST) / _LINEAR)
    return np.asarray(np.sign(ratio) * size / np.log1p(_LARGEST / _LINEAR))


def share_colours(*, signed: bool) -> dict[str, Any]:
    """For roots of shares, 0 to 1, or -1 to 1 where some weights are below 0."""
    ticks = _SIGNED_SHARES if signed else _SHARES
    return {
        "colorscale": SIGNED if signed else SEQUENTIAL,
        "zmin": -1.0 if signed else 0.0,
        "zmax": 1.0,
        "colorbar": _bar(root(np.array(ticks)), [f"{tick:.0%}" for tick in ticks]),
    }


def ratio_axis() -> dict[str, Any]:
    """For logarithms of ratios."""
    ticks = [f"{tick:g}" for tick in _RATIOS]
    ticks[0], ticks[-1] = f"≤ {ticks[0]}", f"≥ {ticks[-1]}"
    return {"range": [-1.05, 1.05], **_bar(logarithmic(np.array(_RATIOS)), ticks)}


def _bar(places: Values, texts: Sequence[str]) -> dict[str, Any]:
    return {"tickmode": "array", "tickvals": plain(places), "ticktext": list(texts)}


def _divisor(total: Values) -> Values:
    """(N,) -> (N, 1); rows without any weight have no shares, and stay empty."""
    return np.where(total > 0, total, np.nan)[:, None]
