"""Alignment with minimum hyperspherical energy: original, ablation steps and modified.

Negatives are of the anchor's own view, h_j.

With s_ij = h_i.h_j:

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu e^{2 s_ij} / sum_{k<l} e^{2 s_kl} | e^{s_ij/t} / (t sum_{k<l} e^{s_kl/t}) |
| ratio | sum_{k<l} e^{2 s_kl} / (nu N sum_{k != i} e^{2 s_ik}) | r |

Source: Li, Zhang & Nie 2024, Table 3; the uniformity term is Wang & Isola's (2020).
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.objectives.alignment import alignment
from pipeline.objectives.dissipation import constant
from pipeline.objectives.hyperparameters import choice, coefficient, pull_ratio, temperature
from pipeline.objectives.objective import Gated, Modified, Objective
from pipeline.objectives.ratio import per_anchor
from pipeline.objectives.views import Views, without_diagonal
from pipeline.objectives.weight import softmax_over_pairs


def energy(own: Tensor, exponent: int) -> Tensor:
    """MHE = log mean_{k<l} e^{exponent (h_k.h_l - 1)}; exponent 2 is e^{-|h_k - h_l|^2}."""
    pairs = own.shape[0] * (own.shape[0] - 1)
    logits = exponent * (without_diagonal(own, -torch.inf) - 1)
    return torch.logsumexp(logits.flatten(), dim=0) - math.log(pairs)


def energy_weight(own: Tensor, coefficient: float, exponent: int) -> Tensor:
    """Exponent nu e^{..ij} / sum_{k<l} e^{..kl}; a sum over k < l is half the sum over k != l."""
    return 2 * exponent * coefficient * softmax_over_pairs(own, 1 / exponent)


def balancing_ratio(weight: Tensor) -> Tensor:
    """The ratio at which an anchor's whole pull is alignment's 2/N: 2 / (N sum_j weight_ij)."""
    return per_anchor(2 / (weight.shape[0] * weight.sum(dim=1)))


@dataclass(frozen=True, kw_only=True)
class MHE(Objective):
    """A + nu (MHE(h) + MHE(p)), MHE(h) = log mean_{k<l} e^{-|h_k - h_l|^2}.

    Attributes:
        uniformity_coefficient: nu > 0.
        mhe_exponent: 2 (the paper), or 1 for the authors' code's e^{h_k.h_l}.
    """

    uniformity_coefficient: float = coefficient(10.0)
    mhe_exponent: int = choice(2, 1)

    def loss(self, views: Views) -> Tensor:
        """Closed form: everything carries gradient, A counts once."""
        uniformity = energy(views.own, self.mhe_exponent) + energy(views.other, self.mhe_exponent)
        return alignment(views) + self.uniformity_coefficient * uniformity

    def dissipation_of(self, views: Views) -> Tensor:
        """1."""
        return constant(views)

    def weight_of(self, views: Views) -> Tensor:
        """A pair's share in the energy."""
        return energy_weight(views.own, self.uniformity_coefficient, self.mhe_exponent)

    def ratio_of(self, views: Views) -> Tensor:
        """What makes the whole pull alignment's 2/N."""
        weight = energy_weight(views.own, self.uniformity_coefficient, self.mhe_exponent)
        return balancing_ratio(weight)


@dataclass(frozen=True, kw_only=True)
class MHEDissipation(Gated, MHE):
    """MHE with the gate: first step of the ablation (Table 5)."""


def modified_energy_weight(own: Tensor, temperature: float) -> Tensor:
    """e^{h_i.h_j/t} / (t sum_{k<l} e^{h_k.h_l/t})."""
    return 2 / temperature * softmax_over_pairs(own, temperature)


@dataclass(frozen=True, kw_only=True)
class MHEDissipationWeight(MHEDissipation):
    """MHE with the gate and the modified weight: second step of the ablation (Table 5).

    Attributes:
        temperature: t > 0, divides the cosine.
    """

    temperature: float = temperature()

    def weight_of(self, views: Views) -> Tensor:
        """As MHEModified's; the ratio stays MHE's."""
        return modified_energy_weight(views.own, self.temperature)


@dataclass(frozen=True, kw_only=True)
class MHEModified(Modified):
    """MHE with gate, tempered weight and fixed ratio.

    Attributes:
        temperature: t > 0, divides the cosine.
        ratio: r.
    """

    temperature: float = temperature()
    ratio: float = pull_ratio(1.75)

    def weight_of(self, views: Views) -> Tensor:
        """e^{h_i.h_j/t} / (t sum_{k<l} e^{h_k.h_l/t})."""
        return modified_energy_weight(views.own, self.temperature)
