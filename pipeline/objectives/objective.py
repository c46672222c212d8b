"""What an objective is: pieces of a gradient, and a loss that has this gradient.

An entry of the table OBJECTIVES is a `Recipe`: functions whose hyperparameters, what follows the
bare `*` of their signatures, are open. Called with hyperparameters it gives an `Objective`.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, Literal, NamedTuple, get_type_hints

import torch
from pydantic import create_model
from torch import Tensor

from pipeline.machine.settings import Settings, check
from pipeline.objectives.pieces import Pieces, own_view
from pipeline.objectives.views import (
    MIN_NORM,
    Views,
    check_finite,
    check_views,
    full_precision,
    l2_normalize,
)

PiecesOf = Callable[[Views], Pieces]
PositiveGradient = Literal["anchor_only", "both"]


def surrogate(
    pieces: PiecesOf, v: Views, *, positive_gradient: PositiveGradient = "anchor_only"
) -> Tensor:
    """A loss whose gradient is made of pieces; its value means nothing.

    Each view takes the anchor's part in turn and the two losses are added. Coefficients,
    negatives and positives are constants, so that only the turn's anchor carries gradient.
    `positive_gradient: both` leaves the positive attached, as the authors' code does: a ratio r
    acts as 2r where both turns' gates are open.
    """

    def turn(v: Views) -> Tensor:
        constants = v.detached()
        positive = v.positive if positive_gradient == "both" else constants.positive
        return (v.anchor * direction(pieces(constants), constants, positive)).sum()

    return turn(v) + turn(v.swapped())


def direction(pieces: Pieces, v: Views, positive: Tensor) -> Tensor:
    """(N, D): factor * dissipation_i * (sum_j weight_ij negative_j - pull_i toward positive_i)."""
    pull = pieces.pull[:, None] * (positive if pieces.toward is None else pieces.toward * positive)
    push = pieces.weight @ pieces.negatives(v)
    if pieces.other_weight is not None:
        push = push + pieces.other_weight @ v.positive
    return pieces.factor * pieces.dissipation[:, None] * (push - pull)


def gradient_equivalent(pieces: PiecesOf, v: Views) -> Tensor:
    """The surrogate of an original objective: no convention attaches its positives."""
    return surrogate(pieces, v)


class Components(NamedTuple):
    """What pieces say of each anchor, with the ratio read off.

    Attributes:
        dissipation: (N,) scale of the anchor's whole gradient.
        weight: (N, N) push on each negative, in both views where both push; zero on the diagonal.
        pull: (N,) pull along the positive.
        ratio: (N,) pull_i / sum_j weight_ij; not finite where the pushes cancel.
    """

    dissipation: Tensor
    weight: Tensor
    pull: Tensor
    ratio: Tensor


@dataclass(frozen=True)
class Objective:
    """A training objective on two views of a batch of sentences (Li, Zhang & Nie 2024, Section 3).

    Attributes:
        name: in the table OBJECTIVES.
        hyperparameters: with every value checked.
        normalize: turns the encoder's output into the embeddings that the formulas speak of.
    """

    name: str
    hyperparameters: Settings
    normalize: Callable[[Tensor], Tensor] = field(compare=False, repr=False)
    _pieces: PiecesOf = field(compare=False, repr=False)
    _loss: Callable[[PiecesOf, Views], Tensor] = field(compare=False, repr=False)

    def __call__(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """The loss.

        Args:
            anchor: (N, D) embeddings of one view, of any length: they are normalized here.
            positive: (N, D) embeddings of the same sentences under another augmentation.

        Returns:
            A scalar in at least float32.

        Raises:
            ValueError: the views are not two matrices of one shape with N >= 2, or not finite.
        """
        check_views(self.name, anchor, positive)
        check_finite(self.name, anchor, positive)
        return self.loss(anchor, positive)

    def loss(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """The loss without a look at values, for loops that check those at their own intervals.

        Arguments and result as for a call; what is not finite gives a loss that is not. Nothing
        waits for the device, and torch.compile takes it as one graph.
        """
        with torch.autocast(anchor.device.type, enabled=False):
            return self._loss(self.pieces, self.views(anchor, positive))

    def views(self, anchor: Tensor, positive: Tensor) -> Views:
        """The normalized views of a batch, in at least float32; wrong shapes are refused."""
        check_views(self.name, anchor, positive)
        return Views(*(self.normalize(full_precision(view)) for view in (anchor, positive)))

    def pieces(self, v: Views) -> Pieces:
        """The pieces on normalized views, their shapes checked."""
        pieces = self._pieces(v)
        shapes = {"dissipation": (v.count,), "weight": (v.count, v.count), "pull": (v.count,)}
        for piece, expected in shapes.items():
            if (shape := tuple(getattr(pieces, piece).shape)) != expected:
                raise ValueError(
                    f"{self.name}.{piece}: expected shape {expected} for a batch of {v.count}, "
                    f"got {shape}."
                )
        return pieces

    @torch.no_grad()
    def components(self, anchor: Tensor, positive: Tensor) -> Components:
        """The components with the first view as anchor; arguments as for `loss`."""
        with torch.autocast(anchor.device.type, enabled=False):
            v = self.views(anchor, positive)
            pieces = self.pieces(v)
            pull = pieces.pull
            if pieces.toward is not None:  # the part along the positive
                squares = v.positive.square()
                pull = pull * (squares @ pieces.toward) / squares.sum(dim=1).clamp_min(MIN_NORM)
            weight = pieces.weight
            if pieces.other_weight is not None:
                weight = weight + pieces.other_weight
            return Components(pieces.dissipation, weight, pull, pull / weight.sum(dim=1))

    @torch.no_grad()
    def anchor_gradient(self, anchor: Tensor, positive: Tensor) -> Tensor:
        """(N, D): `direction` at the normalized first view, radial part removed; see `loss`."""
        with torch.autocast(anchor.device.type, enabled=False):
            v = self.views(anchor, positive)
            gradient = direction(self.pieces(v), v, v.positive)
            radius = l2_normalize(v.anchor)
            return gradient - (gradient * radius).sum(dim=1, keepdim=True) * radius


@dataclass(frozen=True)
class Recipe:
    """An entry of OBJECTIVES; called with hyperparameters, it gives an objective.

    Attributes:
        name: in the table, and for messages.
        pieces: (views, *, hyperparameters) -> Pieces; or `Composed`.
        loss: (pieces, views, *, hyperparameters) -> scalar: the surrogate, or a closed form, in
            which everything carries gradient.
        normalize: see `Objective`.
    """

    name: str
    pieces: Callable[..., Pieces]
    loss: Callable[..., Tensor] = surrogate
    normalize: Callable[[Tensor], Tensor] = l2_normalize

    @cached_property
    def hyperparameters(self) -> type[Settings]:
        """The model of all hyperparameters, with ranges and defaults."""
        parts: tuple[Callable[..., Any], ...] = (self.loss, self.pieces)
        if isinstance(pieces := self.pieces, Composed):  # in the order in which records list them
            parts = (pieces.dissipation, self.loss, pieces.pull, pieces.weight, pieces.negatives)
        fields: dict[str, Any] = {}
        for part in parts:
            fields |= _settings(part)
        return create_model(self.name, __base__=Settings, **fields)

    def __call__(self, **hyperparameters: Any) -> Objective:
        """The objective.

        Raises:
            ValueError: a hyperparameter is unknown, of the wrong type or out of its range.
        """
        if problems := check(self.hyperparameters, hyperparameters, self.name):
            raise ValueError(" ".join(problems))
        checked = self.hyperparameters(**hyperparameters)
        pieces, loss = _bound(self.pieces, checked), _bound(self.loss, checked)
        return Objective(self.name, checked, self.normalize, pieces, loss)


@dataclass(frozen=True)
class Composed:
    """Pieces of an objective from one function each, as in a row of the paper's tables.

    Attributes:
        dissipation: (views, *) -> (N,).
        weight: (views, *) -> (N, N), zero on the diagonal.
        pull: (views, weight, *) -> (N,), or (N,) and `Pieces.toward` (D,).
        negatives: (views, *) -> (N, D).
        mean: whether an anchor counts 1 / N; if not, the weights hold the normalizer.
    """

    dissipation: Callable[..., Tensor]
    weight: Callable[..., Tensor]
    pull: Callable[..., Tensor | tuple[Tensor, Tensor]]
    negatives: Callable[..., Tensor] = own_view
    mean: bool = False

    def __call__(self, v: Views) -> Pieces:
        """The pieces, once all functions have their hyperparameters."""
        weight = self.weight(v)
        pull = self.pull(v, weight)
        pull, toward = pull if isinstance(pull, tuple) else (pull, None)
        factor = 1 / v.count if self.mean else 1.0
        return Pieces(self.dissipation(v), weight, pull, factor, self.negatives, toward)


def _settings(function: Callable[..., Any]) -> dict[str, tuple[Any, Any]]:
    """The hyperparameters of a function, what follows its bare `*`: name -> (type, default)."""
    types = get_type_hints(function, include_extras=True)
    return {
        name: (types[name], parameter.default)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is inspect.Parameter.KEYWORD_ONLY
    }


def _bound(function: Callable[..., Any], values: Settings) -> Callable[..., Any]:
    """The function with those of an objective's hyperparameters that are its own."""
    if isinstance(function, Composed):
        parts = (function.dissipation, function.weight, function.pull, function.negatives)
        first, second, third, fourth = (_bound(part, values) for part in parts)
        return Composed(first, second, third, fourth, function.mean)
    return partial(function, **{name: getattr(values, name) for name in _settings(function)})
