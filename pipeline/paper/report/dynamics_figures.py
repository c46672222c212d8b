"""Section 3.2's figures over training steps, from the tables of `pipeline.train --dynamics`.

Each takes label -> runs, one a seed, of rows with the columns of `training.curves.DYNAMICS` as
numbers, None for an empty field; and what the runs were made with, which the exhibit keeps. Not
here: reading files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pipeline.paper.figure import Exhibit
from pipeline.paper.report.over_seeds import Curve, band
from pipeline.results.figures import line, panels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Run = Sequence[Mapping[str, float | None]]
Runs = Mapping[str, Sequence[Run]]

ANGLES = {"positive": "positives", "negative": "negatives"}
_LEGEND: dict[str, Any] = {"fontsize": "small", "frameon": False}
_HOW = "Measured on each step's own batch, as the objective sees it, under the head."


def dynamic_ratios(runs: Runs, settings: Mapping[str, Any]) -> Exhibit:
    """How ratios that are not fixed, ArcCon's and MET's, move during training."""
    figure, axes, data = _over_steps(runs, "ratio")
    axes.axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes.set_ylabel("mean ratio over open anchors")
    caption = (
        "Ratio of the pull on the positive to the push on the negatives. Horizontal: training "
        "step; vertical: mean over the batch's open anchors, without unit, dotted at 1; nothing "
        f"where no anchor is open. {_HOW} {_seeds(runs)}"
    )
    return Exhibit("dynamic_ratios", "Ratios during training", caption, settings, data, figure)


def positive_cosine(runs: Runs, settings: Mapping[str, Any]) -> Exhibit:
    """How near a sentence's two views come, for several fixed ratios."""
    figure, axes, data = _over_steps(runs, "positive_cosine")
    axes.set_ylabel("mean cosine of positives")
    caption = (
        "Cosine between a sentence's two views. Horizontal: training step; vertical: mean over "
        f"the batch, from -1 to 1. {_HOW} {_seeds(runs)}"
    )
    title = "Cosine of positives during training"
    return Exhibit("positive_cosine", title, caption, settings, data, figure)


def angles(runs: Runs, settings: Mapping[str, Any]) -> Exhibit:
    """The means and deviations that the simulation of section 3.1 assumes, as training has them."""
    columns = min(len(runs), 3)
    figure, axes = panels(columns, -(-len(runs) // columns), sharex=True, sharey=True)
    for ax in axes.flat[len(runs) :]:
        ax.set_visible(False)
    data = {
        label: _angle_panel(ax, label, of_label)
        for ax, (label, of_label) in zip(axes.flat, runs.items(), strict=False)
    }
    for row in axes:
        row[0].set_ylabel("angle, radians")
    axes[0, 0].legend(**_LEGEND)
    caption = (
        "Angles between a sentence's two views (positives) and between different sentences "
        "(negatives). Horizontal: training step; vertical: mean over the batch's pairs, in "
        "radians, with a band of one standard deviation of the pairs to either side. "
        f"{_HOW} {_seeds(runs, drawn=False)}"
    )
    return Exhibit("angles", "Angles during training", caption, settings, data, figure)


def _over_steps(runs: Runs, column: str) -> tuple[Figure, Axes, dict[str, Any]]:
    """One line a label."""
    figure, ((axes,),) = panels(width=6)
    data = {}
    for index, (label, of_label) in enumerate(runs.items()):
        steps, curve = _curve(of_label, column)
        curve.draw_with_band(axes, steps, label=label, **line(index))
        data[label] = {"step": steps, column: curve.as_dict()}
    axes.set_xlabel("training step")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), **_LEGEND)
    return figure, axes, data


def _angle_panel(axes: Axes, label: str, runs: Sequence[Run]) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for index, (kind, name) in enumerate(ANGLES.items()):
        steps, mean = _curve(runs, f"{kind}_angle")
        _, deviation = _curve(runs, f"{kind}_angle_deviation")
        mean.draw(axes, steps, label=name, **line(index))
        band(axes, steps, mean.mean, deviation.mean, line(index)["color"])
        data |= {"step": steps, f"{kind}_angle": mean.as_dict()}
        data[f"{kind}_angle_deviation"] = deviation.as_dict()
    axes.set(title=label, xlabel="training step")
    axes.grid(alpha=0.3)
    return data


def _curve(runs: Sequence[Run], column: str) -> tuple[list[int], Curve]:
    """The column over all steps of any run; a run that lacks a step has no value there."""
    tables = [{int(row["step"] or 0): row[column] for row in run} for run in runs]
    steps = sorted(set().union(*tables))
    return steps, Curve.of([[table.get(step) for step in steps] for table in tables])


def _seeds(runs: Runs, *, drawn: bool = True) -> str:
    counts = ", ".join(f"{len(of_label)} of {label}" for label, of_label in runs.items())
    words = "mean with a band of one standard deviation" if drawn else "mean"
    return f"Runs: {counts}; several are drawn as their {words}."
