"""The gradient's components and the embeddings' geometry on one batch, as a row of numbers."""

import torch
from torch import Tensor

from pipeline.objectives import Components, Objective
from pipeline.objectives.alignment import alignment
from pipeline.objectives.mhe import energy
from pipeline.objectives.views import Views, diagonal_mask, full_precision, l2_normalise

# Wang & Isola (2020) report uniformity with e^{-2 |x - y|^2} = e^{4 (x.y - 1)}.
UNIFORMITY_EXPONENT = 4


@torch.no_grad()
def dynamics(objective: Objective, anchor: Tensor, positive: Tensor) -> dict[str, float]:
    """Describe a batch.

    Args:
        objective: whose components are looked at.
        anchor: (N, D) first views.
        positive: (N, D) second views.

    Returns:
        dissipation: mean over anchors.
        hardest_share: mean over open anchors of the largest |weight| in the sum of all.
        ratio: mean over open anchors of the ratio, weighted by the negatives' |weight|.
        alignment, uniformity: of normalised embeddings, uniformity with exponent 2 |x - y|^2.
        positive_cosine, negative_cosine: mean c_ii, mean c_ij over j != i.
        positive_angle, negative_angle: mean of arccos c, in radians, and ..._deviation: its
            standard deviation over the batch's pairs.
        The two means over open anchors are NaN where none is open.
    """
    components = objective.components(anchor, positive)
    views = Views(l2_normalise(full_precision(anchor)), l2_normalise(full_precision(positive)))
    negatives = views.cosine[~diagonal_mask(views.cosine)]
    numbers = {
        "dissipation": components.dissipation.mean(),
        **_over_open_anchors(components),
        "alignment": alignment(views),
        "uniformity": energy(views.own, UNIFORMITY_EXPONENT),
        "positive_cosine": views.aligned.mean(),
        "negative_cosine": negatives.mean(),
        **_angles("positive_angle", views.aligned),
        **_angles("negative_angle", negatives),
    }
    return dict(zip(numbers, torch.stack(list(numbers.values())).tolist(), strict=True))


def _angles(name: str, cosines: Tensor) -> dict[str, Tensor]:
    angles = cosines.clamp(-1, 1).arccos()
    return {name: angles.mean(), f"{name}_deviation": angles.std(correction=0)}


def _over_open_anchors(components: Components) -> dict[str, Tensor]:
    dissipation, weight, ratio = components
    size = weight.abs()
    total = size.sum(dim=1).clamp_min(torch.finfo(size.dtype).tiny)
    opened = dissipation > 0
    return {
        "hardest_share": (size.amax(dim=1) / total)[opened].mean(),
        "ratio": ((size * ratio).sum(dim=1) / total)[opened].mean(),
    }
