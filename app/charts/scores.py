"""Many pairs: cosines against people's grades, and one encoder's ranks against the other's."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from app.charts.style import COLOURS, SYMBOLS, figure, nothing, shown
from app.statistics import Values, ranks

_HEIGHT = 380


def gold_chart(
    model: str, place: int, gold: Values, cosines: Values, pairs: Sequence[tuple[str, str]]
) -> go.Figure:
    """Cosine against grade, a point for each pair.

    Args:
        model: the encoder's id.
        place: 0 for the first encoder, 1 for the second.
        gold: (N,) grades.
        cosines: (N,).
        pairs: the sentences.
    """
    if not pairs:
        return nothing("There is no pair to show.", f"scores-{model}")
    made = figure(
        f"Cosine by {model} against the grade, {len(pairs):,} pairs: grades {np.min(gold):g} to "
        f"{np.max(gold):g}, cosines {np.min(cosines):.2f} to {np.max(cosines):.2f}.",
        f"scores-{model}",
        _HEIGHT,
    )
    _points(made, gold, cosines, pairs, place, "grade %{x:g}, cosine %{y:.3f}")
    made.update_layout(
        xaxis={"title": {"text": "grade by people"}},
        yaxis={"title": {"text": f"cosine by {model}".replace("<", "&lt;")}},
    )
    return made


def agreement_chart(
    models: Sequence[str], first: Values, second: Values, pairs: Sequence[tuple[str, str]]
) -> go.Figure:
    """The second encoder's rank of each pair against the first's, 1 for the most alike.

    Args:
        models: both ids.
        first: (N,) cosines of the first encoder.
        second: (N,) cosines of the second.
        pairs: the sentences.
    """
    if not pairs:
        return nothing("There is no pair to show.", "ranks")
    places = [ranks(first), ranks(second)]
    apart = np.abs(places[0] - places[1])
    made = figure(
        f"Ranks of {len(pairs):,} pairs by {models[0]} and {models[1]}; they are "
        f"{apart.mean():.1f} ranks apart on average, {apart.max():g} at most.",
        "ranks",
        _HEIGHT,
    )
    ends = [1, len(pairs)]
    made.add_scatter(
        x=ends, y=ends, mode="lines", line={"color": "#64748b", "dash": "dot"}, hoverinfo="skip"
    )
    _points(made, places[0], places[1], pairs, 1, "ranks %{x:g} and %{y:g}")
    titles = [f"rank by {model} (1: most alike)".replace("<", "&lt;") for model in models]
    made.update_layout(xaxis={"title": {"text": titles[0]}}, yaxis={"title": {"text": titles[1]}})
    return made


def _points(
    made: go.Figure,
    x: Values,
    y: Values,
    pairs: Sequence[tuple[str, str]],
    place: int,
    numbers: str,
) -> None:
    made.add_scatter(
        x=np.asarray(x).tolist(),
        y=np.asarray(y).tolist(),
        mode="markers",
        marker={"color": COLOURS[place], "symbol": SYMBOLS[place], "size": 8, "opacity": 0.6},
        customdata=[[shown(a), shown(b)] for a, b in pairs],
        hovertemplate=f"%{{customdata[0]}}<br>↔ %{{customdata[1]}}<br>{numbers}<extra></extra>",
    )
    made.update_layout(showlegend=False)
