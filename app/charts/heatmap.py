"""A square map of numbers of pairs of sentences, whose hover texts show both."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.charts.style import shown
from app.statistics import Values

HEIGHT = 420  # pixels


def add_heatmap(
    made: go.Figure,
    values: Values,
    sentences: Sequence[str],
    titles: tuple[str, str],
    unit: str,
    colours: Mapping[str, Any],
) -> None:
    """Draw a map on an empty figure.

    Args:
        made: the figure.
        values: (N, N); what is not finite stays empty.
        sentences: N.
        titles: what rows and columns are.
        unit: what the numbers are.
        colours: scale and limits as Plotly's heatmap takes them.
    """
    said = [shown(sentence) for sentence in sentences]
    numbers = np.asarray(values, float)
    rounded = [
        [round(float(one), 5) if np.isfinite(one) else None for one in row] for row in numbers
    ]
    places = list(range(1, len(said) + 1))
    made.add_heatmap(
        x=places,
        y=places,
        z=rounded,
        customdata=[[[row, column] for column in said] for row in said],
        hovertemplate=(
            "%{y}: %{customdata[0]}<br>%{x}: %{customdata[1]}"
            f"<br><b>{unit} %{{z:.3f}}</b><extra></extra>"
        ),
        hoverongaps=False,
        colorbar={"thickness": 12, "title": {"text": unit, "side": "right"}},
        xgap=1,
        ygap=1,
        **colours,
    )
    ticks = {"tickmode": "linear", "tick0": 1, "dtick": max(1, len(said) // 8), "showgrid": False}
    made.update_layout(
        xaxis={**ticks, "title": {"text": shown(titles[1])}, "constrain": "domain"},
        yaxis={
            **ticks,
            "title": {"text": titles[0]},
            "autorange": "reversed",
            "scaleanchor": "x",
            "constrain": "domain",
        },
    )
