"""The table of what losses do, and the same numbers for JSON."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from pipeline.objectives.anatomy import INVARIANT
from pipeline.results.layout import markdown_table
from pipeline.xray.catalogue import Entry
from pipeline.xray.sweep import STAGES, Examined

HEADER = (
    "loss",
    "dissipation: hard, easy",
    "hardest share",
    "ratio: least, most",
    "of axes",
    "the paper's prediction",
    "source",
)


def table(examined: Sequence[Examined], entries: Mapping[str, Entry]) -> str:
    """Markdown, a loss a line."""
    lines = [HEADER, *(_line(one, entries[one.name]) for one in examined)]
    return markdown_table(lines, left=len(HEADER))


def content(one: Examined, entry: Entry) -> dict[str, Any]:
    """What is known of a loss: name, values, source, measures by batch, verdict."""
    return {
        "loss": entry.loss,
        "values": dict(entry.values),
        "source": entry.source,
        "angles in degrees": {name: list(angles) for name, angles in STAGES.items()},
        "measures": {where: found._asdict() for where, found in one.measures.items()},
        "verdict": one.verdict._asdict(),
        "prediction": one.verdict.prediction,
    }


def _line(one: Examined, entry: Entry) -> Sequence[str]:
    angles = [one.measures[name] for name in STAGES]
    ratios = [found.ratio for found in angles if not math.isnan(found.ratio)]
    shares = [found.hardest for found in angles if not math.isnan(found.hardest)]
    first, last = angles[0], angles[-1]
    dependent = first.dependence >= INVARIANT
    left = f"{max(found.residual for found in angles):.0%} left" if dependent else "no"
    return (
        f"`{one.name}`",
        f"{number(first.dissipation)}, {number(last.dissipation)}",
        f"{number(max(shares))}" if shares else "-",
        f"{number(min(ratios))}, {number(max(ratios))}" if ratios else "-",
        left,
        one.verdict.prediction,
        entry.source,
    )


def number(value: float) -> str:
    """Two digits that count; words where a number would mislead."""
    if math.isnan(value):
        return "undefined"
    if math.isinf(value):
        return "no push"
    if abs(value) < 0.005:
        return "0"
    if abs(value) >= 1000:
        return f"10^{math.log10(abs(value)):.0f}"
    return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
