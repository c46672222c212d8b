"""The pieces that objectives share: dissipations, weights, pulls; and the types of their settings.

Pure functions on cosine matrices. What follows a bare `*` in a signature is a hyperparameter: its
annotation says range and unit, its default is the paper's value.
"""

from collections.abc import Callable
from typing import Annotated, Literal, NamedTuple

import torch
from pydantic import Field
from torch import Tensor

from pipeline.objectives.views import Views, hardest, without_diagonal

Temperature = Annotated[float, Field(gt=0, description="cosine")]
CosineMargin = Annotated[float, Field(ge=0, le=2, description="cosine")]
Coefficient = Annotated[float, Field(gt=0, description="no unit")]
Ratio = Annotated[float, Field(ge=0, description="no unit")]
Gate = Literal["cross_view", "within_view"]
View = Literal["own_view", "other_view"]


def own_view(views: Views) -> Tensor:
    """h_j, (N, D): negatives of the anchor's own view."""
    return views.anchor


def other_view(views: Views) -> Tensor:
    """p_j, (N, D): negatives of the other view, as in contrastive learning."""
    return views.positive


class Pieces(NamedTuple):
    """An anchor's whole gradient, row by row.

    factor * dissipation_i * (sum_{j != i} weight_ij negative_j - pull_i toward positive_i)

    and, where both views' negatives push, other_weight_ij p_j in the sum.

    Attributes:
        dissipation: (N,) scale of the anchor's gradient, in [0, 1].
        weight: (N, N) push on each negative, zero on the diagonal.
        pull: (N,) pull on the positive. The ratio is read off it: pull_i / sum_j weight_ij.
        factor: 1 where the weights hold the normalizer, 1 / N for a mean over anchors.
        negatives: views -> (N, D), what the weight's columns stand for.
        toward: (D,) diagonal of the matrix before the positive; None for the identity.
        other_weight: (N, N) push on the other view's negatives p_j besides; None for none.
    """

    dissipation: Tensor
    weight: Tensor
    pull: Tensor
    factor: Tensor | float = 1.0
    negatives: Callable[[Views], Tensor] = own_view
    toward: Tensor | None = None
    other_weight: Tensor | None = None


def constant(views: Views) -> Tensor:
    """Dissipation 1 for every anchor: the ineffective objectives never let go of a sentence."""
    return torch.ones_like(views.aligned)


def softmax_mass(positive: Tensor, cosine: Tensor, temperature: float) -> Tensor:
    """1 / (1 + e^{positive_i/t} / sum_{k != i} e^{c_ik/t}): the negatives' share of the softmax."""
    negatives = torch.logsumexp(without_diagonal(cosine, -torch.inf) / temperature, dim=1)
    return torch.sigmoid(negatives - positive / temperature)


def margin_gate(views: Views, *, margin: CosineMargin = 0.3, gate: Gate = "cross_view") -> Tensor:
    """1 while an anchor is open, 0 once its positive leads its hardest negative by the margin m.

    cross_view: c_ii - max_{k != i} c_ik < m (the paper).
    within_view: 1 - max_{k != i} h_i . h_k < m (the authors' code).
    """
    if gate == "cross_view":
        lead = views.aligned - hardest(views.cosine)[0]
    else:
        lead = 1 - hardest(views.anchor_similarity)[0]
    return (lead < margin).to(lead.dtype)


def softmax_over_negatives(similarity: Tensor, temperature: float) -> Tensor:
    """e^{s_ij/t} / sum_{k != i} e^{s_ik/t}: each row sums to one."""
    return torch.softmax(without_diagonal(similarity, -torch.inf) / temperature, dim=1)


def softmax_over_pairs(similarity: Tensor, temperature: float) -> Tensor:
    """e^{s_ij/t} / sum_{k != l} e^{s_kl/t}: the whole matrix sums to one."""
    logits = without_diagonal(similarity, -torch.inf) / temperature
    return torch.softmax(logits.flatten(), dim=0).view_as(logits)


def hardest_only(similarity: Tensor) -> Tensor:
    """1 for an anchor's most similar negative, else 0 (the first of equals)."""
    _, index = hardest(similarity)
    columns = torch.arange(similarity.shape[1], device=similarity.device)
    return (columns == index[:, None]).to(similarity.dtype)


def alignment_pull(views: Views, weight: Tensor) -> Tensor:  # noqa: ARG001 - as every pull
    """2 / N: what alignment pulls with."""
    return torch.full_like(views.aligned, 2 / views.count)


def fixed_ratio(default: float) -> Callable[..., Tensor]:
    """A pull of r sum_j weight_ij, with a default for r."""

    def pull(views: Views, weight: Tensor, *, ratio: Ratio = default) -> Tensor:  # noqa: ARG001
        return (weight * ratio).sum(dim=1)

    return pull


def alignment(views: Views) -> Tensor:
    """A = (1/N) sum_i |h_i - p_i|^2, the attracting term of MHE, MHS and VICReg."""
    return (views.anchor - views.positive).square().sum(dim=1).mean()
