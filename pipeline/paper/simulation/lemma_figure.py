"""The figure of Lemma 1: the minimum ratio against angles, and the ratios that steps find."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.lines import Line2D

from pipeline.paper.figure import Exhibit
from pipeline.paper.lemma import (
    LARGEST_RATIO_STEP,
    LEAST_RATIO,
    minimum_ratio,
    nearer_on_plane,
    nearer_on_sphere,
    vector,
)
from pipeline.paper.rounding import rounded
from pipeline.paper.simulation.angle_axes import QUARTERS, angle_ticks
from pipeline.results.figures import MARKERS, line, panels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from pipeline.config.schema import SimulationParams
    from pipeline.paper.lemma import Check, Reals

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
    plane = nearer_on_plane(positive, negative, step, tried)
    sphere = nearer_on_sphere(positive, negative, step, tried, tangential=True)
    first, second = (
        np.where(nearer.any(axis=-1), tried[nearer.argmax(axis=-1)], np.nan)
        for nearer in (plane, sphere)
    )
    return first, second


def lemma_exhibit(checks: Sequence[Check], params: SimulationParams) -> Exhibit:
    """Minimum ratio against the negative's angle and the dihedral angle, a line for each step."""
    figure, axes = panels(2, sharey=True)
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
    _legend(figure, axes[0, 0])
    return Exhibit(
        name="lemma",
        title="Minimum ratio that brings an anchor nearer to its positive",
        caption=_caption(checks, params),
        settings=params.model_dump(),
        data={
            "positive_angle": rounded(params.positive_mean),
            "against": against,
            "checks": [rounded(dataclasses.asdict(one)) for one in checks],
        },
        figure=figure,
    )


def _legend(figure: Figure, panel: Axes) -> None:
    handles, names = panel.get_legend_handles_labels()
    for colour, where in {"grey": "on the tangent plane", "none": "on the sphere"}.items():
        handles.append(
            Line2D([], [], color="grey", markerfacecolor=colour, marker="o", linestyle="")
        )
        names.append(where)
    figure.legend(handles, names, loc="outside right center", frameon=False)


def _line(panel: Axes, index: int, step: float, positive: float, varied: str) -> dict[str, Any]:
    """Draw a step's line and points; return them."""
    style = line(index + (index >= CROSS))
    marker = {key: style.pop(key) for key in ("marker", "markersize")}
    bound = minimum_ratio(positive, *_angles(varied, CURVE), step)
    plane, sphere = least_serving(positive, *_angles(varied, POINTS), step)
    panel.plot(CURVE, bound, **style)
    panel.plot([], [], label=f"λ = {step:g}", **style, **marker)
    points = {"color": style["color"], "linestyle": "", **marker}
    panel.plot(POINTS, plane, **points)
    panel.plot(POINTS, sphere, **points | {"markersize": 7}, fillstyle="none", alpha=0.7)
    return {
        "step": step,
        "angle": rounded(CURVE),
        "minimum_ratio": rounded(bound),
        "stepped_angle": rounded(POINTS),
        "stepped_on_plane": rounded(plane),
        "stepped_on_sphere": rounded(sphere),
    }


def _angles(varied: str, angles: Reals) -> tuple[Reals, Reals]:
    """Angles to the negative and dihedral angles, of which one kind varies."""
    if varied == "negative_angle":
        return angles, np.full_like(angles, DIHEDRAL)
    return np.full_like(angles, NEGATIVE_ANGLE), angles


def _caption(checks: Sequence[Check], params: SimulationParams) -> str:
    said = "; ".join(
        f"λ = {one.step:g}: bounds and plane agree in {one.plane_agreement:.2%} of cases, bounds "
        f"and sphere in {one.sphere_agreement:.2%}, and no ratio serves {one.none_serves:.2%}"
        for one in checks
    )
    return (
        "Lemma 1: the least ratio r for which a step λ (r positive - negative) brings an anchor "
        f"nearer to its positive, {params.positive_mean:.4g} rad away. Left against the angle to "
        "the negative, right against the dihedral angle between positive and negative as seen "
        "from the anchor, in radians. Lines: the formula; a line ends where no ratio serves. "
        f"Filled points: the least of {TRIED:,} evenly spaced ratios "
        "whose step came nearer on the tangent plane; open points: likewise on the sphere, after "
        f"a tangential step that is brought back to length one. At {checks[0].cases:,} random "
        "cases (angles uniform in the simulation's ranges of means and from 0 to π around the "
        f"anchor, ratios log-uniform from {LEAST_RATIO:g} to {LARGEST_RATIO_STEP:g}/λ): {said}."
    )
