"""A square map of numbers of pairs of sentences, whose hover texts show both."""

from collections.abc import Mapping, Sequence
from typing import Any

import plotly.graph_objects as go

from app.charts.style import label, names, plain
from app.statistics import Values

HEIGHT = 470  # pixels
_BAR = 290  # pixels, the length of the colours' bar
_TICKS = 8  # about so many numbers on a side


def add_heatmap(
    made: go.Figure,
    values: Values,
    sentences: Sequence[str],
    titles: tuple[str, str],
    unit: str,
    colours: Mapping[str, Any],
    told: Sequence[Sequence[str]] | None = None,
) -> None:
    """Draw a map on an empty figure.

    Args:
        made: the figure.
        values: (N, N) that decide the colours; nan stays empty.
        sentences: N.
        titles: what rows and columns are.
        unit: what the numbers are.
        colours: scale and limits as Plotly's heatmap takes them, with `colorbar` what is special.
        told: (N, N) numbers as the hover texts give them, where they are not the values.
    """
    said, places = names(sentences), list(range(1, len(sentences) + 1))
    listed = plain(values)
    texts = told or [["" if one is None else f"{one:.3f}" for one in row] for row in listed]
    made.add_heatmap(
        x=places,
        y=places,
        z=listed,
        customdata=[
            [[said[row], said[column], texts[row][column]] for column in range(len(said))]
            for row in range(len(said))
        ],
        hovertemplate=(
            f"{titles[0]} %{{y}}: %{{customdata[0]}}<br>{titles[1]} %{{x}}: %{{customdata[1]}}"
            f"<br><b>{unit} %{{customdata[2]}}</b><extra></extra>"
        ),
        hoverongaps=False,
        xgap=1,
        ygap=1,
        **{
            **colours,
            "colorbar": {
                # Above the map: beside it, it would take a third of a phone's width.
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1,
                "yanchor": "bottom",
                "lenmode": "pixels",
                "len": _BAR,
                "thickness": 10,
                "outlinewidth": 0,
                "tickangle": 0,
                "title": {"text": unit, "side": "top"},
                **colours.get("colorbar", {}),
            },
        },
    )
    every = max(1, -(-len(said) // _TICKS))
    axis = {
        "tickmode": "array",
        "tickvals": places[::every],
        "showgrid": False,
        "constrain": "domain",
        "range": [0.5, len(said) + 0.5],
    }
    made.update_layout(
        margin={"t": 6, "b": 6},
        xaxis={
            **axis,
            "constraintoward": "left",
            "title": {"text": label(titles[1]), "standoff": 8},
        },
        yaxis={
            **axis,
            "title": {"text": label(titles[0]), "standoff": 8},
            "range": [len(said) + 0.5, 0.5],
            "scaleanchor": "x",
        },
    )
