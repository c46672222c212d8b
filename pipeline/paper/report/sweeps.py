"""One hyperparameter of an objective after the other, against the STS-B dev score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.paper.figure import Exhibit
from pipeline.results.figures import line, panels
from pipeline.results.layout import cell, markdown_table, spread_json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pipeline.paper.report.study import Study
    from pipeline.results.numbers import DevScores, Spread

LETTERS = {"margin": "m", "temperature": "t", "ratio": "r"}


@dataclass(frozen=True)
class Point:
    """One value of the hyperparameter that is swept; all else is as in the baseline."""

    value: float
    name: str
    dev: DevScores
    average: Spread | None
    seeds: tuple[int, ...]


Sweep = list[Point]


def sweeps(study: Study, kind: str) -> dict[str, Sweep]:
    """Points by hyperparameter, by rising value, of the variants that differ in it alone."""
    usual = study.params.objective(kind).hyperparameters.model_dump()
    found: dict[str, Sweep] = {}
    for name in study.of_kind(kind):
        changed = study.changes(name)
        if len(changed) == 1 and (key := next(iter(changed))) in LETTERS and name in study.dev:
            found.setdefault(key, []).append(_point(study, name, changed[key]))
    for key, points in found.items():
        if kind in study.dev:
            points.append(_point(study, kind, usual[key]))
        points.sort(key=lambda point: point.value)
    return {key: found[key] for key in LETTERS if key in found}


def _point(study: Study, name: str, value: float) -> Point:
    return Point(value, name, study.dev[name], study.averages.get(name), study.seeds[name])


def table(found: dict[str, Sweep]) -> str:
    """A value a line."""
    lines = [["hyperparameter", "value", "seeds", "dev, best", "dev, last", "STS average"]]
    for key, points in found.items():
        for point in points:
            average = "-" if point.average is None else cell(point.average)
            scores = [cell(point.dev.best), cell(point.dev.last), average]
            name = f"{key} {LETTERS[key]}"
            lines.append([name, f"{point.value:g}", str(len(point.seeds)), *scores])
    return markdown_table(lines, left=1)


def exhibit(found: dict[str, Sweep], kind: str, settings: dict[str, Any]) -> Exhibit:
    """A panel a hyperparameter: best and last dev score against its value."""
    figure, axes = panels(len(found), sharey=True)
    for panel, (key, points) in zip(axes[0], found.items(), strict=True):
        _draw(panel, key, points)
    axes[0][0].set_ylabel("STS-B dev, Spearman x 100")
    axes[0][0].legend(frameon=False)
    return Exhibit(
        name="sweeps",
        title=f"Sweeps around `{kind}`",
        caption=(
            "STS-B dev Spearman x 100 of the best step and of the last, mean over seeds (bars: "
            "standard deviation, where there are several), against one hyperparameter at a time; "
            "margin and temperature in cosine, the ratio without unit."
        ),
        settings=settings,
        data={key: [_as_json(point) for point in points] for key, points in found.items()},
        figure=figure,
    )


def _draw(panel: Axes, key: str, points: Sweep) -> None:
    values = [point.value for point in points]
    for index, which in enumerate(("best", "last")):
        spreads: list[Spread] = [getattr(point.dev, which) for point in points]
        panel.errorbar(
            values,
            [one.mean for one in spreads],
            yerr=[one.deviation or 0.0 for one in spreads],
            capsize=2,
            label=f"{which} step",
            **line(index),
        )
    if key == "temperature":
        panel.set_xscale("log")
    unit = "" if key == "ratio" else " (cosine)"
    panel.set_xlabel(f"{key} {LETTERS[key]}{unit}")
    panel.grid(alpha=0.3)


def _as_json(point: Point) -> dict[str, Any]:
    return {
        "value": point.value,
        "objective": point.name,
        "seeds": list(point.seeds),
        "dev_best": spread_json(point.dev.best),
        "dev_last": spread_json(point.dev.last),
        "sts_average": None if point.average is None else spread_json(point.average),
    }
