"""Alignment with minimum hyperspherical energy: original, ablation steps and modified.

Negatives are of the anchor's own view, h_j. With s_ij = h_i.h_j:

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu e^{2 s_ij} / sum_{k<l} e^{2 s_kl} | e^{s_ij/t} / (t sum_{k<l} e^{s_kl/t}) |
| ratio | sum_{k<l} e^{2 s_kl} / (nu N sum_{k != i} e^{2 s_ik}) | r |

The original's ratio is what a pull of 2/N, alignment's, makes of its weight.
Source: Li, Zhang & Nie 2024, Table 3; the uniformity term is Wang & Isola's (2020).
"""

import math
from typing import Literal

import torch
from torch import Tensor

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import Composed, PiecesOf, Recipe
from pipeline.objectives.views import Views, without_diagonal


def energy(similarity: Tensor, exponent: int) -> Tensor:
    """MHE = log mean_{k<l} e^{exponent (h_k.h_l - 1)}; exponent 2 is e^{-|h_k - h_l|^2}."""
    pairs = similarity.shape[0] * (similarity.shape[0] - 1)
    logits = exponent * (without_diagonal(similarity, -torch.inf) - 1)
    return torch.logsumexp(logits.flatten(), dim=0) - math.log(pairs)


def mhe_loss(_: PiecesOf, v: Views, *, uniformity_coefficient: float, mhe_exponent: int) -> Tensor:
    """A + nu (MHE(h) + MHE(p)): everything carries gradient, A counts once."""
    views = (v.anchor_similarity, v.positive_similarity)
    uniformity = energy(views[0], mhe_exponent) + energy(views[1], mhe_exponent)
    return piece.alignment(v) + uniformity_coefficient * uniformity


def energy_weight(
    v: Views, *, uniformity_coefficient: piece.Coefficient = 10.0, mhe_exponent: Literal[2, 1] = 2
) -> Tensor:
    """A pair's share in the energy; a sum over k < l is half the sum over k != l.

    mhe_exponent: 2 (the paper), or 1 for the authors' code's e^{h_k.h_l}.
    """
    share = piece.softmax_over_pairs(v.anchor_similarity, 1 / mhe_exponent)
    return 2 * mhe_exponent * uniformity_coefficient * share


def tempered_weight(v: Views, *, temperature: piece.Temperature = 0.05) -> Tensor:
    """e^{h_i.h_j/t} / (t sum_{k<l} e^{h_k.h_l/t})."""
    return 2 / temperature * piece.softmax_over_pairs(v.anchor_similarity, temperature)


def ablation_pull(
    v: Views, weight: Tensor, *, mhe_weight_pull: Literal["alignment", "balanced"] = "alignment"
) -> Tensor:
    """At the step "+ weight": alignment's 2/N (the paper), or ratio 1 (the authors' code)."""
    if mhe_weight_pull == "balanced":
        return weight.sum(dim=1)
    return piece.alignment_pull(v, weight)


GATE, ALIGNMENT = piece.margin_gate, piece.alignment_pull
MHE = (
    Recipe("mhe", Composed(piece.constant, energy_weight, ALIGNMENT), mhe_loss),
    Recipe("mhe_dissipation", Composed(GATE, energy_weight, ALIGNMENT)),
    Recipe("mhe_dissipation_weight", Composed(GATE, tempered_weight, ablation_pull)),
    Recipe("mhe_modified", Composed(GATE, tempered_weight, piece.fixed_ratio(1.75))),
)
