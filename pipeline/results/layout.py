"""Cells, rows and tables in Markdown, and the same numbers rounded for JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pipeline.results.metrics import DIGITS, average_label
from pipeline.results.numbers import AVERAGE, differences

if TYPE_CHECKING:
    from pipeline.results.numbers import Row, Spread
    from pipeline.results.runs import Half

SPREAD = (
    "mean over seeds, ± sample standard deviation where there are two seeds or more (n = 1: one "
    "seed, no deviation)"
)


def cell(spread: Spread, digits: int = 2) -> str:
    """Mean and, if there is one, deviation."""
    mean, deviation = f"{spread.mean:.{digits}f}", spread.deviation
    return mean if deviation is None else f"{mean} ± {deviation:.{digits}f}"


def scores_table(rows: list[Row]) -> str:
    """An objective a line, a task a column; below each modified form its gain on the original."""
    tasks = columns(rows[0])
    gains = differences(rows)
    lines = [["objective", "seeds", *tasks]]
    for row in rows:
        cells = [cell(row.scores[task]) for task in tasks]
        seeds = f"n = {len(row.seeds)}" if row.seeds else "-"
        lines.append([f"`{row.objective}`", seeds, *cells])
        if row.objective in gains:
            gain = gains[row.objective]
            lines.append(["*modified - original*", "", *(f"*{gain[task]:+.2f}*" for task in tasks)])
    return markdown_table(lines, left=1)


def measured_on(data: str, tasks: list[str]) -> str:
    """The sentence that says which data scores are of, and what their average is over."""
    average = f"; {average_label(tasks)}" if len(tasks) > 1 else ""
    return f"Measured on `{data}`{average}."


def columns(row: Row) -> list[str]:
    """The tasks that a table shows, and their average if there are several."""
    return [task for task in row.scores if task != AVERAGE or len(row.scores) > 2]


def markdown_table(lines: list[list[str]], *, left: int) -> str:
    """The first `left` columns are aligned left, the others right."""
    header, *body = lines
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *body))


def warning(half: Half, *more: str) -> list[str]:
    """The line that keeps numbers away from published ones, if any reason for it is given."""
    others = ", ".join(half.other)
    reasons = [f"the files of {others} are not the benchmark's", *more] if others else more
    if not reasons:
        return []
    told = "; ".join(reasons)
    return [f"**Not comparable ({told}): the numbers must not be put beside published ones.**"]


def rows_json(rows: list[Row]) -> dict[str, Any]:
    """Seeds and scores by objective."""
    return {
        row.objective: {
            "seeds": list(row.seeds),
            "scores": {task: spread_json(spread) for task, spread in row.scores.items()},
        }
        for row in rows
    }


def spread_json(spread: Spread) -> dict[str, float | None]:
    """Mean and deviation, rounded so that equal inputs give equal bytes."""
    deviation = None if spread.deviation is None else round(spread.deviation, DIGITS)
    return {"mean": round(spread.mean, DIGITS), "deviation": deviation}


def rounded(by_task: dict[str, float]) -> dict[str, float]:
    """Likewise."""
    return {task: round(value, DIGITS) for task, value in by_task.items()}
