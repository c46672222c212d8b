"""Two views of a few random sentences in float64, and their parts."""

import pytest
import torch
from torch import Tensor

from pipeline.objectives import Objective, Views

Batch = tuple[Tensor, Tensor]


def unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=1)


def across(vectors: Tensor, directions: Tensor) -> Tensor:
    """What is left of each vector without its part along the direction."""
    axis = unit(directions)
    return vectors - (vectors * axis).sum(dim=1, keepdim=True) * axis


def make_views(count: int = 7, dimension: int = 5, noise: float = 0.25, seed: int = 0) -> Batch:
    """Unit vectors and noisy copies, so that some anchors are open at margin 0.3 and some not."""
    generator = torch.Generator().manual_seed(seed)

    def normal() -> Tensor:
        return torch.randn(count, dimension, dtype=torch.float64, generator=generator)

    anchor = unit(normal())
    return anchor, unit(anchor + noise * normal())


def loss_on(objective: Objective, views: Views) -> Tensor:
    """The loss on views that are normalized already, so that its gradient is at these."""
    return objective._loss(objective.pieces, views)


@pytest.fixture
def batch() -> Batch:
    return make_views()
