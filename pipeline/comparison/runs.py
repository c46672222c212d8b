"""What `evaluate` left of all encoders, read back and checked to be comparable. No statistics here.

Files lie at `<folder>/<objective>/<seed>.json` (metrics) and `.npz` (cosines and gold).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.comparison.bootstrap import PairedScores, Ranking, spearman_of_counts
from pipeline.senteval.sts import PUBLISHED_PAIRS, STS_TASKS, DataError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

# Metrics are rounded to 6 digits; a larger gap means scores of another run.
STALE_DIFFERENCE = 1e-4


@dataclass(frozen=True)
class Run:
    """One encoder's metrics."""

    objective: str
    seed: int
    spearman: dict[str, float]  # by task, in the order of STS_TASKS
    pairs: dict[str, int]
    average: float
    data: str
    missing: tuple[str, ...]


@dataclass(frozen=True)
class Runs:
    """All encoders, measured on the same tasks of the same data."""

    by_objective: dict[str, dict[int, Run]]

    @property
    def any(self) -> Run:
        """Whichever; data, tasks, pairs and missing tasks are equal in all."""
        return next(iter(next(iter(self.by_objective.values())).values()))

    @property
    def unlike_published(self) -> tuple[str, ...]:
        """Tasks whose number of pairs shows that they are not the published test sets."""
        return tuple(task for task, n in self.any.pairs.items() if n != PUBLISHED_PAIRS[task])


def read_runs(
    folder: Path, objectives: Sequence[str] | None = None, seeds: Sequence[int] | None = None
) -> Runs:
    """Reads `folder/<objective>/<seed>.json` and checks that all were measured alike.

    Args:
        folder: Where the metrics lie.
        objectives: Which ones; all that are there if not given.
        seeds: Likewise.

    Raises:
        DataError: A file that was asked for is missing, or encoders were measured differently.
    """
    paths = sorted(
        path
        for path in folder.glob("*/*.json")
        if (objectives is None or path.parent.name in objectives)
        and (seeds is None or path.stem in map(str, seeds))
    )
    asked = [folder / name / f"{seed}.json" for name in objectives or () for seed in seeds or ()]
    absent = [path for path in asked if not path.is_file()]
    if absent or not paths:
        what = f"{absent[0]} is missing" if absent else f"{folder} holds no <objective>/<seed>.json"
        raise DataError(f"metrics: {what}; run pipeline.evaluate first.")
    runs: dict[str, dict[int, Run]] = {}
    first: Run | None = None
    for path in paths:
        run = _read_run(path)
        first = first or run
        for what in ("data", "pairs", "missing"):
            here, there = getattr(run, what), getattr(first, what)
            if here != there:
                raise DataError(
                    f"metrics: {path} has {what} {here}, {first.objective}/{first.seed} has "
                    f"{there}; evaluate all encoders on the same tasks of the same data."
                )
        runs.setdefault(run.objective, {})[run.seed] = run
    return Runs({name: dict(sorted(by_seed.items())) for name, by_seed in runs.items()})


def read_paired_scores(
    folder: Path, original: Sequence[Run], modified: Sequence[Run], task: str
) -> PairedScores:
    """The cosines of both encoders on one task, seed by seed.

    Raises:
        DataError: A file is absent, of another run than the metrics, or of other pairs.
    """
    loaded = [(run, *_read_scores(folder, run, task)) for run in (*original, *modified)]
    gold = loaded[0][2]
    for run, _, other in loaded:
        if not np.array_equal(gold, other):
            raise DataError(
                f"scores: {task} of {run.objective}/{run.seed} has other gold scores than "
                f"{original[0].objective}/{original[0].seed}; evaluate both on the same data."
            )
    cosines = [cosine for _, cosine, _ in loaded]
    return PairedScores(gold, cosines[: len(original)], cosines[len(original) :])


def _read_run(path: Path) -> Run:
    objective = path.parent.name
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        sts = found["sts"]
        run = Run(
            objective=objective,
            seed=int(path.stem),
            spearman={task: float(sts[task]["spearman"]) for task in STS_TASKS if task in sts},
            pairs={task: int(sts[task]["pairs"]) for task in STS_TASKS if task in sts},
            average=float(found["average"]),
            data=str(found["data"]),
            missing=tuple(found["missing"]),
        )
        said = (found["objective"], found["seed"])
    except (ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"metrics: {path} is not <objective>/<seed>.json as pipeline.evaluate writes it "
            f"({error!r}); evaluate the encoder again."
        ) from None
    if said not in {(None, None), (objective, run.seed)}:
        raise DataError(
            f"metrics: {path} was measured on {said[0]}-{said[1]}; "
            "evaluate the encoder that its place names."
        )
    return run


def _read_scores(folder: Path, run: Run, task: str) -> tuple[np.ndarray, np.ndarray]:
    path = folder / run.objective / f"{run.seed}.npz"
    try:
        with np.load(path, allow_pickle=False) as archive:
            cosine, gold = archive[f"{task}/cosine"], archive[f"{task}/gold"]
    except (OSError, ValueError, KeyError) as error:
        raise DataError(
            f"scores: {path} has no scores of {task} ({error}); "
            "run pipeline.evaluate with --scores for this encoder."
        ) from None
    everything = np.ones((1, len(gold)), dtype=np.int64)
    found = float(spearman_of_counts(everything, Ranking(gold), [Ranking(cosine)])[0, 0])
    if abs(found - run.spearman[task]) > STALE_DIFFERENCE:
        raise DataError(
            f"scores: {path} gives {found:.4f} on {task}, the metrics say "
            f"{run.spearman[task]:.4f}; evaluate the encoder again to write both."
        )
    return cosine, gold
