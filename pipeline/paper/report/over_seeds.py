"""One curve of several seeds: mean and standard deviation, point by point, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.paper.rounding import rounded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

_MARKERS = 12  # of a line, however many points it has
_TAIL = 2e-3  # of a density's peak


@dataclass(frozen=True)
class Curve:
    """Values at the points of one axis.

    Attributes:
        mean: over the seeds that have a value there; None where none has.
        deviation: of a sample (n - 1), None where fewer than two seeds have a value.
        seeds: how many there are.
    """

    mean: tuple[float | None, ...]
    deviation: tuple[float | None, ...]
    seeds: int

    @classmethod
    def of(cls, seeds: Sequence[Sequence[float | None]]) -> Curve:
        """Join the curves of one or more seeds, all at the same points; None is undefined."""
        points = [
            [value for value in point if value is not None] for point in zip(*seeds, strict=True)
        ]
        mean = tuple(fmean(point) if point else None for point in points)
        deviation = tuple(stdev(point) if len(point) > 1 else None for point in points)
        return cls(mean, deviation, len(seeds))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; one seed has no deviation."""
        deviation = rounded(self.deviation) if self.seeds > 1 else None
        return {"mean": rounded(self.mean), "deviation": deviation, "seeds": self.seeds}

    def without_tails(self) -> Curve:
        """For a density's picture: nothing where it is next to nothing."""
        least = _TAIL * max((value for value in self.mean if value is not None), default=0)
        mean = tuple(None if value is None or value <= least else value for value in self.mean)
        return replace(self, mean=mean)

    def draw(self, axes: Axes, x: Sequence[float], **style: Any) -> None:
        """The mean as a line; style as of `pipeline.results.figures.line`."""
        there = [index for index, value in enumerate(self.mean) if value is not None]
        marked = there[:: max(1, len(there) // _MARKERS)] or None
        axes.plot(x, np.array(self.mean, float), **({"markevery": marked} | style))

    def draw_with_band(self, axes: Axes, x: Sequence[float], **style: Any) -> None:
        """Likewise with one standard deviation to either side, where there are several seeds."""
        self.draw(axes, x, **style)
        if self.seeds > 1:
            band(axes, x, self.mean, self.deviation, style["color"])


def band(
    axes: Axes,
    x: Sequence[float],
    middle: Sequence[float | None],
    width: Sequence[float | None],
    colour: str,
) -> None:
    """A pale area around a curve, `width` to either side."""
    centre, half = np.array(middle, float), np.array(width, float)
    axes.fill_between(x, centre - half, centre + half, color=colour, alpha=0.15, linewidth=0)
