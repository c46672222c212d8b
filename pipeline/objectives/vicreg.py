"""VICReg: original, textbook, ablation steps and modified.

Negatives are of the anchor's own view, h_j.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu h_i.h_j / N^2 | e^{h_i.h_j/t} / sum_{k != l} e^{h_k.h_l/t} |
| ratio | N / (nu sum_{k != i} h_i.h_k) | r |

nu = 2 nu1 N^2 / (D (N - 1)^2) for the textbook's covariance coefficient nu1 over alignment's.
Source: Bardes et al. 2022, Eq. (6); Li, Zhang & Nie 2024, Table 3.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.objectives.alignment import alignment
from pipeline.objectives.dissipation import constant
from pipeline.objectives.hyperparameters import coefficient, number, pull_ratio, temperature
from pipeline.objectives.objective import (
    Components,
    Gated,
    Modified,
    Objective,
    PiecewiseObjective,
)
from pipeline.objectives.ratio import off_zero, per_anchor
from pipeline.objectives.views import Views, without_diagonal
from pipeline.objectives.weight import softmax_over_pairs

# Under the square root of a feature's variance, as in Bardes et al. 2022.
VARIANCE_EPSILON = 1e-4


def covariance_weight(own: Tensor, coefficient: float) -> Tensor:
    """2 nu h_i.h_j / N^2."""
    return without_diagonal(own, 0.0) * (2 * coefficient / own.shape[0] ** 2)


def covariance_ratio(own: Tensor, coefficient: float) -> Tensor:
    """N / (nu sum_{k != i} h_i.h_k); clamp: see ratio.MIN_SIMILARITY_SUM."""
    similarity = off_zero(without_diagonal(own, 0.0).sum(dim=1))
    return per_anchor(own.shape[0] / (coefficient * similarity))


@dataclass(frozen=True, kw_only=True)
class VICReg(PiecewiseObjective):
    """The gradient that the paper derives: (2/N) (-p_i + nu sum_{j != i} (h_i.h_j / N) h_j).

    This is the form that the paper's authors train. `VICRegCentred` is the textbook one.

    Attributes:
        covariance_coefficient: nu > 0.
    """

    covariance_coefficient: float = coefficient(30.0)

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """2 nu h_i.h_j / N^2, which may be negative."""
        return covariance_weight(views.own, self.covariance_coefficient)

    def ratio_of(self, views: Views) -> Tensor:
        """What makes the whole pull alignment's 2/N."""
        return covariance_ratio(views.own, self.covariance_coefficient)

    def pull(self, components: Components, views: Views, positive: Tensor) -> Tensor:  # noqa: ARG002
        """(2/N) p_i, without the detour over a sum that may vanish."""
        return 2 / views.count * positive


def covariance_penalty(embeddings: Tensor) -> Tensor:
    """(1/2) sum_{k != l} C_kl^2 of C = (1/N) sum_i x_i x_i^T, x centred over the batch."""
    centred = embeddings - embeddings.mean(dim=0)
    covariance = centred.T @ centred / embeddings.shape[0]
    return without_diagonal(covariance, 0.0).square().sum() / 2


def variance_hinge(embeddings: Tensor, target: float) -> Tensor:
    """sum_k max(0, target - sqrt(Var_k + VARIANCE_EPSILON)), unbiased variance."""
    deviation = (embeddings.var(dim=0) + VARIANCE_EPSILON).sqrt()
    return torch.relu(target - deviation).sum()


@dataclass(frozen=True, kw_only=True)
class VICRegCentred(Objective):
    """The textbook form: A + nu (covariance) + variance hinge, on embeddings as they come.

    A + nu sum over both views of (1/2) sum_{k != l} C_kl^2 + variance_coefficient sum over both
    views of the hinge; C is the covariance over the batch. That is Bardes et al.'s loss divided
    by its invariance coefficient lambda: `variance_coefficient` is their mu / (lambda D).

    Its components are VICReg's at the centred embeddings; the gradient has two more terms, which
    scale features and which the paper's derivation leaves out (C's diagonal and the hinge).

    Attributes:
        covariance_coefficient: nu > 0.
        variance_coefficient: of the hinge, relative to alignment.
        standard_deviation: the hinge's target for each feature.
    """

    covariance_coefficient: float = coefficient(30.0)
    variance_coefficient: float = number(1.0, at_least=0.0, unit="no unit")
    standard_deviation: float = number(1.0, above=0.0, unit="embedding units")

    def normalise(self, embeddings: Tensor) -> Tensor:
        """Nothing: the textbook form keeps lengths; terms centre for themselves."""
        return embeddings

    def loss(self, views: Views) -> Tensor:
        """Closed form: everything carries gradient."""
        loss = alignment(views)
        for view in (views.anchor, views.positive):
            loss = loss + self.covariance_coefficient * covariance_penalty(view)
            loss = loss + self.variance_coefficient * variance_hinge(view, self.standard_deviation)
        return loss

    def negatives_of(self, views: Views) -> Tensor:
        """The anchor's own view, centred."""
        return views.anchor - views.anchor.mean(dim=0)

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """As VICReg's, on centred embeddings."""
        return covariance_weight(self._own(views), self.covariance_coefficient)

    def ratio_of(self, views: Views) -> Tensor:
        """As VICReg's, on centred embeddings."""
        return covariance_ratio(self._own(views), self.covariance_coefficient)

    def _own(self, views: Views) -> Tensor:
        centred = self.negatives_of(views)
        return centred @ centred.T


@dataclass(frozen=True, kw_only=True)
class VICRegDissipation(Gated, VICReg):
    """VICReg with the gate: first step of the ablation (Table 5)."""


@dataclass(frozen=True, kw_only=True)
class VICRegDissipationWeight(VICRegDissipation):
    """VICReg with the gate and the modified weight: second step of the ablation (Table 5).

    Attributes:
        temperature: t > 0, divides the cosine.
    """

    temperature: float = temperature()

    def weight_of(self, views: Views) -> Tensor:
        """As VICRegModified's; the ratio stays VICReg's."""
        return softmax_over_pairs(views.own, self.temperature)

    def pull(self, components: Components, views: Views, positive: Tensor) -> Tensor:
        """By the components: VICReg's short cut holds for its own weight only."""
        return PiecewiseObjective.pull(self, components, views, positive)


@dataclass(frozen=True, kw_only=True)
class VICRegModified(Modified):
    """VICReg with gate, softmax weight and fixed ratio.

    Attributes:
        temperature: t > 0, divides the cosine.
        ratio: r.
    """

    temperature: float = temperature()
    ratio: float = pull_ratio(1.5)

    def weight_of(self, views: Views) -> Tensor:
        """e^{h_i.h_j/t} / sum_{k != l} e^{h_k.h_l/t}."""
        return softmax_over_pairs(views.own, self.temperature)
