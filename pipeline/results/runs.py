"""What `evaluate` left of all encoders, read back and checked to be comparable. No statistics here.

Files lie at `<folder>/<objective>/<seed>.json` (metrics) and `.npz` (cosines and gold), those of
the backbone before training at `<folder>/untrained.json` and `.npz`, or `untrained_mean` with
another pooling.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from pipeline.machine.errors import InputError
from pipeline.results.bootstrap import Scored
from pipeline.results.metrics import Metrics
from pipeline.results.names import BACKBONES
from pipeline.senteval.similarity import spearman

# Metrics are rounded to 6 digits; a larger gap means scores of another run.
STALE_DIFFERENCE = 1e-4

Runs = dict[str, list[Metrics]]  # by objective, one a seed; all were measured alike


def read_runs(
    folder: Path, objectives: Sequence[str] | None = None, seeds: Sequence[int] | None = None
) -> Runs:
    """Reads the metrics of encoders, and of the backbone where it was measured.

    Args:
        folder: Where the metrics lie.
        objectives: Which ones; all that are there if not given.
        seeds: Likewise.

    Raises:
        InputError: A file that was asked for is missing, or encoders were measured differently.
    """
    paths = _paths(folder, objectives, seeds)
    first = _read(paths[0])
    expected = _conditions(first)
    runs: Runs = {}
    for path in paths:
        run = _read(path)
        for what, here in _conditions(run).items():
            if here != expected[what]:
                raise InputError(
                    f"metrics: {path} has {what} {here}, {place(first)} has {expected[what]}; "
                    "evaluate all encoders on the same tasks of the same data in the same "
                    "setting."
                )
        runs.setdefault(str(run.objective), []).append(run)
    return runs


def untrained_dev(runs: Runs) -> dict[str, float]:
    """Spearman x 100 of the backbone on the dev pairs, by pooling, where it was measured."""
    scores = {name: runs[name][0].dev_spearman for name in BACKBONES if name in runs}
    return {name: score for name, score in scores.items() if score is not None}


def any_of(runs: Runs) -> Metrics:
    """Whichever; what it was measured on all were."""
    return next(iter(runs.values()))[0]


def read_scores(folder: Path, runs: Sequence[Metrics], task: str) -> Scored:
    """One STS task's pairs, and each encoder's cosines.

    Raises:
        InputError: A file is absent, of another run than the metrics, or of other pairs.
    """
    golds, cosines, clusters = [], [], []
    for run in runs:
        path = folder / f"{place(run)}.npz"
        try:
            with np.load(path, allow_pickle=False) as archive:
                golds.append(archive[f"{task}/gold"])
                cosines.append(archive[f"{task}/cosine"])
                clusters.append(archive[f"{task}/cluster"])
        except (OSError, KeyError) as error:
            raise InputError(
                f"scores: {path} has no scores of {task} that can be read ({error}); "
                "run pipeline.evaluate with --scores for this encoder."
            ) from error
        # Git holds the metrics and DVC the scores: one may be pulled without the other.
        computed, reported = spearman(cosines[-1], golds[-1]), run.half("sts")[task].score
        if abs(computed - reported) > STALE_DIFFERENCE:
            raise InputError(
                f"scores: {path} gives {computed:.4f} on {task}, the metrics say "
                f"{reported:.4f}; evaluate the encoder again to write both."
            )
        if not np.array_equal(golds[-1], golds[0]):
            raise InputError(
                f"scores: {task} of {place(run)} has other gold scores than {place(runs[0])}; "
                "evaluate both on the same data."
            )
    return Scored(golds[0], clusters[0], cosines)


def place(run: Metrics) -> str:
    """An encoder's files below a folder, without suffix."""
    return str(run.objective) if run.seed is None else f"{run.objective}/{run.seed}"


def _paths(
    folder: Path, objectives: Sequence[str] | None, seeds: Sequence[int] | None
) -> list[Path]:
    """The files asked for, by seed, and the backbone's; each name and each seed must have one."""
    paths: set[Path] = set()
    for name in objectives or ["*"]:
        for seed in map(str, seeds) if seeds else ["*"]:
            matches = [path for path in folder.glob(f"{name}/{seed}.json") if path.stem.isdecimal()]
            if not matches:
                pattern = f"{name}/{seed}".replace("*/", "<objective>/").replace("/*", "/<seed>")
                raise InputError(
                    f"metrics: {folder} holds no {pattern}.json; run pipeline.evaluate first."
                )
            paths.update(matches)
    by_seed = sorted(paths, key=lambda path: (path.parent.name, int(path.stem)))
    backbones = [folder / f"{name}.json" for name in BACKBONES]
    return [*by_seed, *(path for path in backbones if path.is_file())]


def _read(path: Path) -> Metrics:
    """The metrics of an encoder, under the names that the file's place gives it."""
    try:
        run = Metrics.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        raise InputError(
            f"metrics: {path} is not <objective>/<seed>.json as pipeline.evaluate writes it "
            f"({where}: {first['msg']}); evaluate the encoder again."
        ) from None
    if path.stem in BACKBONES:  # which may be an encoder that was trained before
        return run.model_copy(update={"objective": path.stem, "seed": None})
    names = (path.parent.name, int(path.stem))
    recorded = (run.objective, run.seed)  # None of an encoder that Triad did not train
    if recorded not in ((None, None), names):
        raise InputError(
            f"metrics: {path} was measured on {recorded[0]}-{recorded[1]}; "
            "evaluate the encoder that its place names."
        )
    return run.model_copy(update={"objective": names[0], "seed": names[1]})


def _conditions(run: Metrics) -> dict[str, Any]:
    """What must be equal in all encoders that are compared."""
    sts, transfer = run.sts or {}, run.transfer or {}
    return {
        "data": run.data,
        "precision": run.precision or "fp32",
        "tasks": ", ".join(run.tasks),
        "missing": ", ".join(run.missing) or "none",
        "pairs": {task: score.pairs for task, score in sts.items()},
        "rows": {task: score.counts for task, score in transfer.items()},
        "labels": {task: score.label for half in (sts, transfer) for task, score in half.items()},
        "setting": run.setting,
    }
