"""What the terminal shows of an encoder's scores: a table for each half, and notes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from pipeline.results.metrics import average_label

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.senteval.benchmark import Result
    from pipeline.senteval.sts import StsResult


def tables(encoder: str, result: Result) -> list[Table]:
    """Those of the halves that ran."""
    shown = []
    if result.sts.scores:
        shown.append(_sts(encoder, result.sts))
    if result.transfer.scores:
        shown.append(_transfer(encoder, result))
    return shown


def notes(result: Result, data: Path) -> list[str]:
    """What a reader of the tables must know: tasks without data, data that is not SentEval's."""
    said = []
    if result.missing:
        said.append(f"Missing, no data in {data}: {', '.join(result.missing)}.")
    other = [score.task for score in result.scores if score.label == "other"]
    if other:
        said.append(
            f"Not to be put beside published numbers, as the files in {data} are not the "
            f"benchmark's: {', '.join(other)}."
        )
    return said


def _sts(encoder: str, result: StsResult) -> Table:
    shown = Table(title=f"{encoder}: correlation of cosine and gold x 100")
    shown.add_column("task")
    for heading in ("Spearman", "Pearson", "mean of subsets", "weighted", "pairs"):
        shown.add_column(heading, justify="right")
    for score in result.scores:
        values = (score.spearman, score.pearson, score.mean, score.weighted_mean)
        shown.add_row(score.task, *(f"{value:.2f}" for value in values), f"{score.pairs:,}")
    if len(result.scores) > 1:
        label = average_label([score.task for score in result.scores])
        shown.add_row(label.partition(":")[0], f"{result.average:.2f}", style="bold")
    return shown


def _transfer(encoder: str, result: Result) -> Table:
    shown = Table(title=f"{encoder}: accuracy in %, setting {result.setting}, classifier mlp")
    shown.add_column("task")
    for heading in ("accuracy", "F1", "dev accuracy", "rows"):
        shown.add_column(heading, justify="right")
    scores = result.transfer.scores
    for score in scores:
        rows = ", ".join(f"{part} {count:,}" for part, count in score.counts.items())
        f1 = "" if score.f1 is None else f"{score.f1:.2f}"
        shown.add_row(score.task, f"{score.accuracy:.2f}", f1, f"{score.dev_accuracy:.2f}", rows)
    if len(scores) > 1:
        label = average_label([score.task for score in scores])
        shown.add_row(label.partition(":")[0], f"{result.transfer.average:.2f}", style="bold")
    return shown
