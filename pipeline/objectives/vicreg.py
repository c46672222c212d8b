"""VICReg: original, textbook, ablation steps and modified.

Negatives are of the anchor's own view, h_j.

| | original | modified |
| --- | --- | --- |
| dissipation | 1 | gate: c_ii - max c_ik < m |
| weight | 2 nu h_i.h_j / N^2 | e^{h_i.h_j/t} / sum_{k != l} e^{h_k.h_l/t} |
| ratio | N / (nu sum_{k != i} h_i.h_k) | r |

nu = 2 nu1 N^2 / (D (N - 1)^2) for the textbook's covariance coefficient nu1 over alignment's. The
original's ratio is what a pull of 2/N, alignment's, makes of its weight. `vicreg` is the gradient
that the paper derives, (2/N) (-p_i + nu sum_{j != i} (h_i.h_j / N) h_j), which its authors train;
`vicreg_centred` is the textbook's closed form.
Source: Bardes et al. 2022, Eq. (6); Li, Zhang & Nie 2024, Table 3.
"""

from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor, nn

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import Composed, PiecesOf, Recipe, gradient_equivalent
from pipeline.objectives.views import Views, without_diagonal

# Under the square root of a feature's variance, as in Bardes et al. 2022.
VARIANCE_EPSILON = 1e-4

StandardDeviation = Annotated[float, Field(gt=0, description="embedding units")]


def covariance_weight(v: Views, *, covariance_coefficient: piece.Coefficient = 30.0) -> Tensor:
    """2 nu h_i.h_j / N^2, which may be negative."""
    return without_diagonal(v.anchor_similarity, 0.0) * (2 * covariance_coefficient / v.count**2)


def softmax_weight(v: Views, *, temperature: piece.Temperature = 0.05) -> Tensor:
    """e^{h_i.h_j/t} / sum_{k != l} e^{h_k.h_l/t}."""
    return piece.softmax_over_pairs(v.anchor_similarity, temperature)


def centred_view(v: Views) -> Tensor:
    """(N, D): the anchor's own view, centred over the batch."""
    return v.anchor - v.anchor.mean(dim=0)


def centred_weight(v: Views, *, covariance_coefficient: piece.Coefficient = 30.0) -> Tensor:
    """VICReg's weight at the centred embeddings."""
    centred = Views(centred_view(v), v.positive)
    return covariance_weight(centred, covariance_coefficient=covariance_coefficient)


def covariance_penalty(embeddings: Tensor) -> Tensor:
    """(1/2) sum_{k != l} C_kl^2 of C = (1/N) sum_i x_i x_i^T, x centred over the batch."""
    centred = embeddings - embeddings.mean(dim=0)
    covariance = centred.T @ centred / embeddings.shape[0]
    return without_diagonal(covariance, 0.0).square().sum() / 2


def variance_hinge(embeddings: Tensor, target: float) -> Tensor:
    """sum_k max(0, target - sqrt(Var_k + VARIANCE_EPSILON)), unbiased variance."""
    deviation = (embeddings.var(dim=0) + VARIANCE_EPSILON).sqrt()
    return torch.relu(target - deviation).sum()


def centred_loss(
    _: PiecesOf,
    v: Views,
    *,
    covariance_coefficient: float,
    variance_coefficient: piece.Ratio = 1.0,
    standard_deviation: StandardDeviation = 1.0,
) -> Tensor:
    """A + nu (covariance) + variance hinge over both views, on embeddings as they come.

    That is Bardes et al.'s loss divided by its invariance coefficient lambda:
    `variance_coefficient` is their mu / (lambda D), `standard_deviation` the hinge's target. Its
    gradient has two terms beside the pieces, which scale features and which the paper's
    derivation leaves out: those of C's diagonal and of the hinge.
    """
    loss = piece.alignment(v)
    for view in (v.anchor, v.positive):
        loss = loss + covariance_coefficient * covariance_penalty(view)
        loss = loss + variance_coefficient * variance_hinge(view, standard_deviation)
    return loss


GATE, ALIGNMENT = piece.margin_gate, piece.alignment_pull
CENTRED = Composed(piece.constant, centred_weight, ALIGNMENT, centred_view)
VICREG = (
    Recipe("vicreg", Composed(piece.constant, covariance_weight, ALIGNMENT), gradient_equivalent),
    Recipe("vicreg_centred", CENTRED, centred_loss, nn.Identity()),  # lengths count
    Recipe("vicreg_dissipation", Composed(GATE, covariance_weight, ALIGNMENT)),
    Recipe("vicreg_dissipation_weight", Composed(GATE, softmax_weight, ALIGNMENT)),
    Recipe("vicreg_modified", Composed(GATE, softmax_weight, piece.fixed_ratio(1.5))),
)
