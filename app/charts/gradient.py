"""The components of an objective's gradient at each anchor of a batch, and a step against it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from app.charts.heatmap import HEIGHT, add_heatmap
from app.charts.style import COLOURS, DIVERGING, SEQUENTIAL, figure, names, nothing
from app.statistics import Values

_NOTHING = "There is no anchor to show."
# Ratios beyond this are drawn as this.
_LARGEST_RATIO = 5.0


def dissipation_chart(
    models: Sequence[str], first: Values, second: Values, sentences: Sequence[str]
) -> go.Figure:
    """Dissipation (N,) of both objectives at each anchor."""
    if not len(sentences):
        return nothing(_NOTHING, "dissipation")
    told = ", ".join(
        f"{model}: {np.mean(values):.2f}"
        for model, values in zip(models, (first, second), strict=True)
    )
    made = figure(f"Dissipation at {len(sentences)} anchors; mean of {told}.", "dissipation", 260)
    places, said = list(range(1, len(sentences) + 1)), names(sentences)
    for place, (model, values) in enumerate(zip(models, (first, second), strict=True)):
        made.add_bar(
            x=places,
            y=_plain(values),
            name=model.replace("<", "&lt;"),
            marker={"color": COLOURS[place], "pattern": {"shape": ("", "/")[place]}},
            customdata=said,
            hovertemplate="anchor %{x}: %{customdata}<br>dissipation %{y:.4f}<extra></extra>",
        )
    made.update_layout(
        barmode="group",
        xaxis={"title": {"text": "anchor"}, "showgrid": False, "tick0": 1, "dtick": 1},
        yaxis={"title": {"text": "dissipation"}, "rangemode": "tozero"},
    )
    return made


def weight_map(weight: Values, sentences: Sequence[str], model: str) -> go.Figure:
    """Each negative's share of its anchor's push: |weight| over the row's sum, (N, N)."""
    if not len(sentences):
        return nothing(_NOTHING, f"weight-{model}")
    size = np.abs(np.asarray(weight, float))
    np.fill_diagonal(size, 0.0)
    total = size.sum(axis=1, keepdims=True)
    share = np.where(total > 0, size / np.where(total > 0, total, 1.0), np.nan)
    np.fill_diagonal(share, np.nan)
    hardest = np.nanmax(share, axis=1) if len(share) > 1 and np.isfinite(share).any() else share
    told = (
        f"; the hardest negative of an anchor has {np.nanmean(hardest):.0%} on average"
        if np.isfinite(hardest).any()
        else ""
    )
    made = figure(
        f"Share of each negative in the weight of its anchor by {model}, {len(sentences)} anchors"
        f"{told}.",
        f"weight-{model}",
        HEIGHT,
    )
    colours = {"colorscale": SEQUENTIAL, "zmin": 0.0, "zmax": float(np.nanmax(share, initial=0.01))}
    add_heatmap(made, share, sentences, ("anchor", f"negative, {model}"), "share", colours)
    return made


def ratio_map(ratio: Values, sentences: Sequence[str], model: str) -> go.Figure:
    """Pull on the positive per push on each negative, (N, N); large ones are drawn as the limit."""
    if not len(sentences):
        return nothing(_NOTHING, f"ratio-{model}")
    values = np.asarray(ratio, float).copy()
    np.fill_diagonal(values, np.nan)
    finite = values[np.isfinite(values)]
    limit = min(max(float(np.abs(finite).max(initial=0.0)), 1.0), _LARGEST_RATIO)
    beyond = int((np.abs(finite) > limit).sum())
    middle = f" The middle one is {np.median(finite):.3g}." if len(finite) else ""
    cut = f" {beyond} are beyond {limit:g} and drawn as that." if beyond else ""
    made = figure(
        f"Ratio of each anchor and negative by {model}, {len(sentences)} anchors.{middle}{cut}",
        f"ratio-{model}",
        HEIGHT,
    )
    colours = {"colorscale": DIVERGING, "zmin": -limit, "zmax": limit}
    add_heatmap(made, values, sentences, ("anchor", f"negative, {model}"), "ratio", colours)
    return made


@dataclass(frozen=True)
class Step:
    """What a step does to cosines of N anchors.

    Attributes:
        positive: (N,) cosines with their positives, before and after.
        negative: (N,) cosines with their hardest negatives, before and after.
    """

    positive: tuple[Values, Values]
    negative: tuple[Values, Values]


def step_chart(model: str, place: int, step: Step, sentences: Sequence[str]) -> go.Figure:
    """Cosines of each anchor before and after a step; `place`: 0 for the first encoder."""
    if not len(sentences):
        return nothing(_NOTHING, f"step-{model}")
    made = figure(
        f"A step against the gradient by {model}: mean cosine to the positive from "
        f"{np.mean(step.positive[0]):.3f} to {np.mean(step.positive[1]):.3f}, to the hardest "
        f"negative from {np.mean(step.negative[0]):.3f} to {np.mean(step.negative[1]):.3f}.",
        f"step-{model}",
        HEIGHT,
    )
    said, places = names(sentences), list(range(1, len(sentences) + 1))
    kinds = (
        ("positive", step.positive, COLOURS[place], "circle"),
        ("hardest negative", step.negative, "#64748b", "square"),
    )
    for name, (before, after), colour, symbol in kinds:
        # Gaps between the anchors' lines.
        made.add_scatter(
            x=[
                x for pair in zip(_plain(before), _plain(after), strict=True) for x in (*pair, None)
            ],
            y=[y for one in places for y in (one, one, None)],
            mode="lines",
            line={"color": colour, "width": 2},
            hoverinfo="skip",
            showlegend=False,
        )
        for when, values, filled in (("before", before, False), ("after", after, True)):
            made.add_scatter(
                x=_plain(values),
                y=places,
                mode="markers",
                name=f"{name}, {when}",
                marker={"color": colour, "size": 9, "symbol": symbol + ("" if filled else "-open")},
                customdata=said,
                hovertemplate=f"anchor %{{y}}: %{{customdata}}<br>cosine to the {name} {when}: "
                "%{x:.3f}<extra></extra>",
            )
    made.update_layout(
        xaxis={"title": {"text": "cosine"}},
        yaxis={
            "title": {"text": "anchor"},
            "autorange": "reversed",
            "tick0": 1,
            "dtick": max(1, len(said) // 12),
        },
    )
    return made


def _plain(values: Values) -> list[float | None]:
    return [round(float(one), 6) if np.isfinite(one) else None for one in np.asarray(values, float)]
