"""The gradient's components and the embeddings' geometry on one batch, as a row of numbers."""

import torch
from torch import Tensor

from pipeline.objectives import Components, Objective
from pipeline.objectives.mhe import energy
from pipeline.objectives.pieces import alignment
from pipeline.objectives.views import Views, diagonal_mask, full_precision, l2_normalize

# Wang & Isola (2020) report uniformity with e^{-2 |x - y|^2} = e^{4 (x.y - 1)}.
UNIFORMITY_EXPONENT = 4
# Those of the curve, too.
BATCH = (
    "dissipation",
    "hardest_share",
    "ratio",
    "alignment",
    "uniformity",
    "positive_cosine",
    "negative_cosine",
)
NAMES = (
    *BATCH,
    "positive_angle",
    "positive_angle_deviation",
    "negative_angle",
    "negative_angle_deviation",
)


@torch.no_grad()
def dynamics(objective: Objective, anchor: Tensor, positive: Tensor) -> Tensor:
    """Describe a batch without waiting for its device.

    Args:
        objective: whose components are looked at.
        anchor: (N, D) first views.
        positive: (N, D) second views.

    Returns:
        The numbers that NAMES names, in its order, on the embeddings' device:
        dissipation: mean over anchors.
        hardest_share: mean over open anchors of the largest |weight| in the sum of all.
        ratio: mean over open anchors of the ratio.
        alignment, uniformity: of normalized embeddings, uniformity with exponent 2 |x - y|^2.
        positive_cosine, negative_cosine: mean c_ii, mean c_ij over j != i.
        positive_angle, negative_angle: mean of arccos c, in radians, and ..._deviation: its
            standard deviation over the batch's pairs.
        The two means over open anchors are NaN where none is open.
    """
    components = objective.components(anchor, positive)
    views = Views(l2_normalize(full_precision(anchor)), l2_normalize(full_precision(positive)))
    pairs = ~diagonal_mask(views.cosine)
    everything = torch.ones_like(views.aligned, dtype=torch.bool)
    numbers = {
        "dissipation": components.dissipation.mean(),
        **_over_open_anchors(components),
        "alignment": alignment(views),
        "uniformity": energy(views.anchor_similarity, UNIFORMITY_EXPONENT),
        "positive_cosine": views.aligned.mean(),
        "negative_cosine": _mean(views.cosine, pairs),
        **_angles("positive_angle", views.aligned, everything),
        **_angles("negative_angle", views.cosine, pairs),
    }
    return torch.stack([numbers[name] for name in NAMES])


def named(numbers: Tensor) -> dict[str, float]:
    """What `dynamics` gave, by name; waits for its device."""
    return dict(zip(NAMES, numbers.tolist(), strict=True))


def _mean(values: Tensor, among: Tensor) -> Tensor:
    """Over the places where `among` is true; NaN if there is none.

    Selecting them would make the host wait, since it must know how many there are.
    """
    return torch.where(among, values, 0).sum() / among.sum()


def _angles(name: str, cosines: Tensor, among: Tensor) -> dict[str, Tensor]:
    angles = cosines.clamp(-1, 1).arccos()
    mean = _mean(angles, among)
    deviation = _mean((angles - mean).square(), among).sqrt()
    return {name: mean, f"{name}_deviation": deviation}


def _over_open_anchors(components: Components) -> dict[str, Tensor]:
    size = components.weight.abs()
    total = size.sum(dim=1).clamp_min(torch.finfo(size.dtype).tiny)
    opened = components.dissipation > 0
    return {
        "hardest_share": _mean(size.amax(dim=1) / total, opened),
        "ratio": _mean(components.ratio, opened),
    }
