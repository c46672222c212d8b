"""Many pairs: cosines against people's grades, and one encoder's ranks against the other's."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.charts.style import (
    COLOURS,
    NEUTRAL,
    SYMBOLS,
    array,
    figure,
    label,
    nothing,
    plain,
    shown,
    unknown,
)
from app.statistics import Values, ranks

_HEIGHT = 380
_NOTHING = "There is no pair to show."


def gold_chart(
    model: str, place: int, gold: Values, cosines: Values, pairs: Sequence[tuple[str, str]]
) -> go.Figure:
    """Cosine against grade, a point for each pair.

    Args:
        model: the encoder's id.
        place: 0 for the first encoder, 1 for the second.
        gold: (N,) grades.
        cosines: (N,).
        pairs: N pairs of sentences.
    """
    name = f"grades-{model}"
    if not pairs:
        return nothing(_NOTHING, name)
    grades, scores = array(gold), array(cosines)
    made = figure(
        f"Cosine by {model} against the grade by people, {len(pairs):,} pairs: "
        f"grades{_span(grades, 'g')}, cosines{_span(scores, '.2f')}."
        f"{unknown({'the grades': grades, 'the cosines': scores})}",
        name,
        _HEIGHT,
    )
    _add_points(
        made,
        (grades, scores),
        pairs,
        "grade %{x:.4~g}, cosine %{y:.3f}",
        marker={"color": COLOURS[place], "symbol": SYMBOLS[place]},
        showlegend=False,
    )
    made.update_layout(
        margin={"t": 10},
        xaxis={"title": {"text": "grade by people"}},
        yaxis={"title": {"text": f"cosine, {label(model, 30)}"}},
    )
    return made


def agreement_chart(
    models: Sequence[str], first: Values, second: Values, pairs: Sequence[tuple[str, str]]
) -> go.Figure:
    """The second encoder's rank of each pair against the first's, 1 for the most alike.

    A point has the colour of the encoder that puts the pair nearer to the top.

    Args:
        models: both ids.
        first: (N,) cosines of the first encoder.
        second: (N,) cosines of the second.
        pairs: N pairs of sentences.
    """
    if not pairs:
        return nothing(_NOTHING, "ranks")
    scores = {model: array(one) for model, one in zip("ab", (first, second), strict=True)}
    known = np.isfinite(scores["a"]) & np.isfinite(scores["b"])
    x, y = (_ranked(one, known) for one in scores.values())
    apart = np.abs(x - y)[known]
    distance = (
        f"they are {apart.mean():.1f} ranks apart on average, {apart.max():g} at most."
        if len(apart)
        else "none is known."
    )
    missing = dict(zip([f"{model}'s cosines" for model in models], scores.values(), strict=True))
    made = figure(
        f"Ranks of {len(pairs):,} pairs by {models[0]} and {models[1]}; {distance}"
        f"{unknown(missing)}",
        "ranks",
        _HEIGHT,
    )
    ends = [1, max(int(known.sum()), 1)]
    made.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": NEUTRAL, "dash": "dot", "width": 1.5},
        hoverinfo="skip",
        showlegend=False,
    )
    groups = (
        (x < y, COLOURS[0], SYMBOLS[0], f"higher by {label(models[0], 30)}"),
        (x > y, COLOURS[1], SYMBOLS[1], f"higher by {label(models[1], 30)}"),
        (x == y, NEUTRAL, "square", "same rank"),
    )
    for chosen, colour, symbol, name in groups:
        if chosen.any():
            _add_points(
                made,
                (x[chosen], y[chosen]),
                [pair for pair, one in zip(pairs, chosen, strict=True) if one],
                "ranks %{x:.6~g} and %{y:.6~g}",
                marker={"color": colour, "symbol": symbol},
                name=name,
                showlegend=True,
            )
    titles = [f"rank, {label(model, 30)}" for model in models]
    made.update_layout(
        xaxis={"title": {"text": f"{titles[0]} (1: most alike)"}},
        yaxis={"title": {"text": titles[1]}},
    )
    return made


def _add_points(
    made: go.Figure,
    values: tuple[Values, Values],
    pairs: Sequence[tuple[str, str]],
    numbers: str,
    *,
    marker: dict[str, Any],
    **trace: Any,
) -> None:
    made.add_scatter(
        x=plain(values[0]),
        y=plain(values[1]),
        mode="markers",
        marker={"size": 8, "opacity": 0.6, **marker},
        customdata=[[shown(a), shown(b)] for a, b in pairs],
        hovertemplate=f"%{{customdata[0]}}<br>↔ %{{customdata[1]}}<br><b>{numbers}</b>"
        "<extra></extra>",
        **trace,
    )


def _ranked(values: Values, known: Any) -> Values:
    """Ranks of what both encoders know, nan elsewhere."""
    found = np.full(values.shape, np.nan)
    found[known] = ranks(values[known])
    return found


def _span(values: Values, form: str) -> str:
    known = values[np.isfinite(values)]
    return f" {known.min():{form}} to {known.max():{form}}" if len(known) else " unknown"
