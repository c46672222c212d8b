"""The paper's three conjectures, each against the numbers of the study.

A conjecture holds where it does so for the runs that are there. What it claims, and how the
numbers read, is told in `text.md.jinja`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pipeline.paper.report.tables import BASELINE, shown, sweeps
from pipeline.results.layout import cell
from pipeline.results.numbers import spread

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pipeline.paper.held_out.schema import Measurement
    from pipeline.paper.report.study import Study
    from pipeline.paper.report.tables import Rows
    from pipeline.results.numbers import Spread

WITHOUT = "paradigm_open"  # the baseline without dissipation
SMALL, LARGE = 0.05, 0.3  # temperatures of conjecture 2


@dataclass(frozen=True)
class Evidence:
    """Whether a conjecture holds, and the numbers that tell.

    Attributes:
        holds: None where runs are missing that would tell.
        seeds: how many each number stands on, at least.
        numbers: that its text needs.
        rows: of its table.
    """

    holds: bool | None
    seeds: int
    numbers: dict[str, Any]
    rows: Rows


def conjectures(study: Study) -> dict[str, Evidence | None]:
    """By component; None where the runs are missing."""
    return {
        "dissipation": dissipation(study),
        "weight": hardest_negative(study),
        "ratio": ratio(study),
    }


def dissipation(study: Study) -> Evidence | None:
    """Conjecture 1: with dissipation, positives and negatives end nearer to each other."""
    if not {BASELINE, WITHOUT} <= study.seeds.keys():
        return None
    which = ("positive", "negative", "gap")
    untrained = [getattr(study.untrained.cosines, key).mean for key in which]
    rows = [["untrained", "-", *(f"{mean:.3f}" for mean in untrained)]]
    for name, label in ((BASELINE, "with dissipation"), (WITHOUT, "without dissipation")):
        cells = [cell(study.cosine(name, key), 3) for key in which]
        rows.append([label, str(len(study.seeds[name])), *cells])
    with_it, without = study.held_out[BASELINE], study.held_out[WITHOUT]
    narrower = [
        without[seed].cosines.gap.mean - with_it[seed].cosines.gap.mean
        for seed in sorted(with_it.keys() & without.keys())
    ]
    smaller = sum(one > 0 for one in narrower)
    varied = [one.cosines.gap.deviation_over_batches or math.nan for one in with_it.values()]
    return Evidence(
        holds=smaller == len(narrower) if narrower else None,
        seeds=len(narrower),
        numbers={
            "smaller": smaller,
            "by": sum(narrower) / max(len(narrower), 1),
            "varied": sum(varied) / len(varied),
        },
        rows=rows,
    )


def hardest_negative(study: Study) -> Evidence | None:
    """Conjecture 2: weight concentrates on the hardest negatives."""
    if BASELINE not in study.seeds:
        return None
    uniform = study.untrained.hardest_share.uniform
    rows = []
    holds: bool | None = True
    for label, measures in (
        ("untrained", [study.untrained]),
        ("trained", study.held_out[BASELINE].values()),
    ):
        weights = {t: _share(measures, t, "weight_share") for t in (SMALL, LARGE)}
        for t, weight in weights.items():
            times = "-" if weight is None else f"{weight.mean / uniform:.1f}"
            push = _share(measures, t, "push_share")
            rows.append([label, f"{t:g}", shown(weight, 3), times, shown(push, 3)])
        small, large = weights.values()
        if small is None or large is None:
            holds = None
        elif holds is not None:
            holds = holds and small.mean > large.mean > uniform
    return Evidence(holds, len(study.seeds[BASELINE]), {"uniform": uniform}, rows)


def ratio(study: Study) -> Evidence | None:
    """Conjecture 3: a larger ratio brings positives nearer."""
    points = sweeps(study).get("ratio", [])
    if len(points) < 2:
        return None
    rows, means = [], []
    for value, name in points:
        positive, negative = study.cosine(name, "positive"), study.cosine(name, "negative")
        seeds = str(len(study.seeds[name]))
        rows.append([f"{value:g}", seeds, cell(positive, 3), cell(negative, 3)])
        means.append(positive.mean)
    rises = sum(one < other for one, other in pairwise(means))
    return Evidence(
        holds=rises == len(points) - 1,
        seeds=min(len(study.seeds[name]) for _, name in points),
        numbers={"rises": rises, "steps": len(points) - 1},
        rows=rows,
    )


def _share(measures: Iterable[Measurement], temperature: float, kind: str) -> Spread | None:
    """Over the open anchors; None if it was not measured or no anchor was open."""
    rows = [row for one in measures for row in one.hardest_share.by_temperature]
    shares = [getattr(row.open, kind) for row in rows if row.temperature == temperature]
    defined = [share for share in shares if share is not None]
    return spread(defined) if defined else None
