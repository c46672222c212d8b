"""One pair of sentences on each encoder's own distribution of cosines."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from app.charts.style import COLOURS, figure

_PANEL = 130  # pixels


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
    """A panel for each encoder, one above the other, on one axis of cosines."""
    told = " ".join(f"{side.model}: cosine {_said(side)}." for side in sides)
    made = figure(
        f"Where the pair stands among each encoder's graded pairs. {told}",
        "pair",
        60 + _PANEL * len(sides),
    )
    made.update_layout(
        grid={"rows": len(sides), "columns": 1, "ygap": 0.35},
        showlegend=False,
        margin={"t": 26},
    )
    for place, side in enumerate(sides):
        _panel(made, side, place, last=place == len(sides) - 1)
    return made


def _panel(made: go.Figure, side: PairSide, place: int, *, last: bool) -> None:
    colour, axis = COLOURS[place % 2], "" if place == 0 else str(place + 1)
    top = 1.0
    if side.density is not None:
        places, heights = side.density
        top = max(heights, default=0.0) or 1.0
        made.add_scatter(
            x=list(places),
            y=[height / top for height in heights],
            mode="lines",
            line={"color": colour, "width": 2},
            fill="tozeroy",
            fillcolor=f"{colour}40",
            hoverinfo="skip",
            xaxis="x",
            yaxis=f"y{axis}",
        )
    made.add_scatter(
        x=[side.cosine, side.cosine],
        y=[0, 1.1],
        mode="lines+markers",
        line={"color": colour, "width": 4},
        marker={"size": [0, 11], "color": colour},
        hovertemplate=f"cosine {side.cosine:.3f}<extra></extra>",
        xaxis="x",
        yaxis=f"y{axis}",
    )
    made.add_annotation(
        text=f"{side.model}: {_said(side)}".replace("<", "&lt;"),
        x=0,
        xref="paper",
        xanchor="left",
        y=1.0,
        yref=f"y{axis} domain",
        yanchor="bottom",
        showarrow=False,
    )
    hidden = {"showgrid": False, "showticklabels": False, "range": [0, 1.2], "fixedrange": True}
    made.update_layout({f"yaxis{axis}": {**hidden, "zeroline": False}})
    if last:
        made.update_layout(
            xaxis={
                "title": {"text": "cosine; height: share of graded pairs"},
                "anchor": f"y{axis}",
                "range": _range(made),
            }
        )


def _range(made: go.Figure) -> list[float]:
    places = [float(x) for trace in made.data for x in trace.x]
    return [min(places) - 0.02, min(max(places), 1.0) + 0.03]


def _said(side: PairSide) -> str:
    if side.percentile is None:
        return f"{side.cosine:.2f}, not measured on graded pairs"
    return f"{side.cosine:.2f}, higher than {side.percentile:.0f} % of graded pairs"
