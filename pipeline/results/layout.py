"""Tables in Markdown, and numbers rounded for JSON."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

DIGITS = 6  # more would differ between machines, fewer would hide a change


def markdown_table(lines: Sequence[Sequence[str]], *, left: int) -> str:
    """A header and what is below it; the first `left` columns are aligned left, others right."""
    header, *body = lines
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *body))


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


def json_bytes(content: object) -> bytes:
    """Equal bytes for equal content; NaN and infinity are refused."""
    return f"{json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()
