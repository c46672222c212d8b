"""The numbers that compare objectives: mean and deviation over seeds, differences with intervals.

No files and no layout of tables here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.results.bootstrap import Interval, interval, resampled_differences
from pipeline.results.runs import Run, Runs, read_paired_scores

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.results.curves import Curve
    from pipeline.results.runs import HalfName

AVERAGE = "avg"
CONTRASTIVE = ("info_nce", "arccon", "mpt", "met")
ORIGINALS = ("mhe", "mhs", "barlow_twins", "vicreg")  # each has a twin named `<name>_modified`


@dataclass(frozen=True)
class Spread:
    """Mean and sample standard deviation over seeds; one seed has no deviation."""

    mean: float
    deviation: float | None


@dataclass(frozen=True)
class Row:
    """One objective's scores by task of a half, the average last."""

    objective: str
    seeds: tuple[int, ...]
    scores: dict[str, Spread]


@dataclass(frozen=True)
class Twins:
    """An original and its modified form."""

    original: str
    modified: str
    seeds: tuple[int, ...]  # that both were trained with
    intervals: dict[str, Interval]  # over those seeds; empty if there are none


@dataclass(frozen=True)
class DevScores:
    """STS-B dev Spearman x 100 of one objective over the seeds that have a curve."""

    best: Spread
    last: Spread


def row(runs: Runs, objective: str, half: HalfName) -> Row:
    """Summarizes an objective over its seeds."""
    by_seed = runs.by_objective[objective]
    measured = [run.halves[half] for run in by_seed.values()]
    scores = {
        task: spread([one.scores[task] for one in measured]) for task in runs.half(half).scores
    }
    scores[AVERAGE] = spread([one.average for one in measured])
    return Row(objective, tuple(by_seed), scores)


def rows(runs: Runs, half: HalfName) -> list[Row]:
    """All objectives in `order`; none if no task of this half ran."""
    return [row(runs, name, half) for name in order(runs)] if runs.half(half).scores else []


def order(runs: Runs) -> list[str]:
    """Objectives in the order of the paper's Table 2, then whatever else was measured."""
    known = [*CONTRASTIVE, *(name for original in ORIGINALS for name in names(original))]
    others = sorted(set(runs.by_objective) - set(known))
    return [name for name in (*known, *others) if name in runs.by_objective]


def differences(rows: list[Row]) -> dict[str, dict[str, float]]:
    """Modified less original by task, of the rows' means, for each modified form that has both."""
    scores = {row.objective: row.scores for row in rows}
    pairs = [names(original) for original in ORIGINALS]
    return {
        modified: {
            task: scores[modified][task].mean - scores[original][task].mean
            for task in scores[modified]
        }
        for original, modified in pairs
        if original in scores and modified in scores
    }


def names(original: str) -> tuple[str, str]:
    """The names of an original and of its modified form."""
    return original, f"{original}_modified"


def dev_scores(curves: list[Curve]) -> dict[str, DevScores]:
    """Best and last dev score by objective: what fell after its best step shows here."""
    by_objective: dict[str, list[tuple[float, ...]]] = {}
    for curve in curves:
        by_objective.setdefault(curve.objective, []).append(curve.dev_spearman)
    return {
        objective: DevScores(
            best=spread([max(scores) for scores in of_seeds]),
            last=spread([scores[-1] for scores in of_seeds]),
        )
        for objective, of_seeds in by_objective.items()
    }


def twins(runs: Runs, scores: Path, *, resamples: int, seed: int) -> list[Twins]:
    """Intervals of each pair whose two members were measured, on the STS tasks."""
    if not runs.half("sts").scores:
        return []
    present = [names(original) for original in ORIGINALS]
    return [
        _twins(runs, pair, scores, resamples=resamples, seed=seed)
        for pair in present
        if all(name in runs.by_objective for name in pair)
    ]


def _twins(runs: Runs, pair: tuple[str, str], scores: Path, *, resamples: int, seed: int) -> Twins:
    before, after = (runs.by_objective[name] for name in pair)
    shared = tuple(sorted(before.keys() & after.keys()))
    intervals = {}
    if shared:
        both = [[by_seed[k] for k in shared] for by_seed in (before, after)]
        intervals = _intervals(both[0], both[1], scores, resamples=resamples, seed=seed)
    return Twins(*pair, shared, intervals)


def _intervals(
    original: list[Run], modified: list[Run], scores: Path, *, resamples: int, seed: int
) -> dict[str, Interval]:
    # Tasks are resampled independently, although STS-B took some of its pairs from STS12 to 16.
    resampled = {}
    for task in original[0].halves["sts"].scores:
        paired = read_paired_scores(scores, original, modified, task)
        resampled[task] = resampled_differences(task, paired, resamples=resamples, seed=seed)
    resampled[AVERAGE] = np.mean(list(resampled.values()), axis=0)
    return {task: interval(differences) for task, differences in resampled.items()}


def spread(values: list[float]) -> Spread:
    """Of an objective's values, one a seed."""
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(float(np.mean(values)), deviation)
