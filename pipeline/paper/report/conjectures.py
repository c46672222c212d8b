"""The paper's three conjectures, each against the numbers of the study.

Of each, one difference a seed is tested: it should be above zero. With two seeds or more the
verdict is that of its 95 % interval over seeds (Student's t), which may include zero; one seed
leaves it undecided. What a conjecture claims, and how the numbers read, is told in
`text.md.jinja`.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from pipeline.paper.report.tables import BASELINE, shown, sweeps
from pipeline.results.bootstrap import LEVEL
from pipeline.results.spread import cell, spread

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pipeline.paper.held_out.schema import Measurement
    from pipeline.paper.report.study import Study
    from pipeline.paper.report.tables import Rows
    from pipeline.results.spread import Spread

WITHOUT = "paradigm_open"  # the baseline without dissipation
SMALL, LARGE = 0.05, 0.3  # temperatures of conjecture 2


@dataclass(frozen=True)
class Evidence:
    """A conjecture's difference over seeds, and the numbers that explain it.

    Attributes:
        difference: mean over seeds; None where runs are missing that would tell.
        low: where its 95 % interval begins; None with fewer than two seeds.
        high: where it ends.
        seeds: how many it stands on.
        numbers: that its text needs.
        rows: of its table.
    """

    difference: float | None
    low: float | None
    high: float | None
    seeds: int
    numbers: dict[str, Any]
    rows: Rows

    @property
    def verdict(self) -> str:
        """In words."""
        if self.difference is None:
            return "not measured"
        if self.low is None or self.high is None or self.low <= 0 <= self.high:
            return "undecided"
        return "holds" if self.low > 0 else "does not hold"


def evidence(by_seed: Sequence[float], numbers: dict[str, Any], rows: Rows) -> Evidence:
    """Of one difference a seed."""
    count = len(by_seed)
    if not count:
        return Evidence(None, None, None, 0, numbers, rows)
    mean = float(np.mean(by_seed))
    if count == 1:
        return Evidence(mean, None, None, 1, numbers, rows)
    reach = float(stats.t.ppf(0.5 + LEVEL / 200, count - 1)) * float(stats.sem(by_seed))
    return Evidence(mean, mean - reach, mean + reach, count, numbers, rows)


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
    return evidence(narrower, {}, rows)


def hardest_negative(study: Study) -> Evidence | None:
    """Conjecture 2: weight concentrates on the hardest negatives."""
    if BASELINE not in study.seeds:
        return None
    uniform = study.untrained.hardest_share.uniform
    rows = []
    trained = study.held_out[BASELINE]
    for label, measures in (("untrained", [study.untrained]), ("trained", list(trained.values()))):
        for t in (SMALL, LARGE):
            weight = _share(measures, t, "weight_share")
            times = "-" if weight is None else f"{weight.mean / uniform:.1f}"
            push = _share(measures, t, "push_share")
            rows.append([label, f"{t:g}", shown(weight, 3), times, shown(push, 3)])
    shares = [
        [_share([encoder], t, "weight_share") for t in (SMALL, LARGE)]
        for encoder in trained.values()
    ]
    larger = [small.mean - large.mean for small, large in shares if small and large]
    return evidence(larger, {"uniform": uniform}, rows)


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
    (least, least_name), (largest, largest_name) = points[0], points[-1]
    low, high = study.held_out[least_name], study.held_out[largest_name]
    rises = [
        high[seed].cosines.positive.mean - low[seed].cosines.positive.mean
        for seed in sorted(low.keys() & high.keys())
    ]
    numbers = {
        "least": least,
        "largest": largest,
        "rises": sum(lower < higher for lower, higher in pairwise(means)),
        "steps": len(points) - 1,
        "served": _served(study),
    }
    return evidence(rises, numbers, rows)


def _served(study: Study) -> Rows:
    """By step length: the share of open anchors that a ratio of 1 brings nearer (Lemma 1)."""
    states = {"untrained": [study.untrained], "trained": study.held_out.get(BASELINE, {}).values()}
    rows = []
    for index, at_step in enumerate(study.untrained.minimum_ratio.by_step):
        shares = []
        for measures in states.values():
            share_served = [
                measurement.minimum_ratio.by_step[index].share_one_serves
                for measurement in measures
            ]
            defined = [share for share in share_served if share is not None]
            shares.append(shown(spread(defined) if defined else None, 3))
        rows.append([f"{at_step.step:g}", *shares])
    return rows


def _share(measures: Iterable[Measurement], temperature: float, kind: str) -> Spread | None:
    """Over the open anchors; None if it was not measured or no anchor was open."""
    rows = [row for measurement in measures for row in measurement.hardest_share.by_temperature]
    shares = [getattr(row.open, kind) for row in rows if row.temperature == temperature]
    defined = [share for share in shares if share is not None]
    return spread(defined) if defined else None
