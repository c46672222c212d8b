"""Weight: how an anchor's negatives share its push, (N, N) with a zero diagonal.

Softmax over an anchor's negatives or over all pairs of the batch, hardest negative only;
pure functions on similarity matrices.
"""

import torch
from torch import Tensor

from pipeline.objectives.views import hardest, without_diagonal


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
    return torch.zeros_like(similarity).scatter_(1, index[:, None], 1.0)
