"""The figure of Lemma 1: the minimum ratio against angles, and the ratios that steps find."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from pipeline.paper.figure import Figure, explained
from pipeline.paper.lemma import (
    LARGEST_RATIO_STEP,
    LEAST_RATIO,
    nearer_on_plane,
    nearer_on_sphere,
    ratio_bounds,
    vector,
)
from pipeline.paper.simulation.figures import QUARTERS, angle_ticks
from pipeline.results.figures import MARKERS, line, panels

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from matplotlib.axes import Axes

    from pipeline.config.schema import SimulationParams
    from pipeline.paper.lemma import Reals

CROSS = MARKERS.index("x")  # cannot be filled
# What is fixed where the other angle varies.
DIHEDRAL = math.pi / 4
NEGATIVE_ANGLE = math.pi / 3
# What varies: the axis's label, the panel's title.
VARIED = {
    "negative_angle": ("angle to the negative (rad)", "dihedral angle π/4"),
    "dihedral": ("dihedral angle (rad)", "angle to the negative π/3"),
}
# How many ratios are tried for the least one that serves.
TRIED = 10_001
CURVE = np.linspace(0.01, math.pi - 0.01, 315)
POINTS = np.linspace(math.pi / 16, 15 * math.pi / 16, 15)


def least_serving(
    positive_angle: float, negative_angle: Reals, dihedral: Reals, step: float
) -> tuple[Reals, Reals]:
    """The least ratio tried that brings the anchor nearer, on the plane and on the sphere.

    Angles of equal shape; NaN where no ratio that was tried serves.
    """
    # The formula's values lie between -q and 1 / step + q.
    quotient = 1 / math.sin(positive_angle)
    tried = np.linspace(-quotient - 1, 1 / step + quotient + 1, TRIED)
    positive = vector(positive_angle, 0.0)
    negative = vector(negative_angle, dihedral)[..., None, :]
    plane, sphere = (
        np.where(nearer.any(axis=-1), tried[nearer.argmax(axis=-1)], np.nan)
        for nearer in (
            nearer_on_plane(positive, negative, step, tried),
            nearer_on_sphere(positive, negative, step, tried, tangential=True),
        )
    )
    return plane, sphere


def lemma_figure(checks: Sequence[Mapping[str, float]], params: SimulationParams) -> Figure:
    """Minimum ratio against the negative's angle and the dihedral angle, a line for each step."""
    picture, axes = panels(2, sharey=True)
    against = {}
    for panel, (varied, (label, title)) in zip(axes[0], VARIED.items(), strict=True):
        against[varied] = [
            _line(panel, index, step, params.positive_mean, varied)
            for index, step in enumerate(params.steps)
        ]
        angle_ticks(panel.xaxis, QUARTERS)
        panel.set(title=title, xlabel=label, xlim=(0, math.pi))
        panel.grid(alpha=0.3)
    axes[0, 0].set_ylabel("minimum ratio")
    handles, names = axes[0, 0].get_legend_handles_labels()
    for colour, where in {"grey": "on the tangent plane", "none": "on the sphere"}.items():
        handles.append(
            Line2D([], [], color="grey", markerfacecolor=colour, marker="o", linestyle="")
        )
        names.append(where)
    picture.legend(handles, names, loc="outside right center", frameon=False)
    return explained(
        "lemma",
        picture,
        params.model_dump(),
        {"positive_angle": params.positive_mean, "against": against, "checks": checks},
        macro="simulated_lemma",
        tried=TRIED,
        least_ratio=LEAST_RATIO,
        largest_ratio_step=LARGEST_RATIO_STEP,
    )


def _line(panel: Axes, index: int, step: float, positive: float, varied: str) -> dict[str, Any]:
    """Draw a step's line and points; return them."""
    style = line(index + (index >= CROSS))
    marker = {key: style.pop(key) for key in ("marker", "markersize")}
    bound, _ = ratio_bounds(positive, *_angles(varied, CURVE), step)
    plane, sphere = least_serving(positive, *_angles(varied, POINTS), step)
    panel.plot(CURVE, bound, **style)
    panel.plot([], [], label=f"λ = {step:g}", **style, **marker)
    points = {"color": style["color"], "linestyle": "", **marker}
    panel.plot(POINTS, plane, **points)
    panel.plot(POINTS, sphere, **points | {"markersize": 7}, fillstyle="none", alpha=0.7)
    return {
        "step": step,
        "angle": CURVE,
        "minimum_ratio": bound,
        "stepped_angle": POINTS,
        "stepped_on_plane": plane,
        "stepped_on_sphere": sphere,
    }


def _angles(varied: str, angles: Reals) -> tuple[Reals, Reals]:
    """Angles to the negative and dihedral angles, of which one kind varies."""
    if varied == "negative_angle":
        return angles, np.full_like(angles, DIHEDRAL)
    return np.full_like(angles, NEGATIVE_ANGLE), angles
