"""Views of a simulated batch: cosines that are prescribed, not computed from embeddings.

Any objective whose pieces read cosines only can be asked for them on such views; which angles
are worth prescribing is `simulation`'s matter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from pipeline.machine.errors import InputError
from pipeline.objectives.views import Views, without_diagonal

if TYPE_CHECKING:
    from torch import Tensor


class PrescribedViews(Views):
    """Cosines without embeddings; row i is a simulated batch of its own.

    On the diagonal stands the cosine of anchor i to its positive, off it those to its negatives.
    The cosines within a view are the negatives' too, with each sentence's own, 1, on the diagonal.
    """

    def __init__(self, cosine: Tensor) -> None:
        """Take the cosines.

        Args:
            cosine: (N, N).

        Raises:
            ValueError: it is no square matrix of floating-point numbers.
        """
        square = cosine.ndim == 2 and cosine.shape[0] == cosine.shape[1]
        if not (square and cosine.is_floating_point()):
            raise ValueError(
                "PrescribedViews: needs an (N, N) matrix of floating-point cosines, got "
                f"{cosine.dtype} of shape {tuple(cosine.shape)}."
            )
        self.__dict__["_cosine"] = cosine  # the dataclass is frozen

    @property
    def cosine(self) -> Tensor:
        """As given."""
        cosine: Tensor = self.__dict__["_cosine"]
        return cosine

    @property
    def aligned(self) -> Tensor:
        """The cosines to the positives."""
        return self.cosine.diagonal()

    @property
    def count(self) -> int:
        """N."""
        return self.cosine.shape[0]

    @property
    def anchor_similarity(self) -> Tensor:
        """The negatives' cosines, and 1 on the diagonal."""
        return without_diagonal(self.cosine, 1.0)

    @property
    def positive_similarity(self) -> Tensor:
        """As `anchor_similarity`."""
        return self.anchor_similarity

    @property
    def anchor(self) -> Tensor:
        """Refused."""
        return _refuse("anchor")

    @property
    def positive(self) -> Tensor:
        """Refused."""
        return _refuse("positive")

    def __repr__(self) -> str:
        return f"PrescribedViews(count={self.count})"


def _refuse(which: str) -> NoReturn:
    raise InputError(
        f"PrescribedViews.{which}: a simulation from angles has no embeddings, so only pieces that "
        "read nothing but cosines can be simulated."
    )
