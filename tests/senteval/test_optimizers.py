"""The optimizers take the steps that torch's take, for classifiers that come and go."""

from __future__ import annotations

import pytest
import torch

from pipeline.senteval.optimizers import OPTIMIZERS, OptimizerName

PEERS: dict[OptimizerName, type[torch.optim.Optimizer]] = {
    "adam": torch.optim.Adam,
    "rmsprop": torch.optim.RMSprop,
}
DECAY = 0.1


def gradients(shape: tuple[int, ...], steps: int) -> list[torch.Tensor]:
    """Of sizes between 1e-9 and 1: epsilon matters for the small ones."""
    generator = torch.Generator().manual_seed(0)
    sizes = 10 ** -torch.arange(0, 9, 9 / steps, dtype=torch.float64)
    noise = torch.randn(steps, *shape, generator=generator, dtype=torch.float64)
    return [size * one for size, one in zip(sizes, noise, strict=True)]


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_are_those_of_torch_with_weight_decay(name: OptimizerName) -> None:
    ours = torch.linspace(-1, 1, 12, dtype=torch.float64).reshape(2, 2, 3)
    theirs = ours.clone().requires_grad_()
    optimizer = OPTIMIZERS[name](ours)
    peer = PEERS[name]([theirs], weight_decay=DECAY)  # type: ignore[call-arg]
    for gradient in gradients((2, 2, 3), steps=30):
        theirs.grad = gradient.clone()
        peer.step()
        optimizer.step(ours, gradient + DECAY * ours)
        torch.testing.assert_close(ours, theirs.detach(), rtol=1e-12, atol=1e-14)
