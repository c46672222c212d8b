"""Mean and deviation over seeds, and how tables write them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

SPREAD = (
    "mean over seeds, ± sample standard deviation where there are two seeds or more (n = 1: one "
    "seed, no deviation)"
)


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over seeds; one seed has no deviation."""

    mean: float
    deviation: float | None


def spread(values: Sequence[float]) -> Spread:
    """Of an objective's values, one a seed."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(float(np.mean(values)), deviation)


def cell(spread: Spread, digits: int = 2) -> str:
    """Mean and, if there is one, deviation."""
    mean, deviation = f"{spread.mean:.{digits}f}", spread.deviation
    return mean if deviation is None else f"{mean} ± {deviation:.{digits}f}"
