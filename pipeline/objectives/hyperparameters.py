"""Hyperparameters of objectives: the fields that recur, and the check that all of them get.

Not here: formulas, and how bounds are declared (`pipeline.machine.bounds`).
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from pipeline.machine.bounds import choice, number, violation

Gate = Literal["cross_view", "within_view"]
PositiveGradient = Literal["anchor_only", "both"]
MeanOver = Literal["all", "open"]
View = Literal["own_view", "other_view"]

__all__ = [
    "Gate",
    "Hyperparameters",
    "MeanOver",
    "PositiveGradient",
    "View",
    "choice",
    "coefficient",
    "cosine_margin",
    "number",
    "pull_ratio",
    "temperature",
]


def temperature(default: float = 0.05) -> Any:
    """Temperature t of an exponential weight e^{c/t}: it divides the cosine."""
    return number(default, above=0.0, unit="cosine")


def cosine_margin(default: float) -> Any:
    """Margin between two cosines, whose difference never exceeds 2."""
    return number(default, at_least=0.0, at_most=2.0, unit="cosine")


def coefficient(default: float) -> Any:
    """Factor of a loss term; ratios divide by it, so it is positive."""
    return number(default, above=0.0, unit="no unit")


def pull_ratio(default: float) -> Any:
    """Fixed ratio r: pull on the positive per push on the negatives."""
    return number(default, at_least=0.0, unit="no unit")


@dataclass(frozen=True, kw_only=True)
class Hyperparameters:
    """A frozen dataclass whose declared fields are checked on creation.

    Raises:
        ValueError: a value is of the wrong type or outside its range or choices.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            problem = violation(field, getattr(self, field.name))
            if problem is not None:
                raise ValueError(f"{type(self).__name__}.{field.name}: {problem}.")
