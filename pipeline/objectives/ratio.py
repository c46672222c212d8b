"""Ratio: pull on the positive per push on the negatives, (N, N).

Fixed, from the angle (ArcCon), from the distances (MET), and the matrix forms of a ratio that
is the same for all negatives of an anchor; pure functions.
"""

import math

import torch
from torch import Tensor

from pipeline.objectives.views import MIN_SQUARED_SINE, Views, distance

# VICReg's and Barlow Twins' ratios divide by an anchor's summed similarity to its negatives,
# which may pass through zero.
MIN_SIMILARITY_SUM = 1e-3


def fixed(views: Views, value: float) -> Tensor:
    """The same number for every pair."""
    return views.aligned.new_full((views.count, views.count), value)


def per_anchor(value: Tensor) -> Tensor:
    """(N,) -> (N, N): one ratio for all negatives of an anchor."""
    return value[:, None].expand(-1, value.shape[0])


def angle(views: Views, angular_margin: float) -> Tensor:
    """sin(theta_ii + u) / sin(theta_ii), for each pair of row i."""
    cosine = views.aligned
    sine = (1 - cosine.square()).clamp_min(MIN_SQUARED_SINE).sqrt()
    return per_anchor(math.cos(angular_margin) + cosine * math.sin(angular_margin) / sine)


def distances(views: Views) -> Tensor:
    """d_ij / d_ii."""
    return distance(views.cosine) / distance(views.aligned)[:, None]


def off_zero(total: Tensor) -> Tensor:
    """The sum, kept at least MIN_SIMILARITY_SUM away from zero, its sign unchanged."""
    least = torch.full_like(total, MIN_SIMILARITY_SUM)
    return torch.where(total.abs() < least, least.copysign(total), total)
