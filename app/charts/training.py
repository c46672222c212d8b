"""Both encoders' training: one measure over the optimizer's steps."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.charts.style import COLOURS, DASHES, SYMBOLS, array, figure, label, nothing, plain, unknown
from app.statistics import Values

_HEIGHT = 280
_FEW = 40  # points up to which each has a marker
_BEST = "dev_spearman"  # the measure by which the best step is chosen

# Key of a curve's rows -> title and unit, and what it is.
MEASURES = {
    "dev_spearman": (
        "Spearman x 100, dev",
        "Agreement with people's grades. A star marks the best step.",
    ),
    "dissipation": ("Dissipation", "Mean over anchors of what scales an anchor's whole gradient."),
    "hardest_share": (
        "Hardest share",
        "Share of the hardest negative in the weight, open anchors.",
    ),
    "ratio": ("Ratio", "Pull on the positive per push on the negatives, open anchors."),
    "positive_cosine": ("Positive cosine", "Mean cosine of an anchor and its positive."),
    "negative_cosine": ("Negative cosine", "Mean cosine of an anchor and its negatives."),
}


def curve_chart(
    models: Sequence[str],
    curves: Sequence[Sequence[Mapping[str, float | None]]],
    *,
    key: str,
    axis: str,
) -> go.Figure:
    """A measure of both encoders.

    Args:
        models: their ids.
        curves: the rows of each one's training curve, with `step`; none for one trained elsewhere.
        key: of `MEASURES`.
        axis: its axis title.
    """
    name = f"training-{key}"
    points = [_points(rows, key) for rows in curves]
    if not any(np.isfinite(values).any() for _, values in points):
        return nothing("There is no curve: neither encoder was trained here.", name)
    told = "; ".join(
        _told(model, steps, values, key)
        for model, (steps, values) in zip(models, points, strict=True)
    )
    gaps = unknown({model: values for model, (_, values) in zip(models, points, strict=True)})
    made = figure(f"{axis} over the training steps. {told}.{gaps}", name, _HEIGHT)
    for place, (model, (steps, values)) in enumerate(zip(models, points, strict=True)):
        if np.isfinite(values).any():
            _add_curve(made, model, place, steps, values, key)
    made.update_layout(
        xaxis={"title": {"text": "optimizer step"}, "rangemode": "tozero"},
        yaxis={"title": {"text": axis}},
        showlegend=True,
    )
    return made


def _add_curve(
    made: go.Figure, model: str, place: int, steps: Values, values: Values, key: str
) -> None:
    shape: dict[str, Any] = {"color": COLOURS[place], "symbol": SYMBOLS[place]}
    made.add_scatter(
        x=plain(steps),
        y=plain(values),
        mode="lines+markers" if len(steps) <= _FEW else "lines",
        name=label(model),
        legendgroup=str(place),
        line={"color": COLOURS[place], "dash": DASHES[place], "width": 2},
        marker={**shape, "size": 7},
        hovertemplate="step %{x}: %{y:.4~g}<extra></extra>",
    )
    if key == _BEST:
        best = int(np.nanargmax(values))
        made.add_scatter(
            x=plain(steps[best : best + 1]),
            y=plain(values[best : best + 1]),
            mode="markers",
            name=f"best: {values[best]:.1f}",
            legendgroup=str(place),
            marker={**shape, "symbol": "star", "size": 15},
            hovertemplate="best step %{x}: %{y:.4~g}<extra></extra>",
        )


def _points(rows: Sequence[Mapping[str, float | None]], key: str) -> tuple[Values, Values]:
    """Steps, and the measure at each: nan where it was not taken."""
    known = [row for row in rows if row.get("step") is not None]
    return array([row["step"] for row in known]), array([row.get(key) for row in known])


def _told(model: str, steps: Values, values: Values, key: str) -> str:
    known = np.flatnonzero(np.isfinite(values))
    if not len(known):
        return f"{model}: no curve"
    first, last = known[0], known[-1]
    best = ""
    if key == _BEST:
        top = int(np.nanargmax(values))
        best = f", best {values[top]:.1f} at step {steps[top]:g}"
    return (
        f"{model}: {values[first]:.3g} at step {steps[first]:g} to {values[last]:.3g} at step "
        f"{steps[last]:g}{best}"
    )
