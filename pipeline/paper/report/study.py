"""The study's runs, read back: curves, dynamics, scores, and measures on held-out sentences.

Files lie at `<folder>/<kind>/<objective>/<seed>.csv` or `.json`, the untrained backbone's measures
at `<folder>/untrained.json`. What `analysis` names and no file is there for is listed as missing.
"""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.machine.errors import InputError
from pipeline.results.curves import read_curves
from pipeline.results.layout import warning
from pipeline.results.numbers import AVERAGE, DevScores, Spread, dev_scores, row, spread
from pipeline.results.runs import any_of, read_runs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pipeline.config.schema import Params

Dynamics = list[dict[str, float | None]]


@dataclass(frozen=True)
class Study:
    """All runs of the study that are there.

    Attributes:
        params: what the runs were made with.
        seeds: of each objective, in the order of `analysis.objectives`.
        missing: `<objective>-<seed>` that were asked for.
        dev: STS-B dev scores by objective.
        averages: of the STS tasks, by objective.
        tasks: which STS tasks they average.
        warning: a line where their data is not the benchmark's.
        held_out: measures by objective and seed.
        dynamics: rows by objective and seed.
        untrained: the backbone's measures.
    """

    params: Params
    seeds: dict[str, tuple[int, ...]]
    missing: list[str]
    dev: dict[str, DevScores]
    averages: dict[str, Spread]
    tasks: tuple[str, ...]
    warning: list[str]
    held_out: dict[str, dict[int, dict[str, Any]]]
    dynamics: dict[str, dict[int, Dynamics]]
    untrained: dict[str, Any]

    def of_kind(self, kind: str) -> list[str]:
        """The objective of this name and its variants, as far as they were run."""
        return [name for name in self.seeds if self.params.kind(name) == kind]

    def changes(self, name: str) -> dict[str, Any]:
        """What a variant has otherwise than what it varies; nothing for what is no variant."""
        own, usual = (
            self.params.objective(one).hyperparameters.model_dump()
            | self.params.train_for(one).model_dump()
            for one in (name, self.params.kind(name))
        )
        return {key: value for key, value in own.items() if value != usual[key]}

    def over_seeds(self, name: str, value: Callable[[dict[str, Any]], float]) -> Spread:
        """A number of an objective's held-out measures."""
        return spread([value(one) for one in self.held_out[name].values()])

    @property
    def hardware(self) -> list[str]:
        """What the measures were made on."""
        all_measures = (one for by_seed in self.held_out.values() for one in by_seed.values())
        return sorted({str(one["hardware"]) for one in all_measures})


def read_study(params: Params, folder: Path) -> Study:
    """Read what the study's stages wrote.

    Raises:
        InputError: nothing is there, or a file is damaged.
    """
    asked = [(name, seed) for name in params.analysis.objectives for seed in params.analysis.seeds]
    there = [one for one in asked if _place(folder, "held_out", *one, "json").is_file()]
    if not there:
        raise InputError(f"study: {folder} holds no run; make them with `make report`.")
    seeds: dict[str, tuple[int, ...]] = {}
    for name, seed in there:
        seeds[name] = (*seeds.get(name, ()), seed)
    averages, tasks, told = _averages(folder / "metrics", seeds)
    return Study(
        params=params,
        seeds=seeds,
        missing=[f"{name}-{seed}" for name, seed in asked if (name, seed) not in there],
        dev=dev_scores(read_curves(folder / "curves", there)),
        averages=averages,
        tasks=tasks,
        warning=told,
        held_out=_by_name(there, lambda one: _json(_place(folder, "held_out", *one, "json"))),
        dynamics=_by_name(there, lambda one: _rows(_place(folder, "dynamics", *one, "csv"))),
        untrained=_json(folder / "untrained.json"),
    )


def _averages(
    metrics: Path, seeds: dict[str, tuple[int, ...]]
) -> tuple[dict[str, Spread], tuple[str, ...], list[str]]:
    """Averages of the objectives whose runs were all measured, their tasks, and a warning."""
    measured = [
        name
        for name, own in seeds.items()
        if all((metrics / name / f"{seed}.json").is_file() for seed in own)
    ]
    if not measured:
        return {}, (), []
    runs = read_runs(metrics, measured)
    averages = {name: row(runs[name], "sts").scores[AVERAGE] for name in measured}
    run = any_of(runs)
    return averages, tuple(run.half("sts")), warning(run, "sts")


def _by_name(there: Sequence[tuple[str, int]], read: Callable[[tuple[str, int]], Any]) -> Any:
    found: dict[str, dict[int, Any]] = {}
    for one in there:
        found.setdefault(one[0], {})[one[1]] = read(one)
    return found


def _place(folder: Path, kind: str, name: str, seed: int, suffix: str) -> Path:
    return folder / kind / name / f"{seed}.{suffix}"


def _json(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"study: {path} cannot be read ({error}); measure it again.") from None
    return content


def _rows(path: Path) -> Dynamics:
    try:
        with path.open(encoding="utf-8", newline="") as text:
            return [
                {key: float(value) if value else None for key, value in line.items()}
                for line in csv.DictReader(text)
            ]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"study: {path} cannot be read ({error}); train it again.") from None
