"""What `evaluate` left of all encoders, read back and checked to be comparable. No statistics here.

Files lie at `<folder>/<objective>/<seed>.json` (metrics) and `.npz` (cosines and gold).
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from pipeline.machine.errors import InputError
from pipeline.results.bootstrap import PairedScores, Ranking, spearman_of_counts
from pipeline.senteval.tasks import HALVES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

HalfName = Literal["sts", "transfer"]

# Metrics are rounded to 6 digits; a larger gap means scores of another run.
STALE_DIFFERENCE = 1e-4

UNTRAINED = "untrained"
_ANY_OBJECTIVE, _ANY_SEED = "<objective>", "<seed>"  # as messages show them


@dataclass(frozen=True)
class Half:
    """The tasks of one half that ran, in the order in which they are reported; perhaps none."""

    scores: dict[str, float]  # Spearman x 100, or accuracy in percent
    counts: dict[str, int | dict[str, int]]  # pairs, or rows of each part
    labels: dict[str, str]
    average: float  # NaN if no task ran

    @property
    def other(self) -> tuple[str, ...]:
        """Tasks whose data is not the published benchmark."""
        return tuple(task for task, label in self.labels.items() if label != "benchmark")


@dataclass(frozen=True)
class Run:
    """One encoder's metrics; setting and classifier are None if no transfer task ran.

    The seed is None of the backbone, whose objective is called `untrained`.
    """

    objective: str
    seed: int | None
    data: str
    missing: tuple[str, ...]
    halves: dict[HalfName, Half]
    setting: str | None
    classifier: str | None

    @property
    def conditions(self) -> dict[str, Any]:
        """What must be equal in all encoders that are compared."""
        sts, transfer = self.halves["sts"], self.halves["transfer"]
        return {
            "data": self.data,
            "tasks": ", ".join([*sts.scores, *transfer.scores]),
            "missing": ", ".join(self.missing) or "none",
            "pairs": sts.counts,
            "rows": transfer.counts,
            "labels": sts.labels | transfer.labels,
            "setting": self.setting,
            "classifier": self.classifier,
        }


@dataclass(frozen=True)
class Runs:
    """All encoders, measured under the same conditions.

    Attributes:
        by_objective: Those that were trained, by seed.
        untrained: The backbone, where it was measured.
    """

    by_objective: dict[str, dict[int, Run]]
    untrained: Run | None = None

    @property
    def any(self) -> Run:
        """Whichever; its conditions are those of all."""
        return next(iter(next(iter(self.by_objective.values())).values()))

    def half(self, name: HalfName) -> Half:
        """Tasks, counts and labels of a half; its scores are those of one encoder."""
        return self.any.halves[name]


def read_runs(
    folder: Path, objectives: Sequence[str] | None = None, seeds: Sequence[int] | None = None
) -> Runs:
    """Reads `folder/<objective>/<seed>.json` and checks that all were measured alike.

    The backbone's metrics are read from `untrained.json`, where it is there.

    Args:
        folder: Where the metrics lie.
        objectives: Which ones; all that are there if not given.
        seeds: Likewise.

    Raises:
        InputError: A file that was asked for is missing, or encoders were measured differently.
    """
    runs: dict[str, dict[int, Run]] = {}
    first: Run | None = None
    for path in _chosen(folder, objectives, seeds):
        run = _read_run(path)
        first = first or run
        _check_alike(path, run, first)
        runs.setdefault(run.objective, {})[int(path.stem)] = run
    untrained, path = None, folder / f"{UNTRAINED}.json"
    if path.is_file():
        untrained = _read_run(path)
        _check_alike(path, untrained, next(iter(runs[min(runs)].values())))
    ordered = {name: dict(sorted(by_seed.items())) for name, by_seed in runs.items()}
    return Runs(ordered, untrained)


def read_paired_scores(
    folder: Path, original: Sequence[Run], modified: Sequence[Run], task: str
) -> PairedScores:
    """The cosines of both encoders on one task, seed by seed.

    Raises:
        InputError: A file is absent, of another run than the metrics, or of other pairs.
    """
    loaded = [(run, *_read_scores(folder, run, task)) for run in (*original, *modified)]
    gold = loaded[0][2]
    for run, _, other in loaded:
        if not np.array_equal(gold, other):
            raise InputError(
                f"scores: {task} of {run.objective}/{run.seed} has other gold scores than "
                f"{original[0].objective}/{original[0].seed}; evaluate both on the same data."
            )
    cosines = [cosine for _, cosine, _ in loaded]
    return PairedScores(gold, cosines[: len(original)], cosines[len(original) :])


def _chosen(
    folder: Path, objectives: Sequence[str] | None, seeds: Sequence[int] | None
) -> list[Path]:
    """The files asked for; each name and each seed must have one."""
    there = sorted(folder.glob("*/*.json"))
    chosen: set[Path] = set()
    for name in objectives or [_ANY_OBJECTIVE]:
        for seed in map(str, seeds) if seeds else [_ANY_SEED]:
            found = {
                path
                for path in there
                if name in (_ANY_OBJECTIVE, path.parent.name) and seed in (_ANY_SEED, path.stem)
            }
            if not found:
                raise InputError(
                    f"metrics: {folder} holds no {name}/{seed}.json; run pipeline.evaluate first."
                )
            chosen |= found
    return sorted(chosen)


def _check_alike(path: Path, run: Run, first: Run) -> None:
    expected = first.conditions
    for what, here in run.conditions.items():
        if here != expected[what]:
            raise InputError(
                f"metrics: {path} has {what} {here}, {first.objective}/{first.seed} has "
                f"{expected[what]}; evaluate all encoders on the same tasks of the same data, "
                "with the same setting and classifier."
            )


def _read_run(path: Path) -> Run:
    untrained = path.stem == UNTRAINED
    objective = UNTRAINED if untrained else path.parent.name
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _check_tasks(found)
        run = Run(
            objective=objective,
            seed=None if untrained else int(path.stem),
            data=str(found["data"]),
            missing=tuple(found["missing"]),
            halves={
                "sts": _half(found, "sts", "spearman", "pairs", "average"),
                "transfer": _half(found, "transfer", "accuracy", "counts", "transfer_average"),
            },
            setting=found["setting"] if "transfer" in found else None,
            classifier=found["classifier"] if "transfer" in found else None,
        )
        said = (found["objective"], found["seed"])
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(
            f"metrics: {path} is not <objective>/<seed>.json as pipeline.evaluate writes it "
            f"({_reason(error)}); evaluate the encoder again."
        ) from None
    if said != (None, None) and (untrained or said != (objective, run.seed)):
        raise InputError(
            f"metrics: {path} was measured on {said[0]}-{said[1]}; "
            "evaluate the encoder that its place names."
        )
    return run


def _check_tasks(found: dict[str, Any]) -> None:
    if set(found["tasks"]) != {*found.get("sts", {}), *found.get("transfer", {})}:
        raise ValueError("its list of tasks and their scores differ")


def _half(found: dict[str, Any], name: HalfName, score: str, counts: str, average: str) -> Half:
    known, written = HALVES[name], found.get(name, {})
    order = [*(task for task in known if task in written), *(written.keys() - set(known))]
    by_task = {task: written[task] for task in order}
    scores = {task: float(result[score]) for task, result in by_task.items()}
    if not all(map(math.isfinite, scores.values())):
        raise ValueError(f"{name} holds scores that are not finite")
    return Half(
        scores=scores,
        counts={task: result[counts] for task, result in by_task.items()},
        labels={task: str(result["label"]) for task, result in by_task.items()},
        average=float(found[average]) if by_task else math.nan,
    )


def _reason(error: Exception) -> str:
    return f"it lacks {error}" if isinstance(error, KeyError) else str(error)


def _read_scores(folder: Path, run: Run, task: str) -> tuple[np.ndarray, np.ndarray]:
    place = run.objective if run.seed is None else f"{run.objective}/{run.seed}"
    path = folder / f"{place}.npz"
    try:
        # NumPy leaves a file open that it cannot read, if it opens it itself.
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            cosine, gold = archive[f"{task}/cosine"], archive[f"{task}/gold"]
        _check_pairs(cosine, gold)
    except Exception as error:  # a damaged archive raises whatever its readers raise
        raise InputError(
            f"scores: {path} has no scores of {task} that can be read ({_reason(error)}); "
            "run pipeline.evaluate with --scores for this encoder."
        ) from error
    everything = np.ones((1, len(gold)), dtype=np.int64)
    found = float(spearman_of_counts(everything, Ranking(gold), [Ranking(cosine)])[0, 0])
    said = run.halves["sts"].scores[task]
    if abs(found - said) > STALE_DIFFERENCE:
        raise InputError(
            f"scores: {path} gives {found:.4f} on {task}, the metrics say "
            f"{said:.4f}; evaluate the encoder again to write both."
        )
    return cosine, gold


def _check_pairs(cosine: np.ndarray, gold: np.ndarray) -> None:
    if cosine.ndim != 1 or cosine.shape != gold.shape:
        raise ValueError(f"cosine has shape {cosine.shape}, gold {gold.shape}")
    if not (np.isfinite(cosine).all() and np.isfinite(gold).all()):
        raise ValueError("a cosine or gold score is not finite")
