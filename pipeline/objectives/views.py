"""The pair of views: shape check, normalization and cosine matrices.

Every objective sees its batch as `Views`; a cosine matrix is computed where it is asked for.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from pipeline.machine.errors import CollapseError

# Distances and sines are kept off zero, where their derivatives are infinite. In float32
# 2 - 2c is exact to about 2e-7, so smaller squared values are rounding noise anyway.
MIN_SQUARED_DISTANCE = 1e-6
MIN_SQUARED_SINE = 1e-6
# Shorter embeddings count as zero vectors: they have no direction, and no gradient is divided
# by their length.
MIN_NORM = 1e-12


@dataclass(frozen=True)
class Views:
    """Embeddings of one batch under two augmentations, each (N, D), rows matched."""

    anchor: Tensor
    positive: Tensor

    @property
    def cosine(self) -> Tensor:
        """c_ij = h_i . p_j, (N, N)."""
        return self.anchor @ self.positive.T

    @property
    def anchor_similarity(self) -> Tensor:
        """h_i . h_j, (N, N): within the anchor's view."""
        return self.anchor @ self.anchor.T

    @property
    def positive_similarity(self) -> Tensor:
        """p_i . p_j, (N, N): within the positive's view."""
        return self.positive @ self.positive.T

    @property
    def aligned(self) -> Tensor:
        """c_ii, (N,)."""
        return (self.anchor * self.positive).sum(dim=1)

    @property
    def count(self) -> int:
        """N."""
        return self.anchor.shape[0]

    def swapped(self) -> "Views":
        """The other turn: the positive's view takes the anchor's part."""
        return Views(self.positive, self.anchor)

    def detached(self) -> "Views":
        """The same views outside the graph."""
        return Views(self.anchor.detach(), self.positive.detach())


def check_views(where: str, anchor: Tensor, positive: Tensor) -> None:
    """Refuse what no objective can use; the ValueError says what is wrong with the shapes."""
    shapes, problem = f"{tuple(anchor.shape)} and {tuple(positive.shape)}", ""
    if anchor.ndim != 2 or positive.ndim != 2:
        problem = f"anchor and positive must be (N, D) matrices, got shapes {shapes}"
    elif anchor.shape != positive.shape:
        problem = f"anchor and positive must have one shape, got {shapes}"
    elif anchor.shape[0] < 2 or anchor.shape[1] < 1:
        problem = (
            "needs at least 2 sentences (negatives come from the batch) of at least 1 dimension, "
            f"got {tuple(anchor.shape)}"
        )
    elif not (anchor.is_floating_point() and positive.is_floating_point()):
        problem = f"embeddings must be floating point, got {anchor.dtype} and {positive.dtype}"
    if problem:
        raise ValueError(f"{where}: {problem}.")


def check_finite(where: str, anchor: Tensor, positive: Tensor) -> None:
    """Refuse NaN and infinity; on an accelerator this waits for the device."""
    for name, view in (("anchor", anchor), ("positive", positive)):
        finite = torch.isfinite(view).all(dim=1)
        if not finite.all():
            raise CollapseError(
                f"{where}: {int((~finite).sum())} of {view.shape[0]} {name} embeddings "
                "hold NaN or infinity; lower the learning rate or check the encoder's output."
            )


def l2_normalize(embeddings: Tensor) -> Tensor:
    """X / |x| row by row; a zero vector stays zero, with a finite gradient."""
    norm = torch.linalg.vector_norm(embeddings, dim=1, keepdim=True)
    return embeddings / torch.where(norm > MIN_NORM, norm, torch.ones_like(norm))


def full_precision(x: Tensor) -> Tensor:
    """At least float32: cosines in half precision lose what separates neighbours."""
    return x.float() if x.dtype in (torch.bfloat16, torch.float16) else x


def distance(cosine: Tensor) -> Tensor:
    """|x - y| = sqrt(2 - 2 x.y) of unit vectors, at least sqrt(MIN_SQUARED_DISTANCE)."""
    return (2 - 2 * cosine).clamp_min(MIN_SQUARED_DISTANCE).sqrt()


def diagonal_mask(matrix: Tensor) -> Tensor:
    """True on the diagonal, (N, N)."""
    return torch.eye(matrix.shape[0], dtype=torch.bool, device=matrix.device)


def without_diagonal(matrix: Tensor, fill: float) -> Tensor:
    """The matrix with `fill` in place of each sentence's pair with itself."""
    return matrix.masked_fill(diagonal_mask(matrix), fill)


def hardest(similarity: Tensor) -> tuple[Tensor, Tensor]:
    """Value and index of max_{j != i} of each row, (N,) and (N,)."""
    value, index = without_diagonal(similarity, -torch.inf).max(dim=1)
    return value, index
