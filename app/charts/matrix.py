"""All sentences with all: similarity maps on one scale, and their difference."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.charts.heatmap import HEIGHT, add_heatmap
from app.charts.style import DIVERGING, SEQUENTIAL, figure, nothing
from app.statistics import Values


def similarity_map(
    cosines: Values, sentences: Sequence[str], low: float, high: float, model: str
) -> go.Figure:
    """Cosines (N, N) of sentences by one encoder, from `low` to `high` in colour."""
    count = len(sentences)
    if not count:
        return nothing("There is no sentence to show.", f"similarity-{model}")
    off = np.asarray(cosines)[~np.eye(count, dtype=bool)]
    between = f"; two different ones have {off.mean():.2f} on average" if len(off) else ""
    made = figure(
        f"Cosines of {count} sentences by {model}, from {np.min(cosines):.2f} to "
        f"{np.max(cosines):.2f}{between}.",
        f"similarity-{model}",
        HEIGHT,
    )
    colours = {"colorscale": SEQUENTIAL, "zmin": low, "zmax": high}
    add_heatmap(made, cosines, sentences, ("sentence", "sentence"), "cosine", colours)
    return made


def difference_map(difference: Values, sentences: Sequence[str], name: str) -> go.Figure:
    """Differences (N, N) of two encoders' cosines, white where there is none."""
    if not len(sentences):
        return nothing("There is no sentence to show.", name)
    limit = max(float(np.abs(difference).max()), 0.01)
    row, column = np.unravel_index(np.abs(difference).argmax(), np.shape(difference))
    made = figure(
        f"Differences of the two encoders' cosines of {len(sentences)} sentences, at most "
        f"{np.abs(difference).max():.2f}, for sentences {row + 1} and {column + 1}.",
        name,
        HEIGHT,
    )
    colours = {"colorscale": DIVERGING, "zmin": -limit, "zmax": limit}
    add_heatmap(made, difference, sentences, ("sentence", "sentence"), "difference", colours)
    return made
