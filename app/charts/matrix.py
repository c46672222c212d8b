"""All sentences with all: similarity maps on one scale, and their difference."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.charts.heatmap import HEIGHT, add_heatmap
from app.charts.style import BETWEEN, SEQUENTIAL, array, figure, mean, nothing, plain, unknown
from app.statistics import Values

_NOTHING = "There is no sentence to show."
_TITLES = ("sentence", "sentence")
# Differences below this are not blown up to the strongest colours.
_LEAST = 0.05


def similarity_map(
    cosines: Values, sentences: Sequence[str], low: float, high: float, model: str
) -> go.Figure:
    """Cosines (N, N) of sentences by one encoder.

    Args:
        cosines: (N, N).
        sentences: N.
        low: cosine of the darkest colour.
        high: cosine of the lightest; give all maps that stand side by side the same two.
        model: the encoder's id.
    """
    name, count = f"similarity-{model}", len(sentences)
    if not count:
        return nothing(_NOTHING, name)
    values = array(cosines)
    off = values[~np.eye(count, dtype=bool)]
    made = figure(
        f"Cosines of {count} sentences by {model}{_span(values)}; two different sentences have "
        f"{mean(off)} on average.{unknown({'the cosines': values})}",
        name,
        HEIGHT,
    )
    # Equal limits, or unknown ones, would leave the scale to Plotly.
    limits = (low, high) if low < high else (high - _LEAST, high)
    colours = {"colorscale": SEQUENTIAL, "zmin": limits[0], "zmax": limits[1]}
    add_heatmap(made, values, sentences, _TITLES, "cosine", colours)
    return made


def difference_map(difference: Values, sentences: Sequence[str], name: str) -> go.Figure:
    """Differences of two encoders' cosines: the second's minus the first's.

    Cells have the colour of the encoder that finds the two sentences more alike.

    Args:
        difference: (N, N).
        sentences: N.
        name: of the file when it is saved.
    """
    if not len(sentences):
        return nothing(_NOTHING, name)
    values = array(difference)
    size = np.abs(values)
    most = float(np.nanmax(size, initial=0.0))
    where = ""
    if most > 0:
        row, column = np.unravel_index(np.nanargmax(size), size.shape)
        where = f", for sentences {row + 1} and {column + 1}: {values[row, column]:+.2f}"
    made = figure(
        f"Differences of the cosines of {len(sentences)} sentences, second encoder minus first; "
        f"{mean(size)} in size on average, largest{where or ' 0'}."
        f"{unknown({'the differences': values})}",
        name,
        HEIGHT,
    )
    limit = max(most, _LEAST)
    colours = {
        "colorscale": BETWEEN,
        "zmin": -limit,
        "zmax": limit,
        "colorbar": {
            "tickmode": "array",
            "tickvals": plain(np.array([-limit, 0.0, limit])),
            "ticktext": [f"{-limit:.2g}", "0", f"+{limit:.2g}"],
        },
    }
    told = [["" if np.isnan(one) else f"{one:+.3f}" for one in row] for row in values]
    add_heatmap(made, values, sentences, _TITLES, "second - first", colours, told)
    return made


def _span(values: Values) -> str:
    known = values[np.isfinite(values)]
    return f", from {known.min():.2f} to {known.max():.2f}" if len(known) else ""
