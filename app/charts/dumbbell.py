"""Marks before and after with a line between them, one row for each anchor."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.charts.style import plain
from app.statistics import Values

_DENSE = 16  # rows above which marks are small


def add_dumbbells(
    made: go.Figure,
    kind: str,
    cosines: tuple[Values, Values],
    look: tuple[str, str],
    said: Sequence[str],
) -> None:
    """Draw them on a figure.

    Args:
        made: the figure.
        kind: whom the cosines are with.
        cosines: (N,) before, drawn hollow, and (N,) after, drawn filled.
        look: colour and symbol.
        said: N hover texts.
    """
    colour, symbol = look
    places = list(range(1, len(said) + 1))
    # The third of each three parts an anchor's line from the next one's.
    ends = np.stack([*cosines, np.full(len(said), np.nan)], axis=1)
    made.add_scatter(
        x=plain(ends.ravel()),
        y=[place for place in places for _ in range(3)],
        mode="lines",
        line={"color": colour, "width": 2.5},
        opacity=0.6,
        hoverinfo="skip",
        showlegend=False,
    )
    for when, values, hollow in zip(("before", "after"), cosines, ("-open", ""), strict=True):
        made.add_scatter(
            x=plain(values),
            y=places,
            mode="markers",
            name=kind,
            showlegend=not hollow,
            marker={
                "color": colour,
                "size": 9 if len(said) <= _DENSE else 7,
                "symbol": symbol + hollow,
                "line": {"color": colour, "width": 1.5},
            },
            customdata=list(said),
            hovertemplate=f"anchor %{{y}}: %{{customdata}}<br><b>cosine to the {kind} {when} "
            "%{x:.3f}</b><extra></extra>",
        )
