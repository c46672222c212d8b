"""The effective contrastive objectives: InfoNCE, ArcCon, MPT and MET.

All run in one direction (h against p), negatives are the other view's p_j, the mean is over
anchors (factor 1/N), and everything carries gradient.

| | dissipation | weight | ratio |
| --- | --- | --- | --- |
| InfoNCE | softmax mass of the negatives | softmax / t | 1 |
| ArcCon | the same, positive at theta + u | softmax / t | sin(theta + u) / sin(theta) |
| MPT | gate: c_ii - max c_ik < m | 1 for the hardest | 1 |
| MET | gate: min d_ik - d_ii < m | 1 / d_ij for the hardest | d_ij / d_ii |

Source: Li, Zhang & Nie 2024, Table 1.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.objectives import ratio
from pipeline.objectives.dissipation import margin_gate, softmax_mass
from pipeline.objectives.hyperparameters import cosine_margin, number, temperature
from pipeline.objectives.objective import Components, Objective
from pipeline.objectives.views import (
    MIN_SQUARED_SINE,
    Views,
    diagonal_mask,
    distance,
    hardest,
)
from pipeline.objectives.weight import hardest_only, softmax_over_negatives


def softmax_loss(positive: Tensor, cosine: Tensor, temperature: float) -> Tensor:
    """Mean over i of -log e^{positive_i/t} / (e^{positive_i/t} + sum_{j != i} e^{c_ij/t})."""
    logits = torch.where(diagonal_mask(cosine), positive[:, None], cosine) / temperature
    return (torch.logsumexp(logits, dim=1) - positive / temperature).mean()


def widen(cosine: Tensor, angular_margin: float) -> Tensor:
    """cos(theta + u) from cos(theta), without the arc cosine's singular points."""
    sine = (1 - cosine.square()).clamp_min(MIN_SQUARED_SINE).sqrt()
    return cosine * math.cos(angular_margin) - sine * math.sin(angular_margin)


@dataclass(frozen=True, kw_only=True)
class _Contrastive(Objective):
    """One direction; negatives from the other view; mean over anchors."""

    def negatives_of(self, views: Views) -> Tensor:
        """The positives of the other sentences."""
        return views.positive

    def factor(self, components: Components) -> float:
        """1 / N."""
        return 1 / components.dissipation.shape[0]


@dataclass(frozen=True, kw_only=True)
class InfoNCE(_Contrastive):
    """-log e^{c_ii/t} / sum_j e^{c_ij/t}.

    Source: van den Oord et al. 2018; for sentences SimCSE, Gao et al. 2021, Eq. (1). ArcCon adds
    an angular margin to it.

    Attributes:
        temperature: t > 0, divides the cosine.
    """

    temperature: float = temperature()

    def positive(self, views: Views) -> Tensor:
        """(N,) similarity to the positive, as it enters the softmax."""
        return views.aligned

    def loss(self, views: Views) -> Tensor:
        """The mean over anchors."""
        return softmax_loss(self.positive(views), views.cosine, self.temperature)

    def dissipation_of(self, views: Views) -> Tensor:
        """The negatives' mass in the softmax."""
        return softmax_mass(self.positive(views), views.cosine, self.temperature)

    def weight_of(self, views: Views) -> Tensor:
        """Softmax / t over an anchor's negatives."""
        return softmax_over_negatives(views.cosine, self.temperature) / self.temperature

    def ratio_of(self, views: Views) -> Tensor:
        """1."""
        return ratio.fixed(views, 1.0)


@dataclass(frozen=True, kw_only=True)
class ArcCon(InfoNCE):
    """InfoNCE with cos(theta_ii + u) for the positive.

    Source: Zhang et al. 2022 (ArcCSE), Eq. (4). Clamp: sin(theta_ii)^2 >= MIN_SQUARED_SINE.

    Attributes:
        temperature: t > 0, divides the cosine.
        angular_margin: u in radians.
    """

    angular_margin: float = number(math.radians(10), at_least=0.0, at_most=math.pi, unit="radians")

    def positive(self, views: Views) -> Tensor:
        """cos(theta_ii + u)."""
        return widen(views.aligned, self.angular_margin)

    def ratio_of(self, views: Views) -> Tensor:
        """sin(theta_ii + u) / sin(theta_ii)."""
        return ratio.angle(views, self.angular_margin)


@dataclass(frozen=True, kw_only=True)
class MPT(_Contrastive):
    """max(0, max_{j != i} c_ij - c_ii + m): triplet loss on cosines with the hardest negative.

    Source: Li, Zhang & Nie 2024, Table 1. MET is the same on Euclidean distances.

    Attributes:
        margin: m, in cosine.
    """

    margin: float = cosine_margin(0.23)

    def loss(self, views: Views) -> Tensor:
        """The mean over anchors; a graph-connected zero where no anchor is active."""
        return torch.relu(hardest(views.cosine)[0] - views.aligned + self.margin).mean()

    def dissipation_of(self, views: Views) -> Tensor:
        """1 while the positive's cosine leads by less than the margin, else 0."""
        return margin_gate(views, self.margin, "cross_view")

    def weight_of(self, views: Views) -> Tensor:
        """1 for the hardest negative."""
        return hardest_only(views.cosine)

    def ratio_of(self, views: Views) -> Tensor:
        """1."""
        return ratio.fixed(views, 1.0)


@dataclass(frozen=True, kw_only=True)
class MET(_Contrastive):
    """max(0, d_ii - min_{j != i} d_ij + m), d_ij = sqrt(2 - 2 c_ij).

    Source: Li, Zhang & Nie 2024, Table 1. MPT is the same on cosines. Clamp: d_ij^2 >=
    MIN_SQUARED_DISTANCE.

    Attributes:
        distance_margin: m, in Euclidean distance between unit vectors.
    """

    distance_margin: float = number(0.45, at_least=0.0, at_most=2.0, unit="distance")

    def loss(self, views: Views) -> Tensor:
        """The mean over anchors; a graph-connected zero where no anchor is active."""
        nearest = distance(hardest(views.cosine)[0])
        return torch.relu(distance(views.aligned) - nearest + self.distance_margin).mean()

    def dissipation_of(self, views: Views) -> Tensor:
        """1 while the positive is nearer by less than the margin, else 0."""
        lead = distance(hardest(views.cosine)[0]) - distance(views.aligned)
        return (lead < self.distance_margin).to(lead.dtype)

    def weight_of(self, views: Views) -> Tensor:
        """1 / d_ij for the hardest negative."""
        return hardest_only(views.cosine) / distance(views.cosine)

    def ratio_of(self, views: Views) -> Tensor:
        """d_ij / d_ii."""
        return ratio.distances(views)
