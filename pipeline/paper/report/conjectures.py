"""The paper's three conjectures, each against the numbers of the study, in plain words.

A statement holds where it does so for the runs that are there; how many those are is said with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pipeline.paper.report.sweeps import sweeps
from pipeline.results.layout import cell, markdown_table
from pipeline.results.numbers import spread

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.paper.report.study import Study
    from pipeline.results.numbers import Spread

BASELINE, WITHOUT = "paradigm", "paradigm_open"
SMALL, LARGE = 0.05, 0.3  # temperatures of conjecture 2


@dataclass(frozen=True)
class Evidence:
    """What a conjecture says, whether the numbers agree, and the numbers.

    Attributes:
        claim: the conjecture.
        holds: None where the runs that would tell are missing.
        reading: what the numbers say, a sentence or two.
        table: the numbers in Markdown; empty where there are none.
        seeds: how many each number stands on, at least.
    """

    claim: str
    holds: bool | None
    reading: str
    table: str
    seeds: int

    @property
    def verdict(self) -> str:
        """A few words; one seed is told as what it is."""
        if self.holds is None:
            return "not measured"
        words = "holds" if self.holds else "does not hold"
        return words if self.seeds > 1 else f"{words} for the one seed that was run"


def dissipation(study: Study) -> Evidence:
    """Conjecture 1: with dissipation, positives and negatives end nearer to each other."""
    claim = (
        "Dissipation keeps positives and negatives from being torn apart: with it, the gap between "
        "the mean positive and the mean negative cosine stays smaller than without."
    )
    if not {BASELINE, WITHOUT} <= study.seeds.keys():
        return _not_measured(claim, f"{BASELINE} and {WITHOUT}")
    lines = [["encoder", "seeds", "positive cosine", "negative cosine", "gap"]]
    lines.append(["untrained", "-", *(f"{_cosine(study.untrained, k):.3f}" for k in _COSINES)])
    for name, label in ((BASELINE, "with dissipation"), (WITHOUT, "without dissipation")):
        spreads = [study.over_seeds(name, _reader(key)) for key in _COSINES]
        lines.append([label, str(len(study.seeds[name])), *(cell(one, 3) for one in spreads)])
    shared = sorted(set(study.seeds[BASELINE]) & set(study.seeds[WITHOUT]))
    narrower = [
        _cosine(study.held_out[WITHOUT][seed], "gap")
        - _cosine(study.held_out[BASELINE][seed], "gap")
        for seed in shared
    ]
    smaller = sum(one > 0 for one in narrower)
    varied = study.over_seeds(BASELINE, lambda one: one["cosines"]["gap"]["deviation_over_batches"])
    return Evidence(
        claim,
        smaller == len(shared) if shared else None,
        f"The gap with dissipation is smaller in {smaller} of {len(shared)} seeds, by "
        f"{sum(narrower) / max(len(shared), 1):.3f} on average; from batch to batch it varies by "
        f"{varied.mean:.3f} (standard deviation).",
        markdown_table(lines, left=1),
        len(shared),
    )


_COSINES = ("positive", "negative", "gap")


def hardest_negative(study: Study) -> Evidence:
    """Conjecture 2: weight concentrates on the hardest negatives."""
    claim = (
        "Weight lets the hardest negative dominate: at a small temperature its share of the weight "
        "is far above the uniform one, before training and after; a larger temperature takes that "
        "away."
    )
    if BASELINE not in study.seeds:
        return _not_measured(claim, BASELINE)
    uniform = study.untrained["hardest_share"]["uniform"]
    lines = [["encoder", "t", "weight share", "times the uniform share", "push share"]]
    shares: list[list[float]] = []
    for label, measures in (
        ("untrained", [study.untrained]),
        ("trained", list(study.held_out[BASELINE].values())),
    ):
        by_temperature = [_share(measures, t, "weight_share") for t in (SMALL, LARGE)]
        pushes = [_share(measures, t, "push_share") for t in (SMALL, LARGE)]
        means = [one.mean for one in by_temperature if one is not None]
        shares += [means] if len(means) == len(by_temperature) else []
        for t, weight, push in zip((SMALL, LARGE), by_temperature, pushes, strict=True):
            times = "-" if weight is None else f"{weight.mean / uniform:.1f}"
            lines.append([label, f"{t:g}", _cell(weight), times, _cell(push)])
    holds = all(small > large > uniform for small, large in shares) if len(shares) == 2 else None
    return Evidence(
        claim,
        holds,
        f"A uniform share is {uniform:.4f} (one of {round(1 / uniform)} negatives); shares are of "
        "anchors that the margin leaves open.",
        markdown_table(lines, left=1),
        len(study.seeds[BASELINE]),
    )


def ratio(study: Study) -> Evidence:
    """Conjecture 3: a larger ratio brings positives nearer."""
    claim = (
        "The ratio decides how near positives are drawn: a larger one ends in a higher mean "
        "positive cosine."
    )
    points = sweeps(study, BASELINE).get("ratio", [])
    if len(points) < 2:
        return _not_measured(claim, f"{BASELINE} with several ratios")
    lines = [["ratio", "seeds", "positive cosine", "negative cosine"]]
    means: list[float] = []
    for point in points:
        both = [study.over_seeds(point.name, _reader(key)) for key in ("positive", "negative")]
        means.append(both[0].mean)
        seeds = str(len(point.seeds))
        lines.append([f"{point.value:g}", seeds, *(cell(one, 3) for one in both)])
    rises = sum(one < other for one, other in pairwise(means))
    return Evidence(
        claim,
        rises == len(means) - 1,
        f"From one ratio to the next larger one the mean positive cosine rises {rises} times of "
        f"{len(means) - 1}.",
        markdown_table(lines, left=1),
        min(len(point.seeds) for point in points),
    )


def _not_measured(claim: str, wanted: str) -> Evidence:
    reading = f"It needs runs of {wanted}; put them into analysis.objectives."
    return Evidence(claim, None, reading, "", 0)


def _cosine(measures: dict[str, Any], key: str) -> float:
    return float(measures["cosines"][key]["mean"])


def _reader(key: str) -> Callable[[dict[str, Any]], float]:
    return lambda measures: _cosine(measures, key)


def _share(measures: list[dict[str, Any]], temperature: float, kind: str) -> Spread | None:

    values = [
        row["open"][kind]
        for one in measures
        for row in one["hardest_share"]["by_temperature"]
        if row["temperature"] == temperature
    ]
    found = [value for value in values if value is not None]
    return spread(found) if found else None


def _cell(one: Spread | None) -> str:
    return "-" if one is None else cell(one, 3)
