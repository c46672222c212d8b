"""The components of an objective's gradient at each anchor of a batch, and a step against it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import plotly.graph_objects as go

from app.charts.dumbbell import add_dumbbells
from app.charts.heatmap import HEIGHT, add_heatmap
from app.charts.scale import logarithmic, ratio_axis, root, share_colours, shares
from app.charts.style import (
    COLOURS,
    NEUTRAL,
    PATTERNS,
    array,
    figure,
    label,
    mean,
    median,
    names,
    nothing,
    plain,
    unknown,
)
from app.statistics import Values

_NOTHING = "There is no anchor to show."
_SIDES = ("anchor", "negative")  # rows and columns
_BARS = 300  # pixels
# Dissipations that differ by more than this factor are drawn on an axis each.
_COMPARABLE = 20.0
_MANY = 16  # anchors whose bars find room beside each other


def anchor_chart(
    kind: Literal["dissipation", "ratio"],
    models: Sequence[str],
    first: Values,
    second: Values,
    sentences: Sequence[str],
) -> go.Figure:
    """Dissipation or ratio (N,) of both objectives at each anchor, side by side.

    Many anchors, or dissipations of different orders, get a panel each, the second's below. Ratios
    are drawn on a log-symmetric scale, the same for all encoders.
    """
    if not len(sentences):
        return nothing(_NOTHING, kind)
    both = [array(first), array(second)]
    tops = [float(np.nanmax(np.abs(one), initial=0.0)) for one in both]
    orders = kind == "dissipation" and 0 < min(tops) < max(tops) / _COMPARABLE
    apart = orders or len(sentences) > _MANY
    middle = mean if kind == "dissipation" else median
    told = ", ".join(
        f"{model}: {middle(values, '.3g')}" for model, values in zip(models, both, strict=True)
    )
    missing = unknown(dict(zip(models, both, strict=True)))
    made = figure(
        f"{kind.capitalize()} at {len(sentences)} anchors, {middle.__name__} of {told}.{missing}",
        kind,
        _BARS,
    )
    for place, (model, values) in enumerate(zip(models, both, strict=True)):
        heights = values if kind == "dissipation" else logarithmic(values)
        said = [f"{one:.4g}" if np.isfinite(one) else "unknown" for one in values]
        made.add_bar(
            x=list(range(1, len(sentences) + 1)),
            y=plain(heights),
            name=label(model),
            marker={
                "color": COLOURS[place],
                "pattern": {"shape": PATTERNS[place], "fgopacity": 0.6, "size": 6},
                # A closed anchor is a line on the axis, not a hole.
                "line": {"color": COLOURS[place], "width": 1.5},
            },
            customdata=list(zip(names(sentences), said, strict=True)),
            hovertemplate=f"anchor %{{x}}: %{{customdata[0]}}<br><b>{kind} %{{customdata[1]}}</b>"
            "<extra></extra>",
            yaxis="y2" if apart and place else "y",
        )
    axis = {"rangemode": "tozero"} if kind == "dissipation" else ratio_axis()
    made.update_layout(
        barmode="group",
        bargap=0.25,
        xaxis={"title": {"text": "anchor"}, "showgrid": False, **_ticks(len(sentences))},
        yaxis={"title": {"text": kind, "standoff": 8}, **axis},
    )
    if apart:
        made.update_layout(
            xaxis_anchor="y2",
            yaxis={"domain": [0.56, 1]},
            yaxis2={
                **made.layout.yaxis.to_plotly_json(),
                "domain": [0, 0.44],
                "matches": None if orders else "y",
            },
        )
    return made


def weight_map(weight: Values, sentences: Sequence[str], model: str) -> go.Figure:
    """Each negative's share of its anchor's push: weight (N, N) over the row's sum of sizes.

    Colours go with the square root of the share, from 0 to all, so that even shares can be told
    from none; objectives with weights below 0 get a scale of two directions.
    """
    if not len(sentences):
        return nothing(_NOTHING, f"weight-{model}")
    share = shares(array(weight))
    hardest = mean(np.nanmax(np.abs(share), axis=1, initial=0.0), ".0%")
    made = figure(
        f"Share of each negative in the weight of its anchor by {model}, {len(sentences)} anchors; "
        f"the largest share of an anchor is {hardest} on average.{_gaps(share)}",
        f"weight-{model}",
        HEIGHT,
    )
    colours = share_colours(signed=bool((share < 0).any()))
    told = [["" if np.isnan(one) else f"{one:.1%}" for one in row] for row in share]
    add_heatmap(made, root(share), sentences, _SIDES, "share", colours, told)
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
    """Cosines of each anchor before (hollow) and after (filled) a step.

    Args:
        model: the encoder's id.
        place: 0 for the first encoder, 1 for the second.
        step: the cosines.
        sentences: N anchors.
    """
    if not len(sentences):
        return nothing(_NOTHING, f"step-{model}")
    positive, negative = (
        (array(before), array(after)) for before, after in (step.positive, step.negative)
    )
    kinds = (
        ("positive", positive, (COLOURS[place], "circle")),
        ("hardest negative", negative, (NEUTRAL, "square")),
    )
    told = ", ".join(
        f"to the {kind} from {mean(before, '.3f')} to {mean(after, '.3f')}"
        for kind, (before, after), _ in kinds
    )
    missing = {f"cosines to the {kind}": np.stack(cosines) for kind, cosines, _ in kinds}
    made = figure(
        f"A step against the gradient by {model}: mean cosine {told}.{unknown(missing)}",
        f"step-{model}",
        HEIGHT,
    )
    said = names(sentences)
    for kind, cosines, look in kinds:
        add_dumbbells(made, kind, cosines, look, said)
    made.update_layout(
        xaxis={"title": {"text": "cosine: hollow before, filled after"}},
        yaxis={
            "title": {"text": "anchor"},
            "showgrid": False,
            "range": [len(sentences) + 0.6, 0.4],
            **_ticks(len(sentences)),
        },
    )
    return made


def _ticks(count: int) -> dict[str, float]:
    return {"tick0": 1, "dtick": max(1, -(-count // 12))}


def _gaps(values: Values) -> str:
    """What is not known beside the diagonal."""
    off = values[~np.eye(len(values), dtype=bool)]
    return unknown({"the pairs of anchor and negative": off})
