"""Settings that say what they allow: ranges and choices declared on dataclass fields.

Here: `number` and `choice`, which declare a field, and `violation`, which checks one value. Used by
the objectives' hyperparameters. Not here: any setting.
"""

import dataclasses
import math
from dataclasses import MISSING
from typing import Any

from pipeline.machine.settings import shown


def number(
    default: Any = MISSING,
    *,
    above: float | None = None,
    at_least: float | None = None,
    at_most: float | None = None,
    unit: str,
) -> Any:
    """Declare a number with its range and unit."""
    bounds = (("above", above), ("at least", at_least), ("at most", at_most))
    metadata = {"bounds": tuple(b for b in bounds if b[1] is not None), "unit": unit}
    return dataclasses.field(default=default, metadata=metadata)


def choice(default: Any, *others: Any) -> Any:
    """Declare a convention: its default first, then the alternatives."""
    return dataclasses.field(default=default, metadata={"choices": (default, *others)})


def violation(field: dataclasses.Field[Any], value: object) -> str | None:
    """What is wrong with a field's value, or None."""
    if "choices" in field.metadata and value not in field.metadata["choices"]:
        allowed = ", ".join(repr(allowed) for allowed in field.metadata["choices"])
        return f"{value!r} is not one of {allowed}"
    if "bounds" not in field.metadata:
        return None
    unit = field.metadata["unit"]
    if isinstance(value, bool) or not isinstance(value, int | float):
        return f"expected a number ({unit}), got {shown(value)}"
    if math.isfinite(value) and all(_within(value, *b) for b in field.metadata["bounds"]):
        return None
    allowed = " and ".join(f"{words} {bound}" for words, bound in field.metadata["bounds"])
    return f"{value} is out of range; it must be {allowed or 'finite'} ({unit})"


def _within(value: float, words: str, bound: float) -> bool:
    if words == "above":
        return value > bound
    return value >= bound if words == "at least" else value <= bound
