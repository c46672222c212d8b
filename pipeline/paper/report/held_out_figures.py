"""Section 3.2's figures of encoders on held-out sentences, from what `pipeline.measure` wrote.

Each takes groups of encoders: label -> measurements, one a seed. Not here: figures over training
steps (dynamics_figures.py).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.paper.figure import Exhibit
from pipeline.paper.report.measured import conditions, settings_of
from pipeline.paper.report.over_seeds import Curve
from pipeline.paper.rounding import rounded
from pipeline.results.figures import line, panels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes

    from pipeline.paper.report.measured import Group, Measurement

SIGNS = {"positive": "-", "negative": "--"}
SHARES = {"weight_share": "weight of the hardest negative", "push_share": "its push, projected"}
_LEGEND: dict[str, Any] = {"fontsize": "small", "frameon": False}


def cosine_density(
    with_dissipation: Group, without_dissipation: Group, untrained: Group
) -> Exhibit:
    """Conjecture 1: dissipation decides how far apart positives and negatives end up."""
    groups = {
        "untrained": untrained,
        "without dissipation": without_dissipation,
        "with dissipation": with_dissipation,
    }
    settings = settings_of(groups)
    figure, axes = panels(len(groups), sharex=True)
    data = {
        name: _density_panel(ax, name, group)
        for ax, (name, group) in zip(axes[0], groups.items(), strict=True)
    }
    axes[0, 0].set_ylabel("density, per unit of cosine")
    axes[0, 0].set_xlim(right=1)
    caption = (
        "Density of cosines between a sentence's two views (positives: solid, filled markers) and "
        "between different sentences (negatives: dashed, hollow markers). Horizontal: cosine, "
        "from -1 to 1; vertical: density, of area 1 a line. The legend gives the mean gap between "
        f"the two. {conditions(settings)}"
    )
    return Exhibit(
        "cosine_density", "Cosines of positives and negatives", caption, settings, data, figure
    )


def _density_panel(axes: Axes, name: str, group: Group) -> dict[str, Any]:
    data = {}
    for index, (label, measurements) in enumerate(group.items()):
        x = _points(measurements[0]["cosines"]["grid"])
        gaps = Curve.of([[one["cosines"]["gap"]["mean"]] for one in measurements])
        curves = {
            sign: Curve.of([one["cosines"]["density"][sign] for one in measurements])
            for sign in SIGNS
        }
        for sign, curve in curves.items():
            style = line(index) | {"linestyle": SIGNS[sign]}
            style |= {} if sign == "positive" else {"markerfacecolor": "none"}
            text = f"{label}: gap {gaps.mean[0]:.2f}" if sign == "positive" else None
            curve.without_tails().draw_with_band(axes, x, label=text, **style)
        data[label] = {sign: curve.as_dict() for sign, curve in curves.items()}
        data[label] |= {"cosine": rounded(x), "gap": gaps.as_dict()}
    axes.set(title=name, xlabel="cosine", ylim=(0, None))
    axes.grid(alpha=0.3)
    for sign, linestyle in SIGNS.items():
        axes.plot([], [], color="0.5", linestyle=linestyle, label=f"{sign}s")
    axes.legend(loc="upper left", **_LEGEND)
    return data


def hardest_share(untrained: Group, trained: Group) -> Exhibit:
    """Conjecture 2: temperature decides how much of an anchor's push its hardest negative has."""
    groups = {"untrained": untrained, "trained": trained}
    settings = settings_of(groups)
    lines = _lines(groups)
    uniform = next(iter(lines.values()))[0]["hardest_share"]["uniform"]
    figure, axes = panels(len(SHARES), sharex=True, sharey=True)
    for ax, (share, title) in zip(axes[0], SHARES.items(), strict=True):
        _share_panel(ax, lines, share, uniform)
        ax.set_title(title)
    axes[0, 0].set_ylabel("mean share over open anchors")
    axes[0, -1].legend(**_LEGEND)
    caption = (
        "Share of an anchor's hardest negative among all its negatives, before and after training. "
        "Left: largest softmax weight of an anchor; right: projection of the hardest negative's "
        "push on the sum of all pushes (without their parts along the anchor), as a share of it. "
        "Horizontal: temperature t of the softmax, on a logarithmic axis; vertical: mean share "
        "over open anchors, from 0 to 1; dotted: all negatives alike. The data hold the means "
        f"over all anchors too. {conditions(settings)}"
    )
    data = {"uniform": uniform, **_by_label(groups, _share_data)}
    title = "Share of the hardest negative"
    return Exhibit("hardest_share", title, caption, settings, data, figure)


def _share_panel(axes: Axes, lines: Group, share: str, uniform: float) -> None:
    for index, (label, measurements) in enumerate(lines.items()):
        curve, temperatures = _shares(measurements, "open", share)
        curve.draw_with_band(axes, temperatures, label=label, **line(index))
    alike = f"1/{round(1 / uniform)}: all alike"
    axes.axhline(uniform, color="black", linewidth=0.8, linestyle=":", label=alike)
    axes.set(xlabel="temperature t, divides the cosine", xscale="log", ylim=(0, 1))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.grid(alpha=0.3)


