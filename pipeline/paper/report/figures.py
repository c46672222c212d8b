"""Figures of the study and of the main runs: a function draws one, `text.md.jinja` explains it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import figure
from matplotlib.axes import Axes
from numpy.typing import NDArray

from pipeline.paper.figure import Figure, explained
from pipeline.paper.held_out.schema import Measurement, Sign
from pipeline.paper.report.conjectures import WITHOUT
from pipeline.paper.report.study import Dynamics, Study
from pipeline.paper.report.tables import (
    BASELINE,
    DYNAMIC,
    LETTERS,
    READINGS,
    Scored,
    ablation,
    before_and_after,
    ours,
    published,
    sweeps,
)
from pipeline.results.figures import COLOURS, line, panels
from pipeline.results.names import MODIFIED
from pipeline.results.numbers import AVERAGE
from pipeline.results.spread import Spread

Points = Sequence[float] | NDArray[np.float64]
Curve = dict[str, Any]  # mean and deviation at the points of one axis, and how many seeds
# State (untrained, trained, ...) -> an encoder's name and its measurements, one a seed.
Encoders = Mapping[str, tuple[str, Sequence[Measurement]]]
# Label -> the tables of `pipeline.train --dynamics`, one a seed.
Runs = Mapping[str, Sequence[Dynamics]]

SIGNS: dict[Sign, str] = {"positive": "-", "negative": "--"}
SHARES = {"weight_share": "weight of the hardest negative", "push_share": "its push, projected"}
ANGLES = {"positive": "positives", "negative": "negatives"}
_LEGEND: dict[str, Any] = {"fontsize": "small", "frameon": False}
_MARKERS = 12  # of a line, however many points it has
_TAIL = 2e-3  # of a density's peak


def study_figures(study: Study, comparison: Mapping[str, Any]) -> Iterator[Figure]:
    """All figures that there are runs for."""
    measured = {name: (name, list(seeds.values())) for name, seeds in study.held_out.items()}
    untrained = (Path(study.params.backbone.source).name, [study.untrained])
    if BASELINE in measured:
        before_after = {"untrained": untrained, "trained": measured[BASELINE]}
        yield hardest_share(before_after)
        yield minimum_ratio(before_after)
    if {BASELINE, WITHOUT} <= measured.keys():
        encoders = {
            "untrained": untrained,
            "without dissipation": measured[WITHOUT],
            "with dissipation": measured[BASELINE],
        }
        yield cosine_density(encoders)
    settings = _settings(study)
    runs = {name: list(seeds.values()) for name, seeds in study.dynamics.items()}
    if ratios := sweeps(study).get("ratio"):
        yield positive_cosine({f"r = {value:g}": runs[name] for value, name in ratios}, settings)
    if moving := {name: runs[name] for name in DYNAMIC if name in runs}:
        yield dynamic_ratios(moving, settings)
    if BASELINE in runs:
        yield angles(BASELINE, runs[BASELINE], settings)
    if sweeps(study):
        yield sweeps_figure(study, settings)
    if ablation(study):
        yield ablation_figure(study, settings)
    own = ours(comparison, "sts")
    if before_and_after(own):
        seeds = {name: row["seeds"] for name, row in comparison["objectives"].items()}
        paper = published(study.params, comparison, "sts")
        yield before_and_after_figure(own, paper, {"seeds": seeds})


def _settings(study: Study) -> dict[str, Any]:
    params = study.params
    return {
        "backbone": params.backbone.source,
        "sentences": params.corpus.source,
        "steps": params.analysis.steps,
        "batch_size": params.train.batch_size,
        "learning_rate": params.train.learning_rate,
        "head": params.train.head,
        "seeds": {name: list(seeds) for name, seeds in study.seeds.items()},
        "hardware": study.hardware,
    }


def _of_encoders(
    name: str, picture: figure.Figure, encoders: Encoders, data: Mapping[str, Any]
) -> Figure:
    """A figure of measurements, with what all of them share and what they were made on."""
    measurements = [measurement for _, seeds in encoders.values() for measurement in seeds]
    settings = {
        "data": measurements[0].data.model_dump(),
        "settings": measurements[0].settings.model_dump(),
        "encoders": {
            state: {label: [measurement.encoder for measurement in seeds]}
            for state, (label, seeds) in encoders.items()
        },
        "hardware": sorted({measurement.hardware for measurement in measurements}),
    }
    names = sorted({measurement.encoder["name"] for measurement in measurements})
    return explained(name, picture, settings, data, encoders=names)


def over_seeds(seeds: Iterable[Any]) -> Curve:
    """Mean and sample deviation over one or more seeds' values at the same points.

    None is undefined; the mean is of the seeds that have a value, a deviation needs two of them.
    """
    values = np.ma.masked_invalid(np.array(list(seeds), dtype=np.float64))
    deviation = values.std(axis=0, ddof=1).filled(np.nan) if len(values) > 1 else None
    mean = values.mean(axis=0).filled(np.nan)
    return {"mean": mean, "deviation": deviation, "seeds": len(values)}


def draw_curve(panel: Axes, x: Points, curve: Curve, **style: Any) -> None:
    """The mean as a line; of several seeds with a band of one deviation to either side."""
    mean, deviation = curve["mean"], curve["deviation"]
    there = np.flatnonzero(np.isfinite(mean)).tolist()
    marked = there[:: max(1, len(there) // _MARKERS)] or None
    panel.plot(x, mean, **({"markevery": marked} | style))
    if deviation is not None:
        band = mean - deviation, mean + deviation
        panel.fill_between(x, *band, color=style["color"], alpha=0.15, linewidth=0)


def draw_density(panel: Axes, x: Points, curve: Curve, **style: Any) -> None:
    """Likewise, but nothing where it is next to nothing."""
    mean = curve["mean"]
    visible = mean > _TAIL * np.nanmax(mean, initial=0)
    draw_curve(panel, x, curve | {"mean": np.where(visible, mean, np.nan)}, **style)


def cosine_density(encoders: Encoders) -> Figure:
    """Conjecture 1: dissipation decides how far apart positives and negatives end up."""
    picture, axes = panels(len(encoders), sharex=True)
    data: dict[str, Any] = {}
    for panel, (state, (label, seeds)) in zip(axes[0], encoders.items(), strict=True):
        x = seeds[0].cosines.grid.values
        gap = over_seeds([measurement.cosines.gap.mean] for measurement in seeds)
        curves = {}
        for sign, linestyle in SIGNS.items():
            curves[sign] = over_seeds(measurement.cosines.density[sign] for measurement in seeds)
            style = line(0) | {"linestyle": linestyle}
            if sign == "positive":
                style["label"] = f"{label}: gap {gap['mean'][0]:.2f}"
            else:
                style["markerfacecolor"] = "none"
            draw_density(panel, x, curves[sign], **style)
        panel.set(title=state, xlabel="cosine", ylim=(0, None))
        panel.grid(alpha=0.3)
        for sign, linestyle in SIGNS.items():
            panel.plot([], [], color="0.5", linestyle=linestyle, label=f"{sign}s")
        panel.legend(loc="upper left", **_LEGEND)
        data[state] = {label: curves | {"cosine": x, "gap": gap}}
    axes[0, 0].set_ylabel("density, per unit of cosine")
    axes[0, 0].set_xlim(right=1)
    return _of_encoders("cosine_density", picture, encoders, data)


def hardest_share(encoders: Encoders) -> Figure:
    """Conjecture 2: temperature decides how much of an anchor's push its hardest negative has."""
    _, (first, *_) = next(iter(encoders.values()))
    uniform = first.hardest_share.uniform
    temperatures = [row.temperature for row in first.hardest_share.by_temperature]

    def curve(seeds: Sequence[Measurement], anchors: str, share: str) -> Curve:
        rows = (measurement.hardest_share.by_temperature for measurement in seeds)
        return over_seeds([getattr(getattr(row, anchors), share) for row in of] for of in rows)

    picture, axes = panels(len(SHARES), sharex=True, sharey=True)
    for panel, (share, title) in zip(axes[0], SHARES.items(), strict=True):
        for index, (label, seeds) in enumerate(_labelled(encoders).items()):
            shares = curve(seeds, "open", share)
            draw_curve(panel, temperatures, shares, label=label, **line(index))
        alike = f"1/{round(1 / uniform)}: all alike"
        panel.axhline(uniform, color="black", linewidth=0.8, linestyle=":", label=alike)
        panel.set(xlabel="temperature t, divides the cosine", xscale="log", ylim=(0, 1))
        panel.xaxis.set_major_formatter("{x:g}")
        panel.grid(alpha=0.3)
        panel.set_title(title)
    axes[0, 0].set_ylabel("mean share over open anchors")
    axes[0, -1].legend(**_LEGEND)
    data: dict[str, Any] = {"uniform": uniform}
    for state, (label, seeds) in encoders.items():
        opened = over_seeds([measurement.hardest_share.open_share] for measurement in seeds)
        shares = {
            anchors: {name: curve(seeds, anchors, name) for name in (*SHARES, "gradient_share")}
            for anchors in ("open", "all")
        }
        of_label = {"temperature": temperatures, "open_share": opened, **shares}
        data[state] = {label: of_label}
    return _of_encoders("hardest_share", picture, encoders, data)


