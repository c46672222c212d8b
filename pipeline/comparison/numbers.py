"""The numbers that compare objectives: mean and deviation over seeds, differences with intervals.

No files and no layout of tables here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.comparison.bootstrap import Interval, interval, resampled_differences
from pipeline.comparison.runs import Run, Runs, read_paired_scores

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.comparison.curves import Curve

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
    """One objective's scores by task, the average last."""

    objective: str
    seeds: tuple[int, ...]
    scores: dict[str, Spread]


@dataclass(frozen=True)
class Twins:
    """An original and its modified form."""

    original: str
    modified: str
    differences: dict[str, float]  # of the two rows' means, by task, the average last
    seeds: tuple[int, ...]  # that both were trained with
    intervals: dict[str, Interval]  # over those seeds; empty if there are none


@dataclass(frozen=True)
class DevScores:
    """STS-B dev Spearman x 100 of one objective over the seeds that have a curve."""

    best: Spread
    last: Spread


def row(runs: Runs, objective: str) -> Row:
    """Summarises an objective over its seeds."""
    by_seed = runs.by_objective[objective]
    scores = {
        task: _spread([run.spearman[task] for run in by_seed.values()]) for task in runs.any.pairs
    }
    scores[AVERAGE] = _spread([run.average for run in by_seed.values()])
    return Row(objective, tuple(by_seed), scores)


def rows(runs: Runs) -> list[Row]:
    """All objectives in the order of the paper's Table 2, then whatever else was measured."""
    known = [*CONTRASTIVE, *(name for original in ORIGINALS for name in names(original))]
    others = sorted(set(runs.by_objective) - set(known))
    return [row(runs, name) for name in (*known, *others) if name in runs.by_objective]


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
            best=_spread([max(scores) for scores in of_seeds]),
            last=_spread([scores[-1] for scores in of_seeds]),
        )
        for objective, of_seeds in by_objective.items()
    }


def twins(runs: Runs, scores: Path, *, resamples: int, seed: int) -> list[Twins]:
    """Differences of each pair whose two members were measured."""
    present = [names(original) for original in ORIGINALS]
    return [
        _twins(runs, pair, scores, resamples=resamples, seed=seed)
        for pair in present
        if all(name in runs.by_objective for name in pair)
    ]


def _twins(runs: Runs, pair: tuple[str, str], scores: Path, *, resamples: int, seed: int) -> Twins:
    before, after = (runs.by_objective[name] for name in pair)
    shared = tuple(sorted(before.keys() & after.keys()))
    original, modified = (row(runs, name).scores for name in pair)
    differences = {task: modified[task].mean - original[task].mean for task in original}
    intervals = {}
    if shared:
        both = [[by_seed[k] for k in shared] for by_seed in (before, after)]
        intervals = _intervals(both[0], both[1], scores, resamples=resamples, seed=seed)
    return Twins(*pair, differences, shared, intervals)


def _intervals(
    original: list[Run], modified: list[Run], scores: Path, *, resamples: int, seed: int
) -> dict[str, Interval]:
    # Tasks are resampled independently, although STS-B took some of its pairs from STS12 to 16.
    resampled = {}
    for task in original[0].pairs:
        paired = read_paired_scores(scores, original, modified, task)
        resampled[task] = resampled_differences(task, paired, resamples=resamples, seed=seed)
    resampled[AVERAGE] = np.mean(list(resampled.values()), axis=0)
    return {task: interval(differences) for task, differences in resampled.items()}


def _spread(values: list[float]) -> Spread:
    deviation = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return Spread(float(np.mean(values)), deviation)
