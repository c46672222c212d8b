"""Numbers as JSON files hold them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

DIGITS = 6  # after the point: more would differ between machines


def rounded(value: Any) -> Any:
    """Nested numbers with six digits after the point, None for those that are not finite."""
    if isinstance(value, dict):
        return {key: rounded(inner) for key, inner in value.items()}
    if isinstance(value, np.ndarray):
        return rounded(value.tolist())
    if isinstance(value, list | tuple):
        return [rounded(inner) for inner in value]
    if isinstance(value, float):  # NumPy's float64 is one
        return round(float(value), DIGITS) if math.isfinite(value) else None
    return value
