"""Adam and RMSprop, as torch has them, for weights that leave when they are trained.

An optimizer's `step` changes the weights in place and may overwrite the gradient. Weight decay is
the caller's: it is part of the gradient. No schedules, no options: the rates are torch's defaults.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, Protocol

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from pipeline.senteval.early_stopping import Places

OptimizerName = Literal["adam", "rmsprop"]
EPSILON = 1e-8


class Optimizer(Protocol):
    """Updates weights whose leading dimensions number the classifiers."""

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        """Updates `weights` in place; `gradient` serves as scratch space."""

    def keep(self, index: Places) -> None:
        """Forgets all classifiers but those at `index`."""


class Adam:
    """Kingma & Ba 2015, Algorithm 1, in the form of its section 2 that needs fewer operations."""

    rate, mean_decay, square_decay = 1e-3, 0.9, 0.999

    def __init__(self, weights: Tensor) -> None:
        self.mean = torch.zeros_like(weights)
        self.square = torch.zeros_like(weights)
        self.steps = 0

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        """One update with bias correction."""
        self.steps += 1
        self.mean.lerp_(gradient, 1 - self.mean_decay)
        self.square.mul_(self.square_decay)
        self.square.addcmul_(gradient, gradient, value=1 - self.square_decay)
        root = math.sqrt(1 - self.square_decay**self.steps)
        rate = self.rate * root / (1 - self.mean_decay**self.steps)
        # Corrects the scalars instead of the moments: epsilon too, or it would not be torch's.
        denominator = torch.sqrt(self.square, out=gradient).add_(EPSILON * root)
        weights.addcdiv_(self.mean, denominator, value=-rate)

    def keep(self, index: Places) -> None:
        """Forgets all classifiers but those at `index`."""
        self.mean, self.square = self.mean[index], self.square[index]


class RMSprop:
    """Tieleman & Hinton 2012, not centred, without momentum."""

    rate, square_decay = 1e-2, 0.99

    def __init__(self, weights: Tensor) -> None:
        self.square = torch.zeros_like(weights)

    def step(self, weights: Tensor, gradient: Tensor) -> None:
        """One update; the gradient stays needed as numerator, so the root is a new tensor."""
        self.square.mul_(self.square_decay)
        self.square.addcmul_(gradient, gradient, value=1 - self.square_decay)
        weights.addcdiv_(gradient, self.square.sqrt().add_(EPSILON), value=-self.rate)

    def keep(self, index: Places) -> None:
        """Forgets all classifiers but those at `index`."""
        self.square = self.square[index]


OPTIMIZERS: dict[OptimizerName, Callable[[Tensor], Optimizer]] = {"adam": Adam, "rmsprop": RMSprop}