def minimum_ratio(encoders: Encoders) -> Figure:
    """Conjecture 3: how strong the pull must be for a step to bring anchor and positive nearer."""
    picture, axes = panels(len(encoders), sharex=True, sharey=True)
    data: dict[str, Any] = {}
    labelled = _labelled(encoders)
    for panel, title, (state, (label, seeds)) in zip(
        axes[0], labelled, encoders.items(), strict=True
    ):
        x = seeds[0].minimum_ratio.grid.values
        by_step = []
        for index, first in enumerate(seeds[0].minimum_ratio.by_step):
            above, without, density = _smallest_ratio(seeds, index)
            text = (
                f"$\\lambda$ = {first.step:g}: {_percent(above)} above 1, {_percent(without)} none"
            )
            draw_density(panel, x, density, label=text, **line(index))
            by_step.append(
                {
                    "step": first.step,
                    "share_above_one": above,
                    "share_undefined": without,
                    "area_density": density,
                }
            )
        panel.axvline(1, color="black", linewidth=0.8, linestyle=":")
        panel.set(title=title, xlabel="smallest ratio r")
        panel.grid(alpha=0.3)
        panel.legend(loc="upper right", **_LEGEND)
        data[state] = {label: {"ratio": x, "by_step": by_step}}
    axes[0, 0].set_ylabel("density, per unit of ratio")
    axes[0, 0].set_ylim(0, 1.4 * axes[0, 0].get_ylim()[1])  # room for the legends
    return _of_encoders("minimum_ratio", picture, encoders, data)


