"""The study's runs, read back: curves, dynamics, scores, and measures on held-out sentences.

Files lie at `<folder>/<kind>/<objective>/<seed>.csv` or `.json`, the untrained backbone's measures
at `<folder>/untrained.json`. What `analysis` names and no file is there for is listed as missing.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import ValidationError

from pipeline.machine.errors import InputError
from pipeline.paper.held_out.schema import Measurement
from pipeline.results.curves import read_curves
from pipeline.results.numbers import AVERAGE, dev_scores, row
from pipeline.results.runs import any_of, read_runs
from pipeline.results.spread import Spread, spread
from pipeline.results.tables import warning

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.config.schema import Params

Dynamics = list[dict[str, float]]  # a row a recorded step; NaN where no anchor was open


class Scores(NamedTuple):
    """An objective's three readings over its seeds; None where it was not scored.

    Attributes:
        best: STS-B dev at the best step.
        last: STS-B dev at the last step.
        average: of the STS tasks.
    """

    best: Spread | None
    last: Spread | None
    average: Spread | None


@dataclass(frozen=True)
class Study:
    """All runs of the study that are there.

    Attributes:
        params: what the runs were made with.
        seeds: of each objective, in the order of `analysis.objectives`.
        missing: `<objective>-<seed>` that were asked for.
        scores: by objective.
        tasks: which STS tasks are averaged.
        warning: a line where their data is not the benchmark's.
        held_out: measures by objective and seed.
        dynamics: rows by objective and seed.
        untrained: the backbone's measures.
    """

    params: Params
    seeds: dict[str, tuple[int, ...]]
    missing: list[str]
    scores: dict[str, Scores]
    tasks: tuple[str, ...]
    warning: list[str]
    held_out: dict[str, dict[int, Measurement]]
    dynamics: dict[str, dict[int, Dynamics]]
    untrained: Measurement

    def changes(self, name: str) -> dict[str, Any]:
        """What a variant has otherwise than what it varies; nothing for what is no variant."""
        own, usual = (
            self.params.objective(candidate).hyperparameters.model_dump()
            | self.params.train_for(candidate).model_dump()
            for candidate in (name, self.params.kind(name))
        )
        return {key: value for key, value in own.items() if value != usual[key]}

    def cosine(self, name: str, which: str) -> Spread:
        """An objective's mean `positive` or `negative` cosine, or the `gap`, over its seeds."""
        measures = self.held_out[name].values()
        return spread([getattr(measurement.cosines, which).mean for measurement in measures])

    @property
    def all_held_out(self) -> list[Measurement]:
        """Of all objectives and seeds."""
        return [
            measurement for by_seed in self.held_out.values() for measurement in by_seed.values()
        ]

    @property
    def hardware(self) -> list[str]:
        """What the measures were made on."""
        return sorted({measurement.hardware for measurement in self.all_held_out})


def read_study(params: Params, folder: Path) -> Study:
    """Read what the study's stages wrote.

    Raises:
        InputError: nothing is there, or a file is damaged.
    """
    cells = [(name, seed) for name in params.analysis.objectives for seed in params.analysis.seeds]
    held_out: dict[str, dict[int, Measurement]] = {}
    dynamics: dict[str, dict[int, Dynamics]] = {}
    missing = []
    for name, seed in cells:
        path = folder / "held_out" / name / f"{seed}.json"
        if not path.is_file():
            missing.append(f"{name}-{seed}")
            continue
        held_out.setdefault(name, {})[seed] = _measurement(path)
        rows = _dynamics(folder / "dynamics" / name / f"{seed}.csv")
        dynamics.setdefault(name, {})[seed] = rows
    if not held_out:
        raise InputError(f"study: {folder} holds no run; make them with `make report`.")
    seeds = {name: tuple(by_seed) for name, by_seed in held_out.items()}
    averages, tasks, warnings = _averages(folder / "metrics", seeds)
    curves = [(name, seed) for name, own in seeds.items() for seed in own]
    dev = dev_scores(read_curves(folder / "curves", curves))
    scores = {
        name: Scores(
            best=dev[name].best if name in dev else None,
            last=dev[name].last if name in dev else None,
            average=averages.get(name),
        )
        for name in seeds
    }
    untrained = _measurement(folder / "untrained.json")
    study = Study(params, seeds, missing, scores, tasks, warnings, held_out, dynamics, untrained)
    _check_alike(untrained, study.all_held_out)
    return study


def _check_alike(first: Measurement, others: list[Measurement]) -> None:
    for other in others:
        for part in ("data", "settings"):
            expected, actual = getattr(first, part).model_dump(), getattr(other, part).model_dump()
            if key := next((key for key in expected if expected[key] != actual[key]), None):
                raise InputError(
                    f"measurements: {first.encoder['name']} and {other.encoder['name']} differ "
                    f"in {part}.{key} ({expected[key]} and {actual[key]}); measure both in one way."
                )


def _averages(
    metrics: Path, seeds: dict[str, tuple[int, ...]]
) -> tuple[dict[str, Spread], tuple[str, ...], list[str]]:
    """Averages of the objectives whose runs were all scored, their tasks, and a warning."""
    scored = [
        name
        for name, own in seeds.items()
        if all((metrics / name / f"{seed}.json").is_file() for seed in own)
    ]
    if not scored:
        return {}, (), []
    runs = {
        name: [run for run in by_seed if run.seed in seeds[name]]
        for name, by_seed in read_runs(metrics, scored).items()
        if name in scored
    }
    averages = {name: row(by_seed, "sts").scores[AVERAGE] for name, by_seed in runs.items()}
    run = any_of(runs)
    return averages, tuple(run.half("sts")), warning(run, "sts")


def _measurement(path: Path) -> Measurement:
    try:
        return Measurement.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        reason = ": ".join([*map(str, first["loc"]), first["msg"]])
    except OSError as error:
        reason = str(error)
    raise InputError(f"study: {path} cannot be read ({reason}); measure it again.")


def _dynamics(path: Path) -> Dynamics:
    try:
        with path.open(encoding="utf-8", newline="") as text:
            return [
                {key: float(value or "nan") for key, value in line.items()}
                for line in csv.DictReader(text)
            ]
    except (OSError, ValueError, TypeError) as error:
        raise InputError(f"study: {path} cannot be read ({error}); train it again.") from None
