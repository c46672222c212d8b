"""What section 3.2 asks of each anchor of one batch: pure functions on a pair of views.

The first view's embeddings are the anchors, the second view's the positives and negatives.
Not here: statistics over batches (measurements.py) and the bound of Lemma 1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

import torch

from pipeline.objectives.views import diagonal_mask, hardest, l2_normalize

if TYPE_CHECKING:
    from torch import Tensor

    from pipeline.objectives.views import Views

Array = TypeVar("Array")  # of torch or NumPy


class Angles(NamedTuple, Generic[Array]):
    """Around each anchor, in radians, (N,) each.

    Attributes:
        positive_angle: between the anchor and its positive.
        hardest_angle: between the anchor and its hardest negative.
        dihedral: between the directions in which the two leave the anchor.
    """

    positive_angle: Array
    hardest_angle: Array
    dihedral: Array


def angles(views: Views) -> Angles[Tensor]:
    """The triangle of anchor, positive and hardest negative that Lemma 1 speaks of."""
    similarity, index = hardest(views.cosine)
    to_positive = l2_normalize(tangent(views.anchor, views.positive))
    to_hardest = l2_normalize(tangent(views.anchor, views.positive[index]))
    return Angles(
        angle(views.aligned), angle(similarity), angle((to_positive * to_hardest).sum(dim=1))
    )


def weight_share(weight: Tensor) -> Tensor:
    """Largest weight in the sum of an anchor's weights, (N,)."""
    return weight.amax(dim=1) / weight.sum(dim=1)


def push_share(views: Views, weight: Tensor, ratio: float) -> Tensor:
    """Projection of the hardest negative's part on an anchor's whole direction, (N,).

    With v_ij = weight_ij (p_j - ratio p_i), its part along the anchor h_i removed, and
    V_i = sum_{j != i} v_ij: share_i = v_ij . V_i / |V_i|^2 at the hardest j. The shares of all
    negatives sum to one. Ratio 0 looks at the pushes alone, as the authors' script does.

    Args:
        views: the batch.
        weight: (N, N), zero on the diagonal.
        ratio: pull on the positive per push on a negative.
    """
    _, index = hardest(views.cosine)
    pull = ratio * views.positive
    largest = weight.gather(1, index[:, None])
    part = tangent(views.anchor, largest * (views.positive[index] - pull))
    total = weight.sum(dim=1, keepdim=True)
    whole = tangent(views.anchor, weight @ views.positive - total * pull)
    return (part * whole).sum(dim=1) / whole.square().sum(dim=1)


def negative_cosines(views: Views) -> Tensor:
    """c_ij over all j != i, (N (N - 1),)."""
    return views.cosine[~diagonal_mask(views.cosine)]


def tangent(anchor: Tensor, vectors: Tensor) -> Tensor:
    """Vectors without their part along the unit anchors, (N, D)."""
    return vectors - (vectors * anchor).sum(dim=1, keepdim=True) * anchor


def angle(cosine: Tensor) -> Tensor:
    """Arccos, in radians."""
    return torch.arccos(cosine.clamp(-1, 1))