def _smallest_ratio(seeds: Sequence[Measurement], index: int) -> tuple[Curve, Curve, Curve]:
    """At one step length: the shares above 1 and undefined, and the density.

    The density's area is the share of open anchors for which some ratio serves.
    """
    rows = [measurement.minimum_ratio.by_step[index] for measurement in seeds]
    points = seeds[0].minimum_ratio.grid.points
    densities = []
    for row in rows:
        if row.share_undefined is None:  # no anchor is open
            densities.append(np.full(points, np.nan))
        else:
            density = np.zeros(points) if row.density is None else np.array(row.density)
            densities.append(density * (1 - row.share_undefined))
    return (
        over_seeds([row.share_above_one] for row in rows),
        over_seeds([row.share_undefined] for row in rows),
        over_seeds(densities),
    )


def _percent(share: Curve) -> str:
    mean = share["mean"][0]
    return "undefined" if np.isnan(mean) else f"{mean:.0%}"


def _labelled(encoders: Encoders) -> dict[str, Sequence[Measurement]]:
    """By the encoders' names; one that was not trained says so."""
    return {
        f"{label}, untrained" if state == "untrained" else label: seeds
        for state, (label, seeds) in encoders.items()
    }


def dynamic_ratios(runs: Runs, settings: Mapping[str, Any]) -> Figure:
    """How ratios that are not fixed, ArcCon's and MET's, move during training."""
    picture, axes = panels(width=6)
    data = _over_steps(axes[0, 0], runs, "ratio")
    axes[0, 0].axhline(1, color="black", linewidth=0.8, linestyle=":")
    axes[0, 0].set_ylabel("mean ratio over open anchors")
    return explained("dynamic_ratios", picture, settings, data)


def positive_cosine(runs: Runs, settings: Mapping[str, Any]) -> Figure:
    """How near a sentence's two views come, for several fixed ratios."""
    picture, axes = panels(width=6)
    data = _over_steps(axes[0, 0], runs, "positive_cosine")
    axes[0, 0].set_ylabel("mean cosine of positives")
    return explained("positive_cosine", picture, settings, data)


def angles(label: str, runs: Sequence[Dynamics], settings: Mapping[str, Any]) -> Figure:
    """The means and deviations that the simulation of section 3.1 assumes, as training has them."""
    picture, ((axes,),) = panels()
    data: dict[str, Any] = {}
    for index, (sign, name) in enumerate(ANGLES.items()):
        steps, mean = _by_step(runs, f"{sign}_angle")
        _, deviation = _by_step(runs, f"{sign}_angle_deviation")
        pairs = mean | {"deviation": deviation["mean"]}  # the band is of pairs, not of seeds
        draw_curve(axes, steps, pairs, label=name, **line(index))
        data |= {"step": steps, f"{sign}_angle": mean}
        data[f"{sign}_angle_deviation"] = deviation
    axes.set(title=label, xlabel="training step", ylabel="angle, radians")
    axes.grid(alpha=0.3)
    axes.legend(**_LEGEND)
    return explained("angles", picture, settings, {label: data})


def _over_steps(axes: Axes, runs: Runs, column: str) -> dict[str, Any]:
    """A line a label."""
    data = {}
    for index, (label, seeds) in enumerate(runs.items()):
        steps, curve = _by_step(seeds, column)
        draw_curve(axes, steps, curve, label=label, **line(index))
        data[label] = {"step": steps, column: curve}
    axes.set_xlabel("training step")
    axes.grid(alpha=0.3)
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), **_LEGEND)
    return data


