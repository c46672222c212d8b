"""How many floating-point operations a step of ours takes, counted from shapes.

A product of matrices (a, b) and (b, c) counts 2abc; all else (norms, softmax, dropout, the
optimizer) counts nothing. With d the width, f the feed-forward width, and n rows padded to L
tokens, a forward pass is

    a layer:         n L (8 d^2 + 4 d f) + 4 n L^2 d
    the last layer:  n (4 d^2 + 4 d f) + n L 4 d^2 + 4 n L d      (keys and values of all tokens,
                                                                   all else of the first alone)
    the head:        2 n d^2

and the backward pass is twice that; the cosines of N pairs are 6 N^2 d, forward and backward. Rows
and lengths are those that our network pads to: the work a peer does besides (more padding, all
tokens of the last layer) earns it no higher share of the peak.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torch import Tensor

    from pipeline.training.network import TrainingNetwork

Padded = tuple[int, int]  # rows, tokens of each


@dataclass(frozen=True)
class Shape:
    """What decides a transformer's arithmetic.

    Attributes:
        layers: their number.
        width: d.
        inner: f, the feed-forward width.
    """

    layers: int
    width: int
    inner: int

    @classmethod
    def of(cls, network: TrainingNetwork) -> Shape:
        """Of a BERT's or RoBERTa's configuration."""
        config = network.transformer.config
        return cls(config.num_hidden_layers, config.hidden_size, config.intermediate_size)

    def forward(self, rows: int, length: int) -> int:
        """Operations of one forward pass, head included."""
        d, f, n = self.width, self.inner, rows
        layer = n * length * (8 * d**2 + 4 * d * f) + 4 * n * length**2 * d
        last = n * (4 * d**2 + 4 * d * f) + n * length * 4 * d**2 + 4 * n * length * d
        return (self.layers - 1) * layer + last + 2 * n * d**2

    def step(self, passes: Iterable[Padded]) -> int:
        """Operations of forward and backward passes, and of the cosines of all their rows."""
        every = list(passes)
        pairs = sum(rows for rows, _ in every) // 2
        return 3 * sum(self.forward(*one) for one in every) + 6 * pairs**2 * self.width


def padded(network: TrainingNetwork, ids: Tensor, mask: Tensor) -> list[Padded]:
    """The passes that our network makes of a batch."""
    passes: list[Padded] = []

    def note(ids: Tensor, _mask: Tensor) -> Tensor:
        passes.append((len(ids), ids.shape[1]))
        return torch.zeros(len(ids), 1, device=ids.device)

    embed, network.embed = network.embed, note
    try:
        network(ids, mask)
    finally:
        network.embed = embed
    return passes
