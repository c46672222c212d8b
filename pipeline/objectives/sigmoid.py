"""SigLIP's sigmoid loss, which no library here has for two views: each pair is judged by itself."""

import torch
from torch import Tensor
from torch.nn import functional

from pipeline.objectives.views import diagonal_mask


def sigmoid_loss(
    anchor: Tensor, positive: Tensor, *, temperature: float = 0.1, bias: float = -10.0
) -> Tensor:
    """-(1/N) sum_ij log sigmoid(z_ij (c_ij / t + b)), z_ij = 1 for i = j, else -1.

    Temperature and bias are learned in the original, and begin at these values. Here they stay.
    Source: Zhai et al. 2023, "Sigmoid Loss for Language Image Pre-Training", Algorithm 1.
    """
    logits = anchor @ positive.T / temperature + bias
    sign = torch.where(diagonal_mask(logits), 1.0, -1.0)
    return -functional.logsigmoid(sign * logits).sum() / len(anchor)
