"""The numbers that compare objectives: mean and deviation over seeds, differences with intervals.

No files and no layout of tables here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from pipeline.results.bootstrap import (
    LEVEL,
    Interval,
    holm,
    interval,
    over_seeds,
    resampled_spearman,
)
from pipeline.results.names import BACKBONES, CONTRASTIVE, MODIFIED, UNTRAINED
from pipeline.results.runs import any_of, place, read_scores
from pipeline.results.spread import Spread, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from pipeline.results.curves import Curves
    from pipeline.results.metrics import HalfName, Metrics
    from pipeline.results.runs import Runs

AVERAGE = "avg"


@dataclass(frozen=True)
class Row:
    """One objective's scores by task of a half, the average last; the backbone has no seeds."""

    seeds: tuple[int, ...]
    scores: dict[str, Spread]


@dataclass(frozen=True)
class Difference:
    """An objective less another one, or less the backbone, on the STS tasks.

    Attributes:
        objective: whose scores come first.
        reference: what is subtracted.
        shared_seeds: which both have.
        tasks: over those seeds, the average last.
        holm_p: of the average, adjusted for the number of modified forms that are compared with
            their originals: these are the primary comparisons. None for any other.
    """

    objective: str
    reference: str
    shared_seeds: tuple[int, ...]
    tasks: dict[str, Interval]
    holm_p: float | None = None

    @property
    def is_primary(self) -> bool:
        """Whether it is a modified form less its original."""
        return self.objective == MODIFIED.get(self.reference)


@dataclass(frozen=True)
class NoiseFloor:
    """How much seeds alone move an average of STS tasks.

    Attributes:
        deviation: sample standard deviation over an objective's seeds, pooled over objectives.
        degrees_of_freedom: seeds less one, summed over objectives.
        smallest: the difference of two means of `seeds` seeds that such noise exceeds in 5 % of
            all cases (Student's t).
        seeds: of the objective that has the fewest, among those that have two or more.
    """

    deviation: float
    degrees_of_freedom: int
    smallest: float
    seeds: int


@dataclass(frozen=True)
class DevScores:
    """Spearman x 100 on the dev pairs of one objective over the seeds that have a curve."""

    best: Spread
    last: Spread


def row(runs: Sequence[Metrics], half: HalfName) -> Row:
    """Summarizes an objective's runs."""
    by_seed = [run.half(half) for run in runs]
    scores = {task: spread([tasks[task].score for tasks in by_seed]) for task in by_seed[0]}
    averages = [run.average if half == "sts" else run.transfer_average for run in runs]
    scores[AVERAGE] = spread([value for value in averages if value is not None])
    return Row(_seeds(runs), scores)


def rows(runs: Runs, half: HalfName) -> dict[str, Row]:
    """By objective."""
    return {name: row(by_seed, half) for name, by_seed in runs.items()}


def noise_floor(rows: Iterable[Row]) -> NoiseFloor | None:
    """Of the rows' averages; None if no objective has two seeds."""
    spreads = [(len(row.seeds), row.scores[AVERAGE].deviation) for row in rows]
    several = [(count, deviation) for count, deviation in spreads if deviation is not None]
    if not several:
        return None
    freedom = sum(count - 1 for count, _ in several)
    variance = sum((count - 1) * deviation**2 for count, deviation in several) / freedom
    fewest = min(count for count, _ in several)
    quantile = float(stats.t.ppf(0.5 + LEVEL / 200, freedom))
    smallest = quantile * math.sqrt(2 * variance / fewest)
    return NoiseFloor(math.sqrt(variance), freedom, smallest, fewest)


def in_order(runs: Runs) -> Runs:
    """The backbone, objectives in the order of the paper's Table 2, and whatever else there is."""
    pairs = (name for pair in MODIFIED.items() for name in pair)
    standard = [*BACKBONES, *CONTRASTIVE, *pairs]
    others = sorted(set(runs) - set(standard))
    return {name: runs[name] for name in (*standard, *others) if name in runs}


