"""Figures of the simulation: dissipation, the hardest negative's share, ratio."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import LogNorm, Normalize

from pipeline.paper.figure import Figure, explained
from pipeline.paper.simulation.draws import Draws, negative_means, positive_means
from pipeline.paper.simulation.numbers import LEAST_DISSIPATION
from pipeline.results.figures import GRID_COLOURS, NOT_VISITED, line, panels

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib import figure
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage
    from numpy.typing import NDArray

    from pipeline.config.schema import SimulationParams
    from pipeline.objectives import Objective
    from pipeline.paper.simulation.draws import Reals
    from pipeline.paper.simulation.numbers import AtMeans, Estimate, Shares

    Objectives = Mapping[str, Objective]

POSITIVE_LABEL = "mean angle to the positive (rad)"
NEGATIVE_LABEL = "mean angle to the negatives (rad)"
EIGHTHS = {1: "π/8", 2: "π/4", 3: "3π/8", 4: "π/2"}
QUARTERS = {2: "π/4", 4: "π/2", 6: "3π/4", 8: "π"}
# Of a map's lines: what is closed, half open and open.
LEVELS = {0.01: ("white", ":"), 0.5: ("white", "-"), 0.99: ("black", "--")}
OUTERMOST = (0.05, 0.95)  # quantiles at which colours of ratios of both signs end
_COLUMNS = 4  # panels in a row


def dissipation_figure(
    estimates: Mapping[str, Estimate], objectives: Objectives, params: SimulationParams
) -> Figure:
    """Mean dissipation, a panel for each objective, one colour scale."""
    picture, panels_by_name = _map_panels(list(estimates))
    for name, estimate in estimates.items():
        image = _draw_map(panels_by_name[name], estimate.mean, Normalize(0, 1))
        for level, (colour, style) in LEVELS.items():
            if estimate.mean.min() < level < estimate.mean.max():
                panels_by_name[name].contour(
                    *_axes(params.grid),
                    estimate.mean,
                    levels=[level],
                    colors=colour,
                    linestyles=style,
                    linewidths=1,
                )
        panels_by_name[name].set_title(name)
    picture.colorbar(image, ax=list(panels_by_name.values()), label="mean dissipation", pad=0.02)
    return explained(
        "dissipation",
        picture,
        _settings(params) | _hyperparameters(objectives),
        {
            **_grid_data(params),
            "mean": {name: estimate.mean for name, estimate in estimates.items()},
            "standard_error": {
                name: estimate.standard_error for name, estimate in estimates.items()
            },
        },
        macro="simulated_dissipation",
    )


def share_figure(shares: Shares, params: SimulationParams) -> Figure:
    """The hardest negative's share: all batches, and only those that still move."""
    picture, axes = panels(2, sharey=True)
    angles = negative_means(params.grid)
    titles = {
        "all batches": shares.all_batches,
        f"batches with dissipation ≥ {LEAST_DISSIPATION:g}": shares.open_batches,
    }
    for panel, (title, values) in zip(axes[0], titles.items(), strict=True):
        for index, temperature in enumerate(params.temperatures):
            label, stride = f"t = {temperature:g}", max(1, params.grid // 12)
            panel.plot(angles, values[index], label=label, markevery=stride, **line(index))
        angle_ticks(panel.xaxis, QUARTERS)
        panel.set(title=title, xlabel=NEGATIVE_LABEL, xlim=(0, math.pi), ylim=(0, 1))
        panel.grid(alpha=0.3)
    axes[0, 0].set_ylabel("share of the hardest negative")
    named = axes[0, 0].get_legend_handles_labels()
    picture.legend(*named, loc="outside right center", frameon=False)
    return explained(
        "hardest_share",
        picture,
        _settings(params),
        {"negative_mean": angles, "temperatures": params.temperatures, **shares._asdict()},
        macro="simulated_hardest_share",
        least_dissipation=LEAST_DISSIPATION,
    )


def ratio_figure(
    at_means: Mapping[str, AtMeans], objectives: Objectives, params: SimulationParams
) -> Figure:
    """The ratio at the means, a panel for each objective whose ratio varies (all if none does)."""
    constant = {name: ratios for name, ratios in at_means.items() if ratios.is_constant}
    varying = {name: ratios for name, ratios in at_means.items() if name not in constant}
    return explained(
        "ratio",
        _draw_ratios(varying or constant),
        _settings(params) | _hyperparameters(objectives),
        {
            **_grid_data(params),
            "constant": {name: ratios.ratio.mean() for name, ratios in constant.items()},
            "ratio": {name: ratios.ratio for name, ratios in varying.items()},
            "unvisited": {
                name: (1 * ratios.unvisited).tolist() for name, ratios in varying.items()
            },
        },
        macro="simulated_ratio",
        least_dissipation=LEAST_DISSIPATION,
    )


def _draw_ratios(at_means: Mapping[str, AtMeans]) -> figure.Figure:
    picture, panels_by_name = _map_panels(list(at_means))
    for name, ratios in at_means.items():
        norm, ticks = _ratio_scale(ratios)
        image = _draw_map(panels_by_name[name], ratios.ratio, norm)
        bar = picture.colorbar(image, ax=panels_by_name[name], extend="both", label="ratio")
        bar.set_ticks(ticks, labels=[f"{tick:.2g}" for tick in ticks])
        bar.ax.minorticks_off()
        _hatch(panels_by_name[name], ratios.unvisited)
        panels_by_name[name].set_title(name)
    return picture


def _ratio_scale(ratios: AtMeans) -> tuple[Normalize, list[float]]:
    """A scale that ends where what training visits ends, and five ticks on it."""
    visited = ratios.ratio if ratios.unvisited.all() else ratios.ratio[~ratios.unvisited]
    low, high = float(visited.min()), float(visited.max())
    if low == high:
        return Normalize(low - 1, high + 1), [low]
    if low > 0:
        return LogNorm(low, high), np.geomspace(low, high, 5).tolist()
    # A ratio that changes its sign divides by what passes through zero.
    low, high = np.quantile(visited, OUTERMOST).tolist()
    return Normalize(low, high), np.linspace(low, high, 5).tolist()


def _map_panels(names: list[str]) -> tuple[figure.Figure, dict[str, Axes]]:
    """Panels for maps over the grid, at most `_COLUMNS` in a row."""
    columns = min(len(names), _COLUMNS)
    rows = math.ceil(len(names) / columns)
    picture, axes = panels(columns, rows, width=3.4, height=3.4, sharex=True, sharey=True)
    panels_by_name = dict(zip(names, axes.ravel(), strict=False))
    for empty in axes.ravel()[len(names) :]:
        empty.set_visible(False)
    for lowest in axes.ravel()[max(0, len(names) - columns) : len(names)]:
        lowest.tick_params(labelbottom=True)
    picture.supxlabel(POSITIVE_LABEL, fontsize="medium")
    picture.supylabel(NEGATIVE_LABEL, fontsize="medium")
    return picture, panels_by_name


def _draw_map(panel: Axes, values: Reals, norm: Normalize) -> AxesImage:
    """Values over the grid, each a cell around its point."""
    positive, negative = _axes(len(values))
    image = panel.imshow(
        values,
        cmap=GRID_COLOURS,
        norm=norm,
        origin="lower",
        aspect="auto",
        interpolation="nearest",
        extent=(*_ends(positive), *_ends(negative)),
    )
    angle_ticks(panel.xaxis, EIGHTHS)
    angle_ticks(panel.yaxis, QUARTERS)
    return image


def _hatch(panel: Axes, region: NDArray[np.bool_]) -> None:
    """Veil and hatch where the region is true."""
    if not region.any():
        return
    veil = panel.contourf(
        *(np.insert(_ends(points), 1, points) for points in _axes(len(region))),
        np.pad(region.astype(float), 1, mode="edge"),
        levels=[0.5, 1.5],
        colors=[(1, 1, 1, 0.6)],
        hatches=[NOT_VISITED],
    )
    veil.set(edgecolor=(0, 0, 0, 0.45), linewidth=0)  # the hatching has the edges' colour


def angle_ticks(axis: Any, eighths: Mapping[int, str]) -> None:
    """Multiples of pi / 8 on an axis that is in radians."""
    axis.set_ticks([count * math.pi / 8 for count in eighths], list(eighths.values()))


def _axes(grid: int) -> tuple[Reals, Reals]:
    return positive_means(grid), negative_means(grid)


def _ends(points: Reals) -> tuple[float, float]:
    """Of the outer points' cells."""
    half = (points[1] - points[0]) / 2
    return points[0] - half, points[-1] + half


def _settings(params: SimulationParams) -> dict[str, Any]:
    return params.model_dump() | {"batches_drawn": Draws.count(params)}


def _hyperparameters(objectives: Objectives) -> dict[str, Any]:
    by_name = {
        name: objective.hyperparameters.model_dump() for name, objective in objectives.items()
    }
    return {"hyperparameters": by_name}


def _grid_data(params: SimulationParams) -> dict[str, Any]:
    positive, negative = _axes(params.grid)
    return {"columns_positive_mean": positive, "rows_negative_mean": negative}
