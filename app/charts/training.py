"""Both encoders' training: one measure over the optimizer's steps."""

import math
from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from app.charts.style import COLOURS, DASHES, SYMBOLS, figure, nothing

_HEIGHT = 260

# Key of a curve's rows -> title and unit, and what it is.
MEASURES = {
    "dev_spearman": (
        "Spearman x 100, dev",
        "Agreement with people's grades; the best step is kept.",
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
    known = [_known(rows, key) for rows in curves]
    if not any(known):
        return nothing("There is no curve: neither encoder was trained here.", key)
    told = [
        f"{model}: {points[0][1]:.3g} to {points[-1][1]:.3g}" if points else f"{model}: no curve"
        for model, points in zip(models, known, strict=True)
    ]
    made = figure(f"{axis} over the training steps; {'; '.join(told)}.", f"training-{key}", _HEIGHT)
    for place, (model, points) in enumerate(zip(models, known, strict=True)):
        steps, values = [step for step, _ in points], [value for _, value in points]
        made.add_scatter(
            x=steps,
            y=values,
            mode="lines+markers",
            name=model.replace("<", "&lt;"),
            line={"color": COLOURS[place], "dash": DASHES[place], "width": 2},
            marker={"symbol": SYMBOLS[place], "size": _sizes(values, best=key == "dev_spearman")},
            hovertemplate="step %{x}: %{y:.4g}<extra></extra>",
        )
    made.update_layout(
        xaxis={"title": {"text": "optimizer step"}, "rangemode": "tozero"},
        yaxis={"title": {"text": axis}},
    )
    return made


def _known(rows: Sequence[Mapping[str, float | None]], key: str) -> list[tuple[float, float]]:
    found = [(row.get("step"), row.get(key)) for row in rows]
    return [
        (step, value)
        for step, value in found
        if step is not None and value is not None and math.isfinite(value)
    ]


def _sizes(values: Sequence[float], *, best: bool) -> list[int]:
    """The best step of a dev curve stands out."""
    top = max(values, default=0.0)
    return [13 if best and value == top else 7 for value in values]
