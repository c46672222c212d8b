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
from typing import Annotated

import torch
from pydantic import Field
from torch import Tensor

from pipeline.objectives import pieces as piece
from pipeline.objectives.objective import PiecesOf, Recipe
from pipeline.objectives.pieces import Pieces
from pipeline.objectives.views import MIN_SQUARED_SINE, Views, diagonal_mask, distance, hardest

AngularMargin = Annotated[float, Field(ge=0, le=math.pi, description="radians")]
DistanceMargin = Annotated[float, Field(ge=0, le=2, description="distance")]
TEN_DEGREES = math.radians(10)


def softmax_loss(positive: Tensor, cosine: Tensor, temperature: float) -> Tensor:
    """Mean over i of -log e^{positive_i/t} / (e^{positive_i/t} + sum_{j != i} e^{c_ij/t})."""
    logits = torch.where(diagonal_mask(cosine), positive[:, None], cosine) / temperature
    return (torch.logsumexp(logits, dim=1) - positive / temperature).mean()


def _softmax_pieces(
    v: Views, positive: Tensor, ratio: Tensor | float, temperature: float
) -> Pieces:
    weight = piece.softmax_over_negatives(v.cosine, temperature) / temperature
    dissipation = piece.softmax_mass(positive, v.cosine, temperature)
    return Pieces(dissipation, weight, ratio * weight.sum(dim=1), 1 / v.count, piece.other_view)


def info_nce(v: Views, *, temperature: piece.Temperature = 0.05) -> Pieces:
    """InfoNCE's pieces. Source: van den Oord et al. 2018; for sentences SimCSE, Gao et al. 2021."""
    return _softmax_pieces(v, v.aligned, 1.0, temperature)


def info_nce_loss(_: PiecesOf, v: Views, *, temperature: float) -> Tensor:
    """-log e^{c_ii/t} / sum_j e^{c_ij/t}."""
    return softmax_loss(v.aligned, v.cosine, temperature)


def sine(cosine: Tensor) -> Tensor:
    """sin(theta) from cos(theta), at least sqrt(MIN_SQUARED_SINE)."""
    return (1 - cosine.square()).clamp_min(MIN_SQUARED_SINE).sqrt()


def widen(cosine: Tensor, angular_margin: float) -> Tensor:
    """cos(theta + u) from cos(theta), without the arc cosine's singular points."""
    return cosine * math.cos(angular_margin) - sine(cosine) * math.sin(angular_margin)


def arccon(
    v: Views, *, temperature: piece.Temperature = 0.05, angular_margin: AngularMargin = TEN_DEGREES
) -> Pieces:
    """ArcCon's pieces. Source: Zhang et al. 2022 (ArcCSE), Eq. (4)."""
    ratio = math.cos(angular_margin) + v.aligned * math.sin(angular_margin) / sine(v.aligned)
    return _softmax_pieces(v, widen(v.aligned, angular_margin), ratio, temperature)


def arccon_loss(_: PiecesOf, v: Views, *, temperature: float, angular_margin: float) -> Tensor:
    """InfoNCE with cos(theta_ii + u) for the positive."""
    return softmax_loss(widen(v.aligned, angular_margin), v.cosine, temperature)


def mpt(v: Views, *, margin: piece.CosineMargin = 0.23) -> Pieces:
    """MPT's pieces: a triplet loss on cosines with the hardest negative."""
    weight = piece.hardest_only(v.cosine)
    gate = piece.margin_gate(v, margin=margin)
    return Pieces(gate, weight, weight.sum(dim=1), 1 / v.count, piece.other_view)


def mpt_loss(_: PiecesOf, v: Views, *, margin: float) -> Tensor:
    """max(0, max_{j != i} c_ij - c_ii + m); a graph-connected zero where no anchor is open."""
    return torch.relu(hardest(v.cosine)[0] - v.aligned + margin).mean()


def met(v: Views, *, distance_margin: DistanceMargin = 0.45) -> Pieces:
    """MET's pieces: as MPT on Euclidean distances; clamp: d_ij^2 >= MIN_SQUARED_DISTANCE."""
    positive = distance(v.aligned)
    lead = distance(hardest(v.cosine)[0]) - positive
    weight = piece.hardest_only(v.cosine) / distance(v.cosine)
    gate = (lead < distance_margin).to(lead.dtype)
    return Pieces(gate, weight, 1 / positive, 1 / v.count, piece.other_view)


def met_loss(_: PiecesOf, v: Views, *, distance_margin: float) -> Tensor:
    """max(0, d_ii - min_{j != i} d_ij + m), d_ij = sqrt(2 - 2 c_ij)."""
    nearest = distance(hardest(v.cosine)[0])
    return torch.relu(distance(v.aligned) - nearest + distance_margin).mean()


CONTRASTIVE = (
    Recipe("info_nce", info_nce, info_nce_loss),
    Recipe("arccon", arccon, arccon_loss),
    Recipe("mpt", mpt, mpt_loss),
    Recipe("met", met, met_loss),
)
