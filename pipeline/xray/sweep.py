"""Batches from collapsed to well spread, what a loss does with each, and the verdict.

A batch of the angle model has prescribed mean angles: embeddings share a direction, so that
different sentences are at cos(negative angle), and a sentence's two views share another one, so
that these are at cos(positive angle); the rest is random. Angles of random directions add a
deviation of 1 / sqrt(D) to the cosines, as the simulation of section 3.1 has by its draws.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from pipeline.objectives.anatomy import Loss, anatomy, dependence
from pipeline.objectives.views import l2_normalize

Batch = tuple[Tensor, Tensor]
COUNT, DIMENSION = 64, 256
# Mean angles to the positive and to the negatives, in degrees.
STAGES = {
    "collapsed": (8, 12),
    "untrained": (20, 45),
    "midway": (35, 70),
    "spread": (30, 85),
    "easy": (10, 88),
}
# Shares and ratios that the paper's effective objectives keep to.
LETS_GO, HOLDS_ON = 0.1, 0.9  # mean dissipation of anchors that need no more
NO_SHARE = (-0.1, 1.5)  # beyond these it is none: see Anatomy
DOMINATES, ALIKE = 5.0, 2.0  # the hardest negative's share over that of equal pushes
LEAST_RATIO, SPREAD_OF_RATIOS = 0.99, 3.0

Judgement = Literal["good", "weak", "faulty", "undefined"]


def angle_batch(
    positive: float, negative: float, count: int = COUNT, dimension: int = DIMENSION, seed: int = 0
) -> Batch:
    """Two (N, D) views with these mean angles, in radians, both at most pi / 2.

    The positive's angle may exceed the negatives' only as far as there is room: a sentence's two
    views then share a direction with opposite signs.
    """
    generator = torch.Generator().manual_seed(seed)
    shared, own, first, second = (
        l2_normalize(torch.randn(rows, dimension, dtype=torch.float64, generator=generator))
        for rows in (1, count, count, count)
    )
    common = max(math.cos(negative), 0.0)
    between = math.cos(positive) - common
    rest = 1 - common - abs(between)
    if rest < 0:
        raise ValueError(f"no batch has angles {positive:g} to positives and {negative:g} to all.")
    base = math.sqrt(common) * shared
    part, noise = math.sqrt(abs(between)) * own, math.sqrt(rest)
    views = base + part + noise * first, base + math.copysign(1, between) * part + noise * second
    return l2_normalize(views[0]), l2_normalize(views[1])


def stages() -> dict[str, Batch]:
    """The angle model's batches."""
    return {
        name: angle_batch(math.radians(positive), math.radians(negative))
        for name, (positive, negative) in STAGES.items()
    }


class Measure(NamedTuple):
    """What a loss does with one batch: medians over anchors; NaN where nothing is defined.

    Attributes:
        dissipation: see `Anatomy`; 0 where no anchor is pushed at all.
        hardest: the hardest negative's share over what it is where all pushes are equal.
        ratio: pull over push; infinite where there is pull and no push.
        dependence: see `Anatomy`.
        residual: likewise.
    """

    dissipation: float
    hardest: float
    ratio: float
    dependence: float
    residual: float


def measure(loss: Loss, batch: Batch, name: str, on_axes: float, turned: int = 3) -> Measure:
    """Take a loss apart on one batch; arguments as `anatomy` has them."""
    parts = anatomy(loss, *batch, name=name, turned=turned, on_axes=on_axes)
    negatives = torch.cat([parts.own, parts.other], dim=1)
    views = sum(bool((view != 0).any()) for view in (parts.own, parts.other))
    pushed = (negatives != 0).any(dim=1)
    moved = pushed | (parts.pull != 0)
    dissipation = float(parts.dissipation.nanmedian())
    return Measure(
        dissipation=0.0 if not moved.any() else dissipation,
        hardest=float(parts.hardest_share[pushed].nanmedian()) * views * (len(batch[0]) - 1)
        if pushed.any()
        else math.nan,
        ratio=float(parts.ratio[moved].median()) if moved.any() else math.nan,
        dependence=parts.dependence,
        residual=parts.residual,
    )


class Verdict(NamedTuple):
    """The paper's three questions, each judged.

    Attributes:
        dissipation: does it let go of anchors that need no more?
        weight: do hard negatives dominate?
        ratio: is it at least 1 in every batch, and of one size?
    """

    dissipation: Judgement
    weight: Judgement
    ratio: Judgement

    @property
    def prediction(self) -> str:
        """What the paper would expect of training with it."""
        judged = self._asdict().items()
        faulty = ", ".join(name for name, value in judged if value == "faulty")
        doubtful = ", ".join(name for name, value in judged if value in ("weak", "undefined"))
        remarks = [f"repair {faulty}"] * bool(faulty) + [f"doubtful: {doubtful}"] * bool(doubtful)
        return "; ".join(remarks) or "works"


def verdict(measures: Mapping[str, Measure]) -> Verdict:
    """Judge a loss by what it does with all batches of the angle model."""
    dissipation = [measure.dissipation for measure in measures.values()]
    easy = [measures[name].dissipation for name in ("spread", "easy")]
    hard = [measures[name].hardest for name in ("untrained", "midway", "spread")]
    ratios = [measure.ratio for measure in measures.values() if not math.isnan(measure.ratio)]
    return Verdict(
        dissipation=_dissipates(dissipation, easy),
        weight=_dominates([value for value in hard if not math.isnan(value)]),
        ratio=_is_stable(ratios),
    )


def _dissipates(total: Sequence[float], easy: Sequence[float]) -> Judgement:
    if any(math.isnan(value) for value in easy) or not all(
        NO_SHARE[0] < value < NO_SHARE[1] for value in total if not math.isnan(value)
    ):
        return "undefined"
    if max(easy) <= LETS_GO:
        return "good"
    return "weak" if max(easy) < HOLDS_ON else "faulty"


def _dominates(shares: Sequence[float]) -> Judgement:
    if not shares:
        return "undefined"
    if max(shares) >= DOMINATES:
        return "good"
    return "weak" if max(shares) > ALIKE else "faulty"


def _is_stable(ratios: Sequence[float]) -> Judgement:
    if not ratios:
        return "undefined"
    if min(ratios) < LEAST_RATIO or max(ratios) == math.inf:
        return "faulty"
    return "good" if max(ratios) <= SPREAD_OF_RATIOS * min(ratios) else "weak"


@dataclass(frozen=True)
class Examined:
    """A loss with what it does in each stage, and the verdict."""

    name: str
    measures: Mapping[str, Measure]

    @property
    def verdict(self) -> Verdict:
        """By the angle model's stages alone."""
        return verdict({name: self.measures[name] for name in STAGES})


def examine(name: str, loss: Loss, batches: Mapping[str, Batch] | None = None) -> Examined:
    """Measure a loss on the angle model's batches, and on others besides."""
    all_batches = stages() | dict(batches or {})
    on_axes = dependence(loss, name, COUNT)
    measures = {where: measure(loss, batch, name, on_axes) for where, batch in all_batches.items()}
    return Examined(name, measures)
