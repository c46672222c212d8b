"""Gradient caching: a batch of any size in the memory of a part of it, with the same gradient.

First all embeddings are computed part by part without a graph, then the loss's gradient at them,
then each part once more, now with a graph, to carry that gradient into the weights. Each part's
second pass draws the same dropout as its first. Costs one more forward pass.
Source: Gao et al. 2021, "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup".
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext

import torch
from torch import Tensor

from pipeline.machine.device import random_state, set_random_state

Rows = tuple[Tensor, ...]


def backward_in_parts(
    embed: Callable[..., Tensor],
    parts: Sequence[Rows],
    backward: Callable[[Tensor], None],
    hold: Callable[[], AbstractContextManager[None]] = nullcontext,
    *,
    compiled: bool = False,
) -> None:
    """Add the gradient of a loss on all rows' embeddings to the weights behind `embed`.

    Args:
        embed: a part's inputs -> its embeddings, (n, D).
        parts: the batch's rows in order; at least one part.
        backward: given all embeddings, (N, D), as a leaf, leaves the loss's gradient there.
        hold: the context of all passes but the last, where weights' gradients are not to be
            exchanged between processes yet.
        compiled: `embed` is; its program without a graph is another one, which draws other
            dropout from the same random state, so that the one with a graph is used twice.
    """
    device = parts[0][0].device
    states, embeddings = [], []
    with hold(), torch.set_grad_enabled(compiled):
        for part in parts:
            states.append(random_state(device))
            embeddings.append(embed(*part).detach())
    leaf = torch.cat(embeddings).requires_grad_()
    after = random_state(device)
    backward(leaf)
    gradient = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
    gradients = torch.split(gradient, [len(own) for own in embeddings])
    last = len(parts) - 1
    for place, (part, state, own) in enumerate(zip(parts, states, gradients, strict=True)):
        set_random_state(state, device)
        with hold() if place < last else nullcontext():
            embed(*part).backward(own)  # type: ignore[no-untyped-call]
    # As if there had been one pass, whatever the last part's length.
    set_random_state(after, device)


def in_parts(rows: Rows, size: int) -> list[Rows]:
    """Tensors of equal length N, cut alike into parts of `size` rows, the last one shorter."""
    cut: Iterable[Rows] = zip(*(torch.split(tensor, size) for tensor in rows), strict=True)
    return list(cut)
