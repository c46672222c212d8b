"""What every objective is: a loss on two views, and the three components of its gradient.

Here: `Objective` (the contract), `PiecewiseObjective` (a loss made of components, so that its
gradient is the paradigm's by construction) and `Gated` (with the modified forms' margin gate).
Not here: formulas of any one objective.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from pipeline.objectives.dissipation import margin_gate
from pipeline.objectives.hyperparameters import (
    Gate,
    Hyperparameters,
    PositiveGradient,
    choice,
    cosine_margin,
    pull_ratio,
)
from pipeline.objectives.ratio import fixed
from pipeline.objectives.views import (
    Views,
    check_finite,
    check_views,
    full_precision,
    l2_normalise,
)


class Components(NamedTuple):
    """The gradient's three pieces; row i belongs to anchor i.

    Attributes:
        dissipation: (N,) scale of the anchor's whole gradient.
        weight: (N, N) share of each negative, zero on the diagonal.
        ratio: (N, N) pull on the positive per unit of push on negative j.
    """

    dissipation: Tensor
    weight: Tensor
    ratio: Tensor


@dataclass(frozen=True, kw_only=True)
class Objective(Hyperparameters, ABC):
    """A training objective on two views of a batch of sentences.

    The gradient at the normalised embedding of anchor i, radial part removed, is
    factor * dissipation_i * sum_{j != i} weight_ij (negative_j - ratio_ij positive_i).
    Source: Li, Zhang & Nie 2024, Section 3.
    """

    def __call__(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """The loss.

        Args:
            anchor: (N, D) embeddings of one view, of any length: they are normalised here.
            positive: (N, D) embeddings of the same sentences under another augmentation.

        Returns:
            A scalar in at least float32.

        Raises:
            ValueError: the views are no two matrices of one shape with N >= 2, or not finite.
        """
        self._check(anchor, positive)
        return self.unchecked(anchor, positive)

    def unchecked(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """The loss without a look at values, for loops that check those at their own intervals.

        Arguments and result as for a call; what is not finite gives a loss that is not. Nothing
        waits for the device, and torch.compile takes it as one graph.
        """
        check_views(type(self).__name__, anchor, positive)
        with torch.autocast(anchor.device.type, enabled=False):
            return self.loss(self._views(anchor, positive))

    def components(self, anchor: Tensor, positive: Tensor) -> Components:
        """The three components with the first view as anchor; arguments as for a call."""
        self._check(anchor, positive)
        return self.unchecked_components(anchor, positive)

    @torch.no_grad()
    def unchecked_components(self, anchor: Tensor, positive: Tensor) -> Components:
        """The components as `unchecked` gives the loss."""
        check_views(type(self).__name__, anchor, positive)
        with torch.autocast(anchor.device.type, enabled=False):
            return self.pieces(self._views(anchor, positive))

    @torch.no_grad()
    def anchor_gradient(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """(N, D): factor * dissipation_i * sum_j weight_ij (negative_j - ratio_ij positive_i).

        At the normalised embeddings of the first view, radial part removed; arguments as for a
        call.
        """
        self._check(anchor, positive)
        with torch.autocast(anchor.device.type, enabled=False):
            views = self._views(anchor, positive)
            components = self.pieces(views)
            push = components.weight @ self.negatives_of(views)
            pull = self.pull(components, views, views.positive)
            opened = self.factor(components) * components.dissipation[:, None]
            direction = l2_normalise(views.anchor)
            gradient = opened * (push - pull)
            return gradient - (gradient * direction).sum(dim=1, keepdim=True) * direction

    def _check(self, anchor: Tensor, positive: Tensor) -> None:
        check_views(type(self).__name__, anchor, positive)
        check_finite(type(self).__name__, anchor, positive)

    def _views(self, anchor: Tensor, positive: Tensor) -> Views:
        return Views(
            self.normalise(full_precision(anchor)), self.normalise(full_precision(positive))
        )

    def normalise(self, embeddings: Tensor) -> Tensor:
        """What turns the encoder's output into the embeddings that the formulas speak of."""
        return l2_normalise(embeddings)

    @abstractmethod
    def loss(self, views: Views) -> Tensor:
        """The loss on normalised views."""

    @abstractmethod
    def dissipation_of(self, views: Views) -> Tensor:
        """(N,) scale of each anchor's whole gradient."""

    @abstractmethod
    def weight_of(self, views: Views) -> Tensor:
        """(N, N) share of each negative, zero on the diagonal."""

    @abstractmethod
    def ratio_of(self, views: Views) -> Tensor:
        """(N, N) pull on the positive per unit of push on each negative."""

    def pieces(self, views: Views) -> Components:
        """The three components on normalised views."""
        return Components(self.dissipation_of(views), self.weight_of(views), self.ratio_of(views))

    def negatives_of(self, views: Views) -> Tensor:
        """(N, D) embeddings that the weights' columns stand for: the anchor's own view."""
        return views.anchor

    def factor(self, components: Components) -> Tensor | float:  # noqa: ARG002 - see Baseline
        """What multiplies the pieces: 1 where the weights hold the normaliser."""
        return 1.0

    def pull(self, components: Components, views: Views, positive: Tensor) -> Tensor:  # noqa: ARG002
        """sum_j weight_ij ratio_ij p_i, (N, D)."""
        return (components.weight * components.ratio).sum(dim=1, keepdim=True) * positive


@dataclass(frozen=True, kw_only=True)
class PiecewiseObjective(Objective):
    """A loss whose gradient is made of its components.

    Each view takes the anchor's part in turn and the two losses are added. Coefficients,
    negatives and (by default) positives are constants, so that only the turn's anchor carries
    gradient. The value of such a loss means nothing: look at its components instead.
    """

    def loss(self, views: Views) -> Tensor:
        """Both turns, added."""
        return self._turn(views) + self._turn(views.turned())

    def _turn(self, views: Views) -> Tensor:
        constants = views.detached()
        components = self.pieces(constants)
        push = components.weight @ self.negatives_of(constants)
        pull = self.pull(components, constants, self.positive_of(views))
        opened = components.dissipation[:, None] * views.anchor
        return self.factor(components) * (opened * (push - pull)).sum()

    def positive_of(self, views: Views) -> Tensor:
        """(N, D) positives as the loss sees them: constants."""
        return views.positive.detach()


@dataclass(frozen=True, kw_only=True)
class Gated(PiecewiseObjective):
    """With the margin gate as dissipation: the first of the paper's three changes.

    Attributes:
        margin: m, in cosine: an anchor is left alone once its positive leads by this much.
        gate: against which negatives the lead is taken; see `dissipation.margin_gate`.
        positive_gradient: `both` leaves the positive attached, as the authors' code does, so
            that a ratio r acts as 2r where both turns' gates are open.
    """

    margin: float = cosine_margin(0.3)
    gate: Gate = choice("cross_view", "within_view")
    positive_gradient: PositiveGradient = choice("anchor_only", "both")

    def dissipation_of(self, views: Views) -> Tensor:
        """1 for open anchors, 0 for closed ones."""
        return margin_gate(views, self.margin, self.gate)

    def positive_of(self, views: Views) -> Tensor:
        """Attached only where `positive_gradient` says so."""
        return views.positive if self.positive_gradient == "both" else views.positive.detach()


@dataclass(frozen=True, kw_only=True)
class Modified(Gated):
    """With gate and fixed ratio; what is left to say is the weight.

    Attributes:
        ratio: r, pull on the positive per push on the negatives.
    """

    ratio: float = pull_ratio(1.0)

    def ratio_of(self, views: Views) -> Tensor:
        """R for every pair."""
        return fixed(views, self.ratio)