def gains(
    rows: Mapping[str, Row], pairs: Mapping[str, str] = MODIFIED
) -> dict[str, dict[str, float]]:
    """Modified less original by task, of the rows' means, for each modified form that has both."""
    return {
        modified: {
            task: own.mean - rows[original].scores[task].mean
            for task, own in rows[modified].scores.items()
        }
        for original, modified in pairs.items()
        if original in rows and modified in rows
    }


def dev_scores(curves: Curves) -> dict[str, DevScores]:
    """Best and last dev score by objective: what fell after its best step shows here."""
    trained: dict[str, list[list[float]]] = {}
    for (objective, _), points in curves.items():
        scores = [score for step, score in points.items() if step > 0]
        trained.setdefault(objective, []).append(scores)
    return {
        objective: DevScores(
            best=spread([max(scores) for scores in by_seed]),
            last=spread([scores[-1] for scores in by_seed]),
        )
        for objective, by_seed in trained.items()
    }


def differences(
    runs: Runs, scores: Path, baseline: str | None, *, resamples: int, seed: int
) -> list[Difference]:
    """What objectives differ by on the STS tasks, with intervals from paired resamples.

    A modified form is compared with its original, every objective with the baseline and with the
    backbone, where both were measured. `scores` is the folder of all cosines.
    """
    pairs, tasks = _pairs(runs, baseline), list(any_of(runs).half("sts"))
    if not (pairs and tasks):
        return []
    compared = dict.fromkeys(name for pair in pairs for name in pair)
    encoders = [run for name in compared for run in runs[name]]
    read = {task: read_scores(scores, encoders, task) for task in tasks}
    places = [place(run) for run in encoders]
    resampled = {
        task: dict(zip(places, correlations, strict=True))
        for task, correlations in resampled_spearman(read, resamples=resamples, seed=seed).items()
    }
    results = [_difference(runs, resampled, *pair, seed) for pair in pairs]
    primary = [result for result in results if result.is_primary and result.tasks]
    ps = {result.objective: p for result in primary if (p := result.tasks[AVERAGE].p) is not None}
    adjusted = dict(zip(ps, holm([*ps.values()]), strict=True))
    return [
        replace(result, holm_p=adjusted.get(result.objective)) if result.is_primary else result
        for result in results
    ]


def _pairs(runs: Runs, baseline: str | None) -> list[tuple[str, str]]:
    """An objective and what it is compared with, each pair once."""
    pairs = [(modified, original) for original, modified in MODIFIED.items()]
    pairs += [(name, other) for other in (baseline, UNTRAINED) if other for name in runs]
    return [
        (name, other)
        for name, other in dict.fromkeys(pairs)
        if name in runs and other in runs and name not in (other, *BACKBONES)
    ]


def _difference(
    runs: Runs,
    resampled: dict[str, dict[str, np.ndarray]],
    objective: str,
    reference: str,
    seed: int,
) -> Difference:
    own, other = runs[objective], runs[reference]
    if reference != UNTRAINED:
        shared = {run.seed for run in own} & {run.seed for run in other}
        own, other = ([run for run in side if run.seed in shared] for side in (own, other))
    if not own:
        return Difference(objective, reference, (), {})
    by_seed = {  # (S, 1 + R); the backbone is the same for all seeds
        task: np.stack([scores[place(run)] for run in own])
        - np.stack([scores[place(run)] for run in other])
        for task, scores in resampled.items()
    }
    by_task = {task: over_seeds(values, seed) for task, values in by_seed.items()}
    by_task[AVERAGE] = np.mean(list(by_task.values()), axis=0)
    intervals = {task: interval(values) for task, values in by_task.items()}
    return Difference(objective, reference, _seeds(own), intervals)


def _seeds(runs: Sequence[Metrics]) -> tuple[int, ...]:
    return tuple(run.seed for run in runs if run.seed is not None)
