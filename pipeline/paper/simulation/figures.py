"""Exhibits of the simulation: dissipation, the hardest negative's share, ratio."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from pipeline.paper.figure import Exhibit
from pipeline.paper.rounding import rounded
from pipeline.paper.simulation.angle_axes import (
    NEGATIVE_LABEL,
    QUARTERS,
    angle_ticks,
    draw_lines,
    draw_map,
    hatch,
    map_panels,
)
from pipeline.paper.simulation.draws import Draws, negative_means, positive_means
from pipeline.paper.simulation.numbers import LEAST_DISSIPATION
from pipeline.results.figures import line, panels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.figure import Figure

    from pipeline.config.schema import SimulationParams
    from pipeline.objectives import Objective
    from pipeline.paper.simulation.numbers import AtMeans, Estimate, Shares

    Objectives = Mapping[str, Objective]


OUTERMOST = (0.05, 0.95)  # quantiles at which colours of ratios of both signs end


def dissipation_exhibit(
    estimates: Mapping[str, Estimate], objectives: Objectives, params: SimulationParams
) -> Exhibit:
    """Mean dissipation, a panel for each objective, one colour scale."""
    figure, drawn = map_panels(list(estimates))
    for name, one in estimates.items():
        image = draw_map(drawn[name], one.mean, params.grid, Normalize(0, 1))
        draw_lines(drawn[name], one.mean, params.grid)
        drawn[name].set_title(name)
    figure.colorbar(image, ax=list(drawn.values()), label="mean dissipation", pad=0.02)
    means = {name: rounded(one.mean) for name, one in estimates.items()}
    errors = {name: rounded(one.standard_error) for name, one in estimates.items()}
    return Exhibit(
        name="dissipation",
        title="Mean dissipation over random angles",
        caption=(
            "Mean of the gradient's dissipation over simulated batches, for each objective. "
            f"{_axes_words(params)} Colours run from 0 (dark) to 1 (bright); lines stand at 0.01 "
            f"(dotted), 0.5 (solid) and 0.99 (dashed). {_draws_words(params)}"
        ),
        settings=_settings(params, objectives),
        data={**_grid_data(params), "mean": means, "standard_error": errors},
        figure=figure,
    )


def share_exhibit(shares: Shares, params: SimulationParams) -> Exhibit:
    """The hardest negative's share: all batches, and only those that still move."""
    return Exhibit(
        name="hardest_share",
        title="Share of the hardest negative in InfoNCE's weight",
        caption=(
            "Mean share of the hardest negative in the sum of an anchor's weights, max |w| / "
            "sum |w|, against the negatives' mean angle in radians, for temperatures t. Left: all "
            "batches; the share then does not depend on the positives. Right: only batches whose "
            f"dissipation is at least {LEAST_DISSIPATION:g} at the same t, as in the authors' "
            "code; a line ends where none is left, after points of few batches (the data count "
            f"them). The mean angle to the positive is {params.positive_mean:.4g} rad. "
            f"Equal weights would give {1 / params.negatives:.3g}. {_draws_words(params)}"
        ),
        settings=_settings(params, {}),
        data={
            "negative_mean": rounded(negative_means(params.grid)),
            "temperatures": rounded(params.temperatures),
            "all_batches": rounded(shares.every),
            "open_batches": rounded(shares.open),
            "open_batches_count": shares.open_batches.tolist(),
        },
        figure=_draw_shares(shares, params),
    )