def _shares(
    measurements: Sequence[Measurement], anchors: str, share: str
) -> tuple[Curve, list[float]]:
    rows = [one["hardest_share"]["by_temperature"] for one in measurements]
    temperatures = [row["temperature"] for row in rows[0]]
    return Curve.of([[row[anchors][share] for row in of_seed] for of_seed in rows]), temperatures


def _share_data(measurements: Sequence[Measurement]) -> dict[str, Any]:
    names = measurements[0]["hardest_share"]["by_temperature"][0]["open"]
    opened = Curve.of([[one["hardest_share"]["open_share"]] for one in measurements])
    return {
        "temperature": _shares(measurements, "open", "weight_share")[1],
        "open_share": opened.as_dict(),
        **{
            anchors: {name: _shares(measurements, anchors, name)[0].as_dict() for name in names}
            for anchors in ("open", "all")
        },
    }


def minimum_ratio(untrained: Group, trained: Group) -> Exhibit:
    """Conjecture 3: how strong the pull must be for a step to bring anchor and positive nearer."""
    groups = {"untrained": untrained, "trained": trained}
    settings = settings_of(groups)
    lines = _lines(groups)
    columns = min(len(lines), 3)
    figure, axes = panels(columns, math.ceil(len(lines) / columns), sharex=True, sharey=True)
    for ax in axes.flat[len(lines) :]:
        ax.set_visible(False)
    for ax, (label, measurements) in zip(axes.flat, lines.items(), strict=False):
        _ratio_panel(ax, label, measurements)
    for row in axes:
        row[0].set_ylabel("density, per unit of ratio")
    axes[0, 0].set_ylim(0, 1.4 * axes[0, 0].get_ylim()[1])  # room for the legends
    caption = (
        "Smallest ratio r of pull to push with which a step of length lambda brings an open anchor "
        "nearer to its positive (Lemma 1; hardest negative only). Horizontal: r, without unit, "
        "dotted at 1; vertical: density; a line's area is the share of open anchors for which "
        "some r serves. The legend gives the shares that need r above 1 and that no r serves. "
        f"{conditions(settings)}"
    )
    data = _by_label(groups, _ratio_data)
    return Exhibit("minimum_ratio", "Smallest ratio that serves", caption, settings, data, figure)


def _ratio_panel(axes: Axes, label: str, measurements: Sequence[Measurement]) -> None:
    x = _points(measurements[0]["minimum_ratio"]["grid"])
    for index, one in enumerate(_ratio_data(measurements)["by_step"]):
        above, without = one["share_above_one"]["mean"][0], one["share_undefined"]["mean"][0]
        text = f"$\\lambda$ = {one['step']:g}: {_percent(above)} above 1, {_percent(without)} none"
        curve = _ratio_density(measurements, index)
        curve.without_tails().draw_with_band(axes, x, label=text, **line(index))
    axes.axvline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set(title=label, xlabel="smallest ratio r")
    axes.grid(alpha=0.3)
    axes.legend(loc="upper right", **_LEGEND)


def _ratio_data(measurements: Sequence[Measurement]) -> dict[str, Any]:
    """Means over seeds at each step length."""
    first = measurements[0]["minimum_ratio"]
    by_step = []
    for index, row in enumerate(first["by_step"]):
        rows = [one["minimum_ratio"]["by_step"][index] for one in measurements]
        shares = {
            name: Curve.of([[one[name]] for one in rows]).as_dict()
            for name in ("share_above_one", "share_undefined")
        }
        density = _ratio_density(measurements, index).as_dict()
        by_step.append({"step": row["step"], **shares, "area_density": density})
    return {"ratio": rounded(_points(first["grid"])), "by_step": by_step}


def _ratio_density(measurements: Sequence[Measurement], index: int) -> Curve:
    """Density times the share of open anchors for which some ratio serves."""
    scaled = []
    for one in measurements:
        row, points = one["minimum_ratio"]["by_step"][index], one["minimum_ratio"]["grid"]["points"]
        density, without = row["density"], row["share_undefined"]
        if density is None:  # no anchor is open, or none is served
            scaled.append([None if without is None else 0.0] * points)
        else:
            scaled.append([value * (1 - without) for value in density])
    return Curve.of(scaled)


def _lines(groups: dict[str, Group]) -> dict[str, Sequence[Measurement]]:
    """All encoders in one row; one that was not trained says so."""
    return {
        (f"{label}, untrained" if name == "untrained" else label): measurements
        for name, group in groups.items()
        for label, measurements in group.items()
    }


def _by_label(
    groups: dict[str, Group], data: Callable[[Sequence[Measurement]], dict[str, Any]]
) -> dict[str, Any]:
    return {
        name: {label: data(measurements) for label, measurements in group.items()}
        for name, group in groups.items()
    }


def _points(grid: Measurement) -> list[float]:
    points: list[float] = np.linspace(grid["start"], grid["stop"], grid["points"]).tolist()
    return points


def _percent(share: float | None) -> str:
    return "undefined" if share is None else f"{share:.0%}"
