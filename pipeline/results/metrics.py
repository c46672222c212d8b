"""What `evaluate` writes: metrics and the cosines behind them. Loads and measures no encoder."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.senteval.tasks import HALVES

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.senteval.benchmark import Result
    from pipeline.senteval.sts import StsResult, TaskScore
    from pipeline.senteval.transfer import TransferScore

DIGITS = 6  # more would differ between machines, fewer would hide a change
QUANTILES = 101


@dataclass(frozen=True)
class Measured:
    """Who was measured; what only Triad's own training records is None for other encoders.

    Attributes:
        encoder: Its id.
        version: Hash of its folder.
        objective: What it was trained with.
        seed: Likewise.
        dev_spearman: Spearman x 100 on the dev pairs of the step that was kept.
    """

    encoder: str
    version: str
    objective: str | None = None
    seed: int | None = None
    dev_spearman: float | None = None


def metrics(measured: Measured, result: Result, data: Path) -> dict[str, Any]:
    """What is written: nested plain numbers, so that `dvc metrics diff` can compare them.

    Of a half that did not run there is nothing. Times are left out: they differ between equal runs.
    """
    return {
        "encoder": measured.encoder,
        "version": measured.version,
        "objective": measured.objective,
        "seed": measured.seed,
        **({} if measured.dev_spearman is None else {"dev_spearman": measured.dev_spearman}),
        "data": data_name(data),
        "tasks": [score.task for score in result.scores],
        "missing": list(result.missing),
        **(_sts(result.sts) if result.sts.scores else {}),
        **(_transfer(result) if result.transfer.scores else {}),
    }


def average_label(tasks: list[str]) -> str:
    """Only the average of all seven tasks of a half may be called that."""
    if any(set(tasks) == set(half) for half in HALVES.values()):
        return "avg of seven"
    return f"avg of {len(tasks)}: {', '.join(tasks)}"


def data_name(data: Path) -> str:
    """The folder's or table's name; `downstream` alone says nothing: its parent's stands for it."""
    folder = data.resolve()
    if folder.is_file():
        return folder.stem
    return folder.parent.name if folder.name == "downstream" else folder.name


def scores_archive(result: StsResult) -> bytes:
    """`<task>/cosine` and `<task>/gold` of every pair, for the bootstrap in `compare`."""
    arrays = {f"{score.task}/cosine": score.cosine for score in result.scores}
    arrays |= {f"{score.task}/gold": score.gold for score in result.scores}
    archive = io.BytesIO()
    np.savez(archive, allow_pickle=False, **arrays)
    return archive.getvalue()


def _sts(result: StsResult) -> dict[str, Any]:
    cosines = np.concatenate([score.cosine for score in result.scores])
    quantiles = np.quantile(cosines, np.linspace(0, 1, QUANTILES))
    return {
        "sts": {score.task: _sts_task(score) for score in result.scores},
        "average": round(result.average, DIGITS),
        "average_label": average_label([score.task for score in result.scores]),
        "cosine_quantiles": [round(float(value), DIGITS) for value in quantiles],
    }


def _sts_task(score: TaskScore) -> dict[str, Any]:
    return {
        "spearman": round(score.spearman, DIGITS),
        "pearson": round(score.pearson, DIGITS),
        "mean": round(score.mean, DIGITS),
        "weighted_mean": round(score.weighted_mean, DIGITS),
        "pairs": score.pairs,
        "label": score.label,
        "subsets": {
            name: {"spearman": round(subset.spearman, DIGITS), "pairs": subset.pairs}
            for name, subset in score.subsets.items()
        },
    }


def _transfer(result: Result) -> dict[str, Any]:
    scores = result.transfer.scores
    return {
        "setting": result.setting,
        "classifier": "mlp",
        "transfer": {score.task: _transfer_task(score) for score in scores},
        "transfer_average": round(result.transfer.average, DIGITS),
        "transfer_average_label": average_label([score.task for score in scores]),
    }


def _transfer_task(score: TransferScore) -> dict[str, Any]:
    return {
        "accuracy": score.accuracy,
        "dev_accuracy": score.dev_accuracy,
        **({} if score.f1 is None else {"f1": score.f1}),
        "strengths": list(score.weight_decays),
        "counts": score.counts,
        "label": score.label,
    }
