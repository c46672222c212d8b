"""One pair of sentences on each encoder's own distribution of cosines."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite

import numpy as np
import plotly.graph_objects as go

from app.charts.style import COLOURS, SYMBOLS, array, figure, label, nothing, plain
from app.statistics import Values

_PANEL = 150  # pixels of a panel with what is said above it
_AXIS = 60  # pixels of the axis below all panels
_DRAWN = 0.64  # share of a panel's height that is drawn on


@dataclass(frozen=True)
class PairSide:
    """What one encoder says of a pair.

    Attributes:
        model: its id.
        cosine: of the pair.
        percentile: percent of its graded pairs that have a smaller cosine; None: not measured.
        density: of its graded pairs' cosines: places and heights; None: not measured.
    """

    model: str
    cosine: float
    percentile: float | None
    density: tuple[Sequence[float], Sequence[float]] | None


def pair_chart(sides: Sequence[PairSide]) -> go.Figure:
    """A panel for each encoder, one above the other, on one axis of cosines.

    The area left of the pair, which is what its percentile counts, is filled more strongly.
    """
    if not sides:
        return nothing("There is no pair to show.", "pair")
    told = " ".join(f"{side.model}: cosine {_said(side)}." for side in sides)
    made = figure(
        f"Where the pair stands among each encoder's graded pairs. {told}",
        "pair",
        _AXIS + _PANEL * len(sides),
    )
    for place, side in enumerate(sides):
        top = 1 - place / len(sides)
        _panel(made, side, place, (top - 1 / len(sides), top - (1 - _DRAWN) / len(sides)))
    made.update_layout(
        showlegend=False,
        margin={"t": 4},
        xaxis={
            "title": {"text": "cosine (height: density of graded pairs)"},
            "anchor": "y" if len(sides) == 1 else f"y{len(sides)}",
            "range": _range(sides),
        },
    )
    return made


def _panel(made: go.Figure, side: PairSide, place: int, domain: tuple[float, float]) -> None:
    colour, axis = COLOURS[place % 2], "y" if place == 0 else f"y{place + 1}"
    places, heights = _curve(side)
    if len(places):
        _add_area(made, places, heights, side.cosine, colour, axis)
    if isfinite(side.cosine):
        made.add_scatter(
            x=[side.cosine, side.cosine],
            y=[0, 1.12],
            mode="lines+markers",
            line={"color": colour, "width": 3},
            marker={
                "size": [0, 13],
                "opacity": 1,
                "symbol": SYMBOLS[place % 2],
                "line": {"width": 0},
            },
            hovertemplate=f"cosine {side.cosine:.3f}<extra></extra>",
            yaxis=axis,
        )
    made.add_annotation(
        text=f"<b>{label(side.model)}</b><br>{_said(side)}",
        align="left",
        showarrow=False,
        x=0,
        xref="paper",
        xanchor="left",
        xshift=13,
        y=1,
        yref=f"{axis} domain",
        yanchor="bottom",
        yshift=2,
    )
    # The bar that the page's headings have in this colour.
    made.add_shape(
        type="rect",
        fillcolor=colour,
        line_width=0,
        xref="paper",
        xsizemode="pixel",
        xanchor=0,
        x0=2,
        x1=8,
        yref=f"{axis} domain",
        ysizemode="pixel",
        yanchor=1,
        y0=4,
        y1=40,
    )
    made.update_layout(
        {
            f"yaxis{axis[1:]}": {
                "domain": [max(domain[0], 0.0), domain[1]],
                "range": [0, 1.25],
                "showgrid": False,
                "showticklabels": False,
                "zeroline": False,
                "fixedrange": True,
            }
        }
    )


def _add_area(
    made: go.Figure,
    places: Values,
    heights: Values,
    cosine: float,
    colour: str,
    axis: str,
) -> None:
    at = float(np.clip(cosine, places[0], places[-1])) if isfinite(cosine) else places[0]
    height = float(np.interp(at, places, heights))
    below, above = places < at, places > at
    for x, y, fill in (
        ([*places[below], at], [*heights[below], height], "80"),
        ([at, *places[above]], [height, *heights[above]], "26"),
    ):
        made.add_scatter(
            x=plain(np.array(x)),
            y=plain(np.array(y)),
            mode="lines",
            line={"color": colour, "width": 1.5},
            fill="tozeroy",
            fillcolor=f"{colour}{fill}",
            hoverinfo="skip",
            yaxis=axis,
        )


def _curve(side: PairSide) -> tuple[Values, Values]:
    """Places and heights up to 1, both empty where there are none."""
    places, heights = (array(one) for one in side.density or ((), ()))
    # A smoothed density has tails where no cosine can be.
    kept = (np.abs(places) <= 1) & np.isfinite(heights)
    return places[kept], heights[kept] / (np.max(heights[kept], initial=0.0) or 1.0)


def _range(sides: Sequence[PairSide]) -> list[float]:
    places = [side.cosine for side in sides]
    for side in sides:
        places += _curve(side)[0].tolist()
    known = [float(place) for place in places if isfinite(place)] or [0.0, 1.0]
    return [min(known) - 0.03, max(known) + 0.03]


def _said(side: PairSide) -> str:
    cosine = f"{side.cosine:.2f}" if isfinite(side.cosine) else "not known"
    if side.percentile is None or not isfinite(side.percentile):
        return f"{cosine}, not measured on graded pairs"
    return f"{cosine}, higher than {side.percentile:.0f} % of graded pairs"