def _draw_shares(shares: Shares, params: SimulationParams) -> Figure:
    figure, axes = panels(2, sharey=True)
    angles = negative_means(params.grid)
    every = max(1, params.grid // 12)
    titles = ("all batches", f"batches with dissipation ≥ {LEAST_DISSIPATION:g}")
    for panel, values, title in zip(axes[0], (shares.every, shares.open), titles, strict=True):
        for index, temperature in enumerate(params.temperatures):
            label = f"t = {temperature:g}"
            panel.plot(angles, values[index], label=label, markevery=every, **line(index))
        angle_ticks(panel.xaxis, QUARTERS)
        panel.set(title=title, xlabel=NEGATIVE_LABEL, xlim=(0, math.pi), ylim=(0, 1))
        panel.grid(alpha=0.3)
    axes[0, 0].set_ylabel("share of the hardest negative")
    named = axes[0, 0].get_legend_handles_labels()
    figure.legend(*named, loc="outside right center", frameon=False)
    return figure


def ratio_exhibit(
    at_means: Mapping[str, AtMeans], objectives: Objectives, params: SimulationParams
) -> Exhibit:
    """The ratio at the means, a panel for each objective whose ratio varies (all if none does)."""
    constant = {name: one for name, one in at_means.items() if one.is_constant}
    varying = {name: one for name, one in at_means.items() if name not in constant}
    said = "; ".join(f"{name} {one.ratio.mean():.4g}" for name, one in constant.items())
    return Exhibit(
        name="ratio",
        title="Ratio at exact angles",
        caption=(
            "Ratio of the pull on the positive to the push on a negative, every angle at its "
            f"mean. {_axes_words(params)} Colours are on a log scale that ends at the least and "
            "largest ratio of what training visits (where ratios are negative: linear, without the "
            "outermost twentieths). "
            "Hatched: what it does not visit, that is positives further than negatives, or a "
            f"dissipation below {LEAST_DISSIPATION:g} (a gate of 0) with {params.negatives} equal "
            f"negatives. Constant ratios: {said or 'none'}."
        ),
        settings=_settings(params, objectives),
        data={
            **_grid_data(params),
            "constant": {name: rounded(float(one.ratio.mean())) for name, one in constant.items()},
            "ratio": {name: rounded(one.ratio) for name, one in varying.items()},
            "unvisited": {name: (1 * one.unvisited).tolist() for name, one in varying.items()},
        },
        figure=_draw_ratios(varying or constant, params.grid),
    )


def _draw_ratios(shown: Mapping[str, AtMeans], grid: int) -> Figure:
    figure, drawn = map_panels(list(shown))
    for name, one in shown.items():
        norm, ticks = _ratio_scale(one)
        image = draw_map(drawn[name], one.ratio, grid, norm)
        bar = figure.colorbar(image, ax=drawn[name], extend="both", label="ratio")
        bar.set_ticks(ticks, labels=[f"{tick:.2g}" for tick in ticks])
        bar.ax.minorticks_off()
        hatch(drawn[name], one.unvisited, grid)
        drawn[name].set_title(name)
    return figure


def _ratio_scale(one: AtMeans) -> tuple[Normalize, list[float]]:
    """A scale that ends where what training visits ends, and five ticks on it."""
    visited = one.ratio if one.unvisited.all() else one.ratio[~one.unvisited]
    low, high = float(visited.min()), float(visited.max())
    if low == high:
        return Normalize(low - 1, high + 1), [low]
    if low > 0:
        return LogNorm(low, high), np.geomspace(low, high, 5).tolist()
    # A ratio that changes its sign divides by what passes through zero.
    low, high = np.quantile(visited, OUTERMOST).tolist()
    return Normalize(low, high), np.linspace(low, high, 5).tolist()


def _axes_words(params: SimulationParams) -> str:
    return (
        "Horizontal: mean angle to the positive; vertical: mean angle to the negatives; both in "
        f"radians, from π/20, {params.grid} points a side."
    )


def _draws_words(params: SimulationParams) -> str:
    return (
        "An anchor's angle to its positive is normal with a standard deviation of "
        f"{params.positive_deviation:g} rad, those to its {params.negatives} negatives with "
        f"{params.negative_deviation:g} rad; {Draws.count(params):,} batches at each point, drawn "
        "once for all points."
    )


def _settings(params: SimulationParams, objectives: Objectives) -> dict[str, Any]:
    hyperparameters = {name: one.hyperparameters.model_dump() for name, one in objectives.items()}
    settings = params.model_dump() | {"batches_drawn": Draws.count(params)}
    return settings | ({"hyperparameters": hyperparameters} if objectives else {})


def _grid_data(params: SimulationParams) -> dict[str, Any]:
    return {
        "columns_positive_mean": rounded(positive_means(params.grid)),
        "rows_negative_mean": rounded(negative_means(params.grid)),
    }
