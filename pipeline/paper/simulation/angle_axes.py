"""Axes in radians, and maps over the grid of mean angles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.paper.simulation.draws import negative_means, positive_means
from pipeline.results.figures import GRID_COLOURS, NOT_VISITED, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Normalize
    from matplotlib.figure import Figure
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from pipeline.paper.simulation.draws import Reals

POSITIVE_LABEL = "mean angle to the positive (rad)"
NEGATIVE_LABEL = "mean angle to the negatives (rad)"
_TICKS = {
    math.pi / 8: "π/8",
    math.pi / 4: "π/4",
    3 * math.pi / 8: "3π/8",
    math.pi / 2: "π/2",
    3 * math.pi / 4: "3π/4",
    math.pi: "π",
}
QUARTERS = [math.pi / 4, math.pi / 2, 3 * math.pi / 4, math.pi]
EIGHTHS = [math.pi / 8, math.pi / 4, 3 * math.pi / 8, math.pi / 2]
_COLUMNS = 4  # panels in a row


def angle_ticks(axis: Any, angles: list[float]) -> None:
    """Multiples of pi on an axis that is in radians."""
    axis.set_ticks(angles, [_TICKS[angle] for angle in angles])


def map_panels(names: list[str]) -> tuple[Figure, dict[str, Axes]]:
    """Panels for maps over the grid, at most `_COLUMNS` in a row."""
    columns = min(len(names), _COLUMNS)
    rows = math.ceil(len(names) / columns)
    figure, axes = panels(columns, rows, width=3.4, height=3.4, sharex=True, sharey=True)
    drawn = dict(zip(names, axes.ravel(), strict=False))
    for empty in axes.ravel()[len(names) :]:
        empty.set_visible(False)
    for lowest in axes.ravel()[max(0, len(names) - columns) : len(names)]:
        lowest.tick_params(labelbottom=True)
    figure.supxlabel(POSITIVE_LABEL, fontsize="medium")
    figure.supylabel(NEGATIVE_LABEL, fontsize="medium")
    return figure, drawn


def draw_map(axes: Axes, values: Reals, grid: int, norm: Normalize) -> AxesImage:
    """Values over the grid, each a cell around its point."""
    positive, negative = positive_means(grid), negative_means(grid)
    image = axes.imshow(
        values,
        cmap=GRID_COLOURS,
        norm=norm,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(*_ends(positive), *_ends(negative)),
    )
    angle_ticks(axes.xaxis, EIGHTHS)
    angle_ticks(axes.yaxis, QUARTERS)
    return image


def _ends(points: Reals) -> tuple[float, float]:
    """Of the outer points' cells."""
    half = (points[1] - points[0]) / 2
    return points[0] - half, points[-1] + half


def draw_lines(axes: Axes, values: Reals, grid: int) -> None:
    """Lines at what is closed, half open and open, where the values pass them."""
    styles = {0.01: ("white", ":"), 0.5: ("white", "-"), 0.99: ("black", "--")}
    for level, (colour, style) in styles.items():
        if values.min() < level < values.max():
            axes.contour(
                positive_means(grid),
                negative_means(grid),
                values,
                levels=[level],
                colors=colour,
                linestyles=style,
                linewidths=1,
            )


def hatch(axes: Axes, region: NDArray[np.bool_], grid: int) -> None:
    """Veil and hatch where the region is true."""
    if not region.any():
        return
    positive, negative = positive_means(grid), negative_means(grid)
    veil = axes.contourf(
        np.insert(_ends(positive), 1, positive),
        np.insert(_ends(negative), 1, negative),
        np.pad(region.astype(float), 1, mode="edge"),
        levels=[0.5, 1.5],
        colors=[(1, 1, 1, 0.6)],
        hatches=[NOT_VISITED],
    )
    veil.set(edgecolor=(0, 0, 0, 0.45), linewidth=0)  # the hatching has the edges' colour
