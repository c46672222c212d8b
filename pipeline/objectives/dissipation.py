"""Gradient dissipation: what scales an anchor's whole gradient, (N,) in [0, 1].

Constant one, softmax mass of the negatives, margin gate; pure functions on cosine matrices.
"""

import torch
from torch import Tensor

from pipeline.objectives.hyperparameters import Gate
from pipeline.objectives.views import Views, hardest, without_diagonal


def constant(views: Views) -> Tensor:
    """1 for every anchor: the ineffective objectives never let go of a sentence."""
    return torch.ones_like(views.aligned)


def softmax_mass(positive: Tensor, cosine: Tensor, temperature: float) -> Tensor:
    """1 / (1 + e^{positive_i/t} / sum_{k != i} e^{c_ik/t}): the negatives' share of the softmax.

    Args:
        positive: (N,) similarity of each anchor to its positive (with its angular margin).
        cosine: (N, N), whose diagonal is not used.
        temperature: t.
    """
    negatives = torch.logsumexp(without_diagonal(cosine, -torch.inf) / temperature, dim=1)
    return torch.sigmoid(negatives - positive / temperature)


def margin_gate(views: Views, margin: float, gate: Gate) -> Tensor:
    """1 while an anchor is open, 0 once its positive leads its hardest negative by the margin.

    cross_view: c_ii - max_{k != i} c_ik < margin (the paper).
    within_view: 1 - max_{k != i} h_i . h_k < margin (the authors' code).
    """
    if gate == "cross_view":
        lead = views.aligned - hardest(views.cosine)[0]
    else:
        lead = 1 - hardest(views.own)[0]
    return (lead < margin).to(lead.dtype)
