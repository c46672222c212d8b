"""Layout of a comparison: the paper's Tables 2 and 4 in Markdown, and the same numbers for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.results.bootstrap import LEVEL, Interval
from pipeline.results.layout import (
    SPREAD,
    cell,
    markdown_table,
    rounded,
    rows_json,
    scores_table,
    spread_json,
    warning,
)
from pipeline.results.metrics import DIGITS, average_label
from pipeline.results.numbers import DevScores, Row, Twins, differences
from pipeline.results.transfer import transfer_blocks, transfer_json

if TYPE_CHECKING:
    from pipeline.results.runs import Runs


@dataclass(frozen=True)
class Comparison:
    """All that is shown; of a half that did not run there are no rows."""

    runs: Runs
    sts: list[Row]
    transfer: list[Row]
    twins: list[Twins]
    dev: dict[str, DevScores]
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
    if comparison.dev:
        blocks += [_DEV_CAPTION, _dev_table(comparison)]
    if comparison.twins:
        blocks += [_intervals_caption(comparison), _intervals_table(comparison)]
    return "\n\n".join(blocks) + "\n"


def _sts_json(comparison: Comparison) -> dict[str, Any]:
    half = comparison.runs.half("sts")
    gains = differences(comparison.sts)
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
        "twins": {
            twins.modified: _twins_json(twins, gains[twins.modified]) for twins in comparison.twins
        },
    }


def _twins_json(twins: Twins, gain: dict[str, float]) -> dict[str, Any]:
    return {
        "original": twins.original,
        "modified": twins.modified,
        "difference": rounded(gain),
        "shared_seeds": list(twins.seeds),
        "bootstrap": {
            task: {
                "difference": round(found.difference, DIGITS),
                "low": round(found.low, DIGITS),
                "high": round(found.high, DIGITS),
                "holds_zero": found.holds_zero,
            }
            for task, found in twins.intervals.items()
        },
    }


def _sts_caption(comparison: Comparison) -> str:
    half = comparison.runs.half("sts")
    what = (
        "Spearman's correlation x 100 of cosine and gold, all pairs of a task together; "
        f"{SPREAD}. Measured on `{comparison.runs.any.data}`; {average_label(list(half.scores))}."
    )
    return "\n".join([what, *warning(half)])


_DEV_CAPTION = (
    "STS-B dev during training: the best step, whose encoder is measured above, and the last. An "
    "objective that needs its best step picked for it falls between the two."
)


def _dev_table(comparison: Comparison) -> str:
    lines = [["objective", "best", "last", "last - best"]]
    for row in comparison.sts or comparison.transfer:
        if row.objective in comparison.dev:
            dev = comparison.dev[row.objective]
            fall = f"{dev.last.mean - dev.best.mean:+.2f}"
            lines.append([f"`{row.objective}`", cell(dev.best), cell(dev.last), fall])
    return markdown_table(lines, left=1)


def _intervals_caption(comparison: Comparison) -> str:
    return (
        f"Modified less original with its {LEVEL} % interval: paired bootstrap over sentence "
        f"pairs, {comparison.resamples:,} resamples (seed {comparison.seed}), seeds that both "
        "have. It covers the choice of pairs, not the choice of training seeds."
    )


def _intervals_table(comparison: Comparison) -> str:
    lines = [["modified", "task", "reading", "difference", "interval", "seeds"]]
    for twins in comparison.twins:
        name, seeds = f"`{twins.modified}`", ", ".join(map(str, twins.seeds))
        if not twins.intervals:
            lines.append([name, "-", "no interval", "-", "-", "none in common"])
        for task, found in twins.intervals.items():
            bounds = f"{found.low:+.2f} to {found.high:+.2f}"
            lines.append([name, task, reading(found), f"{found.difference:+.2f}", bounds, seeds])
    return markdown_table(lines, left=3)


def reading(found: Interval) -> str:
    """What an interval says, in words."""
    if found.holds_zero:
        return "holds zero: these pairs do not tell the two apart"
    return "modified is better" if found.low > 0 else "modified is worse"
