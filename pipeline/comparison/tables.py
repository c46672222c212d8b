"""Layout of a comparison: the paper's Table 2 in Markdown, and the same numbers for JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.comparison.bootstrap import LEVEL, Interval
from pipeline.comparison.numbers import AVERAGE, DevScores, Row, Spread, Twins
from pipeline.metrics import DIGITS, average_label
from pipeline.senteval.sts import PUBLISHED_PAIRS

if TYPE_CHECKING:
    from pipeline.comparison.runs import Runs


@dataclass(frozen=True)
class Comparison:
    """All that a table shows."""

    runs: Runs
    rows: list[Row]
    twins: list[Twins]
    dev: dict[str, DevScores]
    resamples: int
    seed: int

    @property
    def tasks(self) -> list[str]:
        """Tasks that ran."""
        return list(self.runs.any.pairs)


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Nested plain numbers, rounded so that equal inputs give equal bytes."""
    run = comparison.runs.any
    return {
        "data": run.data,
        "pairs": run.pairs,
        "missing": list(run.missing),
        "average_label": average_label(comparison.tasks),
        "comparable_to_published": not comparison.runs.unlike_published,
        "bootstrap": {
            "resamples": comparison.resamples,
            "seed": comparison.seed,
            "level_percent": LEVEL,
        },
        "objectives": {row.objective: _row_json(row) for row in comparison.rows},
        "dev": {
            objective: {"best": _spread_json(dev.best), "last": _spread_json(dev.last)}
            for objective, dev in comparison.dev.items()
        },
        "twins": {twins.modified: _twins_json(twins) for twins in comparison.twins},
    }


def as_markdown(comparison: Comparison) -> str:
    """Caption, table of scores and, where there are any, of dev scores and of intervals."""
    blocks = [_caption(comparison), _scores_table(comparison)]
    if comparison.dev:
        blocks += [_DEV_CAPTION, _dev_table(comparison)]
    if comparison.twins:
        blocks += [_intervals_caption(comparison), _intervals_table(comparison)]
    return "\n\n".join(blocks) + "\n"


def _row_json(row: Row) -> dict[str, Any]:
    scores = {task: _spread_json(spread) for task, spread in row.scores.items()}
    return {"seeds": list(row.seeds), "scores": scores}


def _spread_json(spread: Spread) -> dict[str, float | None]:
    deviation = None if spread.deviation is None else round(spread.deviation, DIGITS)
    return {"mean": round(spread.mean, DIGITS), "deviation": deviation}


def _twins_json(twins: Twins) -> dict[str, Any]:
    return {
        "original": twins.original,
        "modified": twins.modified,
        "difference": {task: round(value, DIGITS) for task, value in twins.differences.items()},
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


def _caption(comparison: Comparison) -> str:
    runs = comparison.runs
    what = (
        "Spearman's correlation x 100 of cosine and gold, all pairs of a task together; mean over "
        "seeds, ± sample standard deviation where there are two seeds or more (n = 1: one seed, "
        f"no deviation). Measured on `{runs.any.data}`; {average_label(comparison.tasks)}."
    )
    lines = [what]
    if runs.any.missing:
        lines.append(f"Missing, as their data was not there: {', '.join(runs.any.missing)}.")
    if runs.unlike_published:
        counts = ", ".join(
            f"{task} {runs.any.pairs[task]:,} pairs instead of {PUBLISHED_PAIRS[task]:,}"
            for task in runs.unlike_published
        )
        lines.append(
            "**These are not the published test sets "
            f"({counts}): the numbers must not be put beside published ones.**"
        )
    return "\n".join(lines)


def _scores_table(comparison: Comparison) -> str:
    tasks = [*comparison.tasks, AVERAGE]
    twins = {found.modified: found for found in comparison.twins}
    lines = [["objective", "seeds", *tasks]]
    for row in comparison.rows:
        cells = [_cell(row.scores[task]) for task in tasks]
        lines.append([f"`{row.objective}`", f"n = {len(row.seeds)}", *cells])
        if row.objective in twins:
            found = twins[row.objective].differences
            lines.append(
                ["*modified - original*", "", *(f"*{found[task]:+.2f}*" for task in tasks)]
            )
    return _markdown_table(lines, left=1)


_DEV_CAPTION = (
    "STS-B dev during training: the best step, whose encoder is measured above, and the last. An "
    "objective that needs its best step picked for it falls between the two."
)


def _dev_table(comparison: Comparison) -> str:
    lines = [["objective", "best", "last", "last - best"]]
    for row in comparison.rows:
        if row.objective in comparison.dev:
            dev = comparison.dev[row.objective]
            fall = f"{dev.last.mean - dev.best.mean:+.2f}"
            lines.append([f"`{row.objective}`", _cell(dev.best), _cell(dev.last), fall])
    return _markdown_table(lines, left=1)


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
    return _markdown_table(lines, left=3)


def reading(found: Interval) -> str:
    """What an interval says, in words."""
    if found.holds_zero:
        return "holds zero: these pairs do not tell the two apart"
    return "modified is better" if found.low > 0 else "modified is worse"


def _cell(spread: Spread) -> str:
    mean, deviation = spread.mean, spread.deviation
    return f"{mean:.2f}" if deviation is None else f"{mean:.2f} ± {deviation:.2f}"


def _markdown_table(lines: list[list[str]], *, left: int) -> str:
    """The first `left` columns are aligned left, the others right."""
    header, *body = lines
    rule = ["---" if column < left else "---:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(line)} |" for line in (header, rule, *body))
