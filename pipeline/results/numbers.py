"""The numbers that compare objectives: mean and deviation over seeds, differences with intervals.

No files and no layout of tables here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.results.bootstrap import Interval, interval, resampled_differences
from pipeline.results.runs import UNTRAINED, Run, Runs, read_paired_scores

if TYPE_CHECKING:
    from collections.abc import Sequence
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
class Difference:
    """An objective beside another one, or beside the backbone, on the STS tasks."""

    objective: str
    reference: str
    seeds: tuple[int, ...]  # that both were trained with
    intervals: dict[str, Interval]  # by task, over those seeds, the average last


@dataclass(frozen=True)
class DevScores:
    """Spearman x 100 on the dev pairs of one objective over the seeds that have a curve."""

    best: Spread
    last: Spread


def row(objective: str, runs: Sequence[Run], half: HalfName) -> Row:
    """Summarizes an objective's runs."""
    measured = [run.halves[half] for run in runs]
    scores = {task: spread([one.scores[task] for one in measured]) for task in measured[0].scores}
    scores[AVERAGE] = spread([one.average for one in measured])
    return Row(objective, tuple(run.seed for run in runs if run.seed is not None), scores)


def rows(runs: Runs, half: HalfName) -> list[Row]:
    """The backbone and all objectives in `order`; none if no task of this half ran."""
    if not runs.half(half).scores:
        return []
    untrained = [] if runs.untrained is None else [row(UNTRAINED, [runs.untrained], half)]
    objectives = (row(name, [*runs.by_objective[name].values()], half) for name in order(runs))
    return [*untrained, *objectives]


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
    by_objective: dict[str, list[list[float]]] = {}
    for curve in curves:
        points = zip(curve.steps, curve.dev_spearman, strict=True)
        trained = [score for step, score in points if step > 0]
        by_objective.setdefault(curve.objective, []).append(trained)
    return {
        objective: DevScores(
            best=spread([max(scores) for scores in of_seeds]),
            last=spread([scores[-1] for scores in of_seeds]),
        )
        for objective, of_seeds in by_objective.items()
    }


def intervals(
    runs: Runs, scores: Path, baseline: str | None, *, resamples: int, seed: int
) -> list[Difference]:
    """What each objective differs by on the STS tasks, with intervals.

    A modified form is compared with its original, every objective with the baseline and with the
    backbone, where both were measured.
    """
    if not runs.half("sts").scores:
        return []
    objectives = order(runs)
    originals = {modified: original for original, modified in map(names, ORIGINALS)}
    pairs = [(name, originals[name]) for name in objectives if name in originals]
    pairs += [(name, baseline) for name in objectives if baseline is not None and name != baseline]
    known = [pair for pair in dict.fromkeys(pairs) if pair[1] in runs.by_objective]
    if runs.untrained is not None:
        known += [(name, UNTRAINED) for name in objectives]
    differences = []
    for name, reference in known:
        seeds, before, after = _shared(runs, name, reference)
        found = {}
        if seeds:
            found = _intervals(before, after, scores, resamples=resamples, seed=seed)
        differences.append(Difference(name, reference, seeds, found))
    return differences


def _shared(
    runs: Runs, objective: str, reference: str
) -> tuple[tuple[int, ...], list[Run], list[Run]]:
    """The seeds that both have, and the runs of the reference and of the objective."""
    own = runs.by_objective[objective]
    if reference == UNTRAINED and runs.untrained is not None:
        return tuple(own), [runs.untrained], [*own.values()]
    other = runs.by_objective[reference]
    seeds = tuple(sorted(other.keys() & own.keys()))
    return seeds, [other[k] for k in seeds], [own[k] for k in seeds]


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
