"""What the terminal shows of an encoder's scores: a table for each half, and notes."""

from pathlib import Path

from rich.table import Column, Table

from pipeline.results.metrics import average_label
from pipeline.senteval.benchmark import Result


def tables(encoder: str, result: Result) -> list[Table]:
    """Those of the halves that ran."""
    halves = []
    if scores := result.sts.scores:
        title = f"{encoder}: correlation of cosine and gold x 100"
        table = _table(title, "Spearman", "Pearson", "mean of subsets", "weighted", "pairs")
        for score in scores:
            correlations = (score.spearman, score.pearson, score.mean, score.weighted_mean)
            table.add_row(score.task, *map(_number, correlations), f"{score.pairs:,}")
        _add_average(table, [score.task for score in scores], result.sts.average)
        halves.append(table)
    if accuracies := result.transfer.scores:
        how = f"setting {result.setting}, classifier mlp"
        title = f"{encoder}: accuracy in %, {how}"
        table = _table(title, "accuracy", "F1", "dev accuracy", "rows")
        for accuracy in accuracies:
            rows = ", ".join(f"{part} {count:,}" for part, count in accuracy.counts.items())
            percents = (accuracy.accuracy, accuracy.f1, accuracy.dev_accuracy)
            table.add_row(accuracy.task, *map(_number, percents), rows)
        _add_average(table, [score.task for score in accuracies], result.transfer.average)
        halves.append(table)
    return halves


def notes(result: Result, data: Path) -> list[str]:
    """What a reader of the tables must know: tasks without data, data that is not SentEval's."""
    sentences = []
    if result.missing:
        sentences.append(f"Missing, no data in {data}: {', '.join(result.missing)}.")
    other = [score.task for score in result.scores if score.label == "other"]
    if other:
        sentences.append(
            f"Not to be put beside published numbers, as the files in {data} are not the "
            f"benchmark's: {', '.join(other)}."
        )
    return sentences


def _table(title: str, *headings: str) -> Table:
    return Table("task", *(Column(heading, justify="right") for heading in headings), title=title)


def _add_average(table: Table, tasks: list[str], average: float) -> None:
    if len(tasks) > 1:
        table.add_row(average_label(tasks).partition(":")[0], _number(average), style="bold")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"
