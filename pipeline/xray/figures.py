"""The paper's three pictures for any loss: dissipation, hardest share and ratio over angles."""

import math

import numpy as np
from matplotlib.colors import LogNorm, Normalize
from numpy.typing import NDArray

from pipeline.objectives.anatomy import Loss, dependence
from pipeline.paper.figure import Figure
from pipeline.results.figures import GRID_COLOURS, line, panels
from pipeline.xray.sweep import Measure, angle_batch, measure

Reals = NDArray[np.float64]

GRID = 8  # points a side
SMALL = {"count": 32, "dimension": 128}  # of the maps' batches
TURNED = 2  # anchors whose dissipation is measured at a point
POSITIVE_OF_SHARES = math.pi / 6
ANGLES = np.linspace(math.pi / 20, math.pi / 2, GRID)


def figures(name: str, loss: Loss) -> list[Figure]:
    """The three pictures with their numbers."""
    on_axes = dependence(loss, name)

    def at(positive: float, negative: float) -> Measure | None:
        try:
            batch = angle_batch(positive, negative, **SMALL)
        except ValueError:  # there is none
            return None
        return measure(loss, batch, name, on_axes, turned=TURNED)

    points = [[at(p, n) for p in ANGLES] for n in ANGLES]
    shares = [at(POSITIVE_OF_SHARES, angle) for angle in ANGLES]
    dissipation = _field(points, "dissipation").clip(0, 1)
    ratio = _field(points, "ratio")
    ratio[~(ratio > 0)] = np.nan  # a logarithm draws it
    ratio[np.isinf(ratio)] = np.nan
    visible = ratio[np.isfinite(ratio)]
    low, high = (visible.min(), visible.max()) if visible.size else (1.0, 1.0)
    scale = LogNorm(low / 1.01, high * 1.01)
    angles = "Mean angles in radians; white: no batch has these angles, or nothing is defined."
    return [
        _map(name, "dissipation", dissipation, Normalize(0, 1), f"Mean dissipation. {angles}"),
        _shares(name, shares),
        _map(name, "ratio", ratio, scale, f"Pull over push, a median over anchors. {angles}"),
    ]


def _field(points: list[list[Measure | None]], key: str) -> Reals:
    rows = [
        [math.nan if measure is None else getattr(measure, key) for measure in row]
        for row in points
    ]
    return np.array(rows, dtype=np.float64)


def _map(name: str, kind: str, values: Reals, scale: Normalize, caption: str) -> Figure:
    picture, ((axes,),) = panels()
    mesh = axes.pcolormesh(ANGLES, ANGLES, values, norm=scale, cmap=GRID_COLOURS)
    picture.colorbar(mesh, ax=axes, label=kind)
    axes.set(title=name, xlabel="angle to the positive", ylabel="angle to the negatives")
    data = {"positive": ANGLES, "negative": ANGLES, kind: values}
    return Figure(f"{name}_{kind}", f"{kind} of {name}", caption, dict(SMALL), data, picture)


def _shares(name: str, measures: list[Measure | None]) -> Figure:
    values = [math.nan if measure is None else measure.hardest for measure in measures]
    picture, ((axes,),) = panels()
    axes.plot(ANGLES, values, **line(0))
    axes.axhline(1, color="grey", linewidth=1)
    axes.set(title=name, xlabel="angle to the negatives", ylabel="hardest share / equal share")
    caption = (
        "The hardest negative's share of an anchor's push over its share where all negatives push "
        "alike, with the positive at 30 degrees; angles in radians."
    )
    title = f"hardest share of {name}"
    data = {"negative": ANGLES, "hardest": values}
    return Figure(f"{name}_hardest_share", title, caption, dict(SMALL), data, picture)
