"""Rounds of a benchmark as one entry of its report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence


def spread(values: Sequence[float]) -> dict[str, Any]:
    """Each round's value, and their median, least and greatest."""
    return {
        "rounds": [float(one) for one in values],
        "median": float(np.median(values)),
        "min": float(min(values)),
        "max": float(max(values)),
    }
