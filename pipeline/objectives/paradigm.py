"""The paradigm itself: any three pieces make a trainable objective.

Here: `Paradigm`, which takes the pieces as functions of the views; `from_pieces`, which makes an
entry of the table OBJECTIVES of them; and `Baseline`, the setting of section 3.2 (registry name
`paradigm`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from pipeline.objectives.hyperparameters import MeanOver, View, choice, temperature
from pipeline.objectives.objective import Components, Modified, Objective, PiecewiseObjective
from pipeline.objectives.views import Views
from pipeline.objectives.weight import softmax_over_negatives

if TYPE_CHECKING:
    from torch import Tensor

Piece = Callable[[Views], "Tensor"]


@dataclass(frozen=True, kw_only=True)
class _OfPieces(PiecewiseObjective):
    """An objective whose three pieces somebody gave as functions; mean over anchors."""

    @property
    @abstractmethod
    def given(self) -> Paradigm:
        """The pieces."""

    def dissipation_of(self, views: Views) -> Tensor:
        """The given dissipation."""
        return self._shaped("dissipation", self.given.dissipation(views), (views.count,))

    def weight_of(self, views: Views) -> Tensor:
        """The given weight without its diagonal."""
        weight = self._shaped("weight", self.given.weight(views), (views.count, views.count))
        return weight - weight.diagonal().diag()

    def ratio_of(self, views: Views) -> Tensor:
        """The given ratio."""
        return self._shaped("ratio", self.given.ratio(views), (views.count, views.count))

    def negatives_of(self, views: Views) -> Tensor:
        """p_j or h_j, as `negatives` says."""
        return views.positive if self.given.negatives == "other_view" else views.anchor

    def factor(self, components: Components) -> float:
        """1 / N."""
        return 1 / components.dissipation.shape[0]

    def _shaped(self, name: str, piece: Tensor, expected: tuple[int, ...]) -> Tensor:
        if piece.shape != expected:
            raise ValueError(
                f"{type(self).__name__}.{name}: expected shape {expected} for a batch of "
                f"{expected[0]}, got {tuple(piece.shape)}."
            )
        return piece


@dataclass(frozen=True)
class Paradigm(_OfPieces):
    """loss_i = dissipation_i sum_{j != i} weight_ij (h_i . n_j - ratio_ij h_i . p_i), mean over i.

    Source: Li, Zhang & Nie 2024, Eq. (5) as a loss.

    Attributes:
        dissipation: views -> (N,).
        weight: views -> (N, N); what it puts on the diagonal is ignored.
        ratio: views -> (N, N).
        negatives: whose embeddings the weight's columns stand for: the other view's p_j, as in
            contrastive learning, or the anchor's own view's h_j.

    Raises:
        ValueError: (when called) a piece returns another shape.
    """

    dissipation: Piece
    weight: Piece
    ratio: Piece
    _: KW_ONLY
    negatives: View = choice("other_view", "own_view")

    @property
    def given(self) -> Paradigm:
        """Itself."""
        return self


def from_pieces(
    name: str, *, dissipation: Piece, weight: Piece, ratio: Piece, negatives: View = "other_view"
) -> type[Objective]:
    """A class of objectives without hyperparameters: what the table OBJECTIVES holds.

    Args:
        name: of the class, for messages.
        dissipation: see `Paradigm`, as for the others.
        weight: likewise.
        ratio: likewise.
        negatives: likewise.

    Raises:
        ValueError: `negatives` is neither view.
    """
    paradigm = Paradigm(dissipation, weight, ratio, negatives=negatives)

    @dataclass(frozen=True, kw_only=True)
    class Made(_OfPieces):
        """An objective of given pieces."""

        @property
        def given(self) -> Paradigm:
            """Those of `from_pieces`."""
            return paradigm

    Made.__name__ = Made.__qualname__ = name
    return Made


@dataclass(frozen=True, kw_only=True)
class Baseline(Modified):
    """The baseline of section 3.2: margin gate, softmax over the other view, fixed ratio.

    Source: Li, Zhang & Nie 2024, Eq. (10). `Paradigm` takes any other pieces.

    Attributes:
        temperature: t > 0, divides the cosine.
        mean_over: `open` averages over open anchors only, as the authors' code does (0 when
            none is open).
    """

    temperature: float = temperature()
    mean_over: MeanOver = choice("all", "open")

    def weight_of(self, views: Views) -> Tensor:
        """Softmax of c/t over an anchor's negatives."""
        return softmax_over_negatives(views.cosine, self.temperature)

    def negatives_of(self, views: Views) -> Tensor:
        """The other view's p_j."""
        return views.positive

    def factor(self, components: Components) -> Tensor | float:
        """1 / N, or 1 / number of open anchors."""
        if self.mean_over == "open":
            return 1 / components.dissipation.sum().clamp_min(1.0)
        return 1 / components.dissipation.shape[0]
