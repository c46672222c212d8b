"""Layout of a comparison: the paper's Tables 2 and 4 in Markdown, and the same numbers for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.results.bootstrap import LEVEL, Interval
from pipeline.results.layout import (
    SPREAD,
    cell,
    markdown_table,
    measured_on,
    rows_json,
    scores_table,
    spread_json,
    warning,
)
from pipeline.results.metrics import DIGITS, average_label
from pipeline.results.numbers import AVERAGE, DevScores, Difference, Row
from pipeline.results.runs import UNTRAINED
from pipeline.results.transfer import transfer_blocks, transfer_json

if TYPE_CHECKING:
    from pipeline.results.runs import Runs


@dataclass(frozen=True)
class Comparison:
    """All that is shown; of a half that did not run there are no rows."""

    runs: Runs
    sts: list[Row]
    transfer: list[Row]
    differences: list[Difference]
    dev: dict[str, DevScores]
    untrained: float | None  # the backbone's score on the dev pairs
    resamples: int
    seed: int


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Nested plain numbers, rounded so that equal inputs give equal bytes."""
    run = comparison.runs.any
    content: dict[str, Any] = {"data": run.data, "missing": list(run.missing)}
    if comparison.sts:
        content |= _sts_json(comparison)
    if comparison.transfer:
        content["transfer"] = transfer_json(comparison.runs, comparison.transfer)
    content["dev"] = {
        objective: {"best": spread_json(dev.best), "last": spread_json(dev.last)}
        for objective, dev in comparison.dev.items()
    }
    return content


def as_markdown(comparison: Comparison) -> str:
    """Captions and tables: scores, intervals where there are any, and dev scores likewise."""
    blocks = []
    if comparison.sts:
        blocks += [_sts_caption(comparison), scores_table(comparison.sts)]
    if comparison.transfer:
        blocks += transfer_blocks(comparison.runs, comparison.transfer)
    if comparison.runs.any.missing:
        missing = ", ".join(comparison.runs.any.missing)
        blocks.append(f"Missing, as their data was not there: {missing}.")
    if comparison.differences:
        blocks += [_differences_caption(comparison), _differences_table(comparison)]
    if comparison.dev:
        blocks += [_DEV_CAPTION, _dev_table(comparison)]
    return "\n\n".join(blocks) + "\n"


def _sts_json(comparison: Comparison) -> dict[str, Any]:
    half = comparison.runs.half("sts")
    return {
        "pairs": half.counts,
        "labels": half.labels,
        "average_label": average_label(list(half.scores)),
        "comparable_to_published": not half.other,
        "bootstrap": {
            "resamples": comparison.resamples,
            "seed": comparison.seed,
            "level_percent": LEVEL,
        },
        "objectives": rows_json(comparison.sts),
        "differences": [_difference_json(one) for one in comparison.differences],
    }


def _difference_json(difference: Difference) -> dict[str, Any]:
    return {
        "objective": difference.objective,
        "reference": difference.reference,
        "shared_seeds": list(difference.seeds),
        "tasks": {
            task: {
                "difference": round(interval.difference, DIGITS),
                "low": round(interval.low, DIGITS),
                "high": round(interval.high, DIGITS),
                "includes_zero": interval.includes_zero,
            }
            for task, interval in difference.intervals.items()
        },
    }


def _sts_caption(comparison: Comparison) -> str:
    half = comparison.runs.half("sts")
    what = (
        "Spearman's correlation x 100 of cosine and gold, all pairs of a task together; "
        f"{SPREAD}. {measured_on(comparison.runs.any.data, list(half.scores))}"
    )
    return "\n".join([what, *warning(half)])


_DEV_CAPTION = (
    "Spearman's correlation x 100 on the dev pairs during training: at the last step, and at the "
    "best one, which only labels can find."
)


def _dev_table(comparison: Comparison) -> str:
    lines = [["objective", "last", "best", "last - best"]]
    if comparison.untrained is not None:
        lines.append([f"`{UNTRAINED}`", f"{comparison.untrained:.2f}", "-", "-"])
    for row in comparison.sts or comparison.transfer:
        if row.objective in comparison.dev:
            dev = comparison.dev[row.objective]
            fall = f"{dev.last.mean - dev.best.mean:+.2f}"
            lines.append([f"`{row.objective}`", cell(dev.last), cell(dev.best), fall])
    return markdown_table(lines, left=1)


def _differences_caption(comparison: Comparison) -> str:
    return (
        f"Differences with {LEVEL} % confidence intervals: paired bootstrap over sentence pairs "
        f"({comparison.resamples:,} resamples, seed {comparison.seed}), of the seeds that both "
        "have. The interval covers the choice of pairs, not the choice of training seeds."
    )


def _differences_table(comparison: Comparison) -> str:
    """Of a modified form and its original all tasks; of other two the average."""
    lines = [["objective", "less", "task", "difference", "interval", "reading", "seeds"]]
    for one in comparison.differences:
        names, seeds = [f"`{one.objective}`", f"`{one.reference}`"], ", ".join(map(str, one.seeds))
        if not one.intervals:
            lines.append([*names, "-", "-", "-", "no seed in common", "-"])
        tasks = [task for task in one.intervals if task != AVERAGE or len(one.intervals) > 2]
        if not one.objective.startswith(f"{one.reference}_"):
            tasks = tasks[-1:]
        for task in tasks:
            found = one.intervals[task]
            bounds = f"{found.low:+.2f} to {found.high:+.2f}"
            pairs = _pairs(comparison, task)
            cells = [task, f"{found.difference:+.2f}", bounds, reading(found, pairs), seeds]
            lines.append([*names, *cells])
    return markdown_table(lines, left=3)


def _pairs(comparison: Comparison, task: str) -> int:
    """Scored pairs of a task, or of all."""
    counts = {name: int(str(count)) for name, count in comparison.runs.half("sts").counts.items()}
    return counts.get(task, sum(counts.values()))


def reading(found: Interval, pairs: int) -> str:
    """What an interval says, in words."""
    if found.includes_zero:
        return f"includes zero: {pairs:,} pairs cannot separate the two"
    return "higher" if found.low > 0 else "lower"