def _by_step(runs: Sequence[Dynamics], column: str) -> tuple[list[int], Curve]:
    """The column over all steps of any run; a run that lacks a step has no value there."""
    tables = [{int(row["step"]): row[column] for row in run} for run in runs]
    steps = sorted(set().union(*tables))
    return steps, over_seeds([table.get(step) for step in steps] for table in tables)


def sweeps_figure(study: Study, settings: Mapping[str, Any]) -> Figure:
    """A panel a hyperparameter: best and last dev score against its value."""
    by_key = sweeps(study)
    picture, axes = panels(len(by_key), sharey=True)
    data: dict[str, Any] = {}
    for panel, (key, points) in zip(axes[0], by_key.items(), strict=True):
        for index, reading in enumerate(("best", "last")):
            scores = {value: getattr(study.scores[name], reading) for value, name in points}
            _error_bars(panel, scores, index, f"{reading} step")
        if key == "temperature":
            panel.set_xscale("log")
        unit = "" if key == "ratio" else " (cosine)"
        panel.set_xlabel(f"{key} {LETTERS[key]}{unit}")
        panel.grid(alpha=0.3)
        data[key] = [
            {"value": value, "objective": name, "seeds": list(study.seeds[name])}
            | _plain(study.scores[name])
            for value, name in points
        ]
    axes[0, 0].set_ylabel("STS-B dev, Spearman x 100")
    axes[0, 0].legend(frameon=False)
    return explained("sweeps", picture, settings, data, baseline=BASELINE)


def ablation_figure(study: Study, settings: Mapping[str, Any]) -> Figure:
    """A panel an original: each reading over the steps."""
    by_original = ablation(study)
    picture, axes = panels(len(by_original), sharey=True)
    data: dict[str, Any] = {}
    for panel, (original, steps) in zip(axes[0], by_original.items(), strict=True):
        data[original] = {}
        for index, (reading, label) in enumerate(READINGS.items()):
            by_step = {step: getattr(study.scores[name], reading) for step, name in steps.items()}
            scores = {step: score for step, score in by_step.items() if score is not None}
            if scores:
                _error_bars(panel, scores, index, label)
            data[original][label] = {step: asdict(score) for step, score in scores.items()}
        panel.set_title(original)
        panel.tick_params(axis="x", rotation=20)
        panel.grid(alpha=0.3)
    axes[0, 0].set_ylabel("Spearman x 100")
    axes[0, 0].legend(frameon=False)
    return explained("ablation", picture, settings, data, tasks=study.tasks)


def _error_bars(panel: Axes, scores: Mapping[Any, Spread], index: int, label: str) -> None:
    panel.errorbar(
        list(scores),
        [score.mean for score in scores.values()],
        yerr=[score.deviation or 0.0 for score in scores.values()],
        capsize=2,
        label=label,
        **line(index),
    )


def _plain(scores: Any) -> dict[str, Any]:
    names = {"best": "dev_best", "last": "dev_last", "average": "sts_average"}
    spreads = {name: getattr(scores, reading) for reading, name in names.items()}
    return {name: value and asdict(value) for name, value in spreads.items()}


def before_and_after_figure(
    own: Scored, paper: Scored | None, settings: Mapping[str, Any]
) -> Figure:
    """Figure 1: average STS before and after the modification, a pair of bars an objective."""
    pairs = before_and_after(own)
    picture, ((panel,),) = panels(width=6.4)
    width = 0.38
    data: dict[str, Any] = {original: {} for original in pairs}
    for place, (label, hatch) in enumerate((("original", ""), ("modified", "///"))):
        spreads = [both[place] for both in pairs.values()]
        panel.bar(
            [index + (place - 0.5) * width for index in range(len(pairs))],
            [value.mean for value in spreads],
            width,
            yerr=[value.deviation or 0.0 for value in spreads],
            capsize=2,
            label=label,
            color=COLOURS[(3, 2)[place]],
            edgecolor="black",
            hatch=hatch,
        )
        for original, value in zip(pairs, spreads, strict=True):
            data[original][label] = asdict(value)
    for index, original in enumerate(pairs):
        for place, name in enumerate((original, MODIFIED[original])):
            score = (paper or {}).get(name, {}).get(AVERAGE)
            if score is not None:
                left = index + (place - 1) * width
                panel.hlines(score.mean, left, left + width, colors="black", linestyles=":")
    panel.set_xticks(range(len(pairs)), list(pairs))
    panel.set_xlim(-1, len(pairs))
    panel.set_ylabel("average STS, Spearman x 100")
    panel.grid(axis="y", alpha=0.3)
    panel.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return explained("before_and_after", picture, settings, data, with_published=paper is not None)
