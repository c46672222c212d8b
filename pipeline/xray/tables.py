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
    lines = [HEADER, *(_line(loss, entries[loss.name]) for loss in examined)]
    return markdown_table(lines, left=len(HEADER))


def content(loss: Examined, entry: Entry) -> dict[str, Any]:
    """What is known of a loss: name, values, source, measures by batch, verdict."""
    return {
        "loss": entry.loss,
        "values": dict(entry.values),
        "source": entry.source,
        "angles in degrees": {name: list(angles) for name, angles in STAGES.items()},
        "measures": {where: measure._asdict() for where, measure in loss.measures.items()},
        "verdict": loss.verdict._asdict(),
        "prediction": loss.verdict.prediction,
    }


def _line(loss: Examined, entry: Entry) -> Sequence[str]:
    angles = [loss.measures[name] for name in STAGES]
    ratios = [measure.ratio for measure in angles if not math.isnan(measure.ratio)]
    shares = [measure.hardest for measure in angles if not math.isnan(measure.hardest)]
    first, last = angles[0], angles[-1]
    dependent = first.dependence >= INVARIANT
    residual = f"{max(measure.residual for measure in angles):.0%} left" if dependent else "no"
    return (
        f"`{loss.name}`",
        f"{number(first.dissipation)}, {number(last.dissipation)}",
        f"{number(max(shares))}" if shares else "-",
        f"{number(min(ratios))}, {number(max(ratios))}" if ratios else "-",
        residual,
        loss.verdict.prediction,
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
