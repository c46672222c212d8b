"""The gradient of any loss of two views, taken apart: pull, push, ratio, dissipation.

A loss that depends on cosines only is a function of the Gram matrix of its 2N embeddings X, the N
anchors above the N positives. Placed isometrically in at least 2N dimensions, X has independent
rows, and the loss's gradient at them is S X with one S only. Row i of S holds every coefficient of
anchor i's gradient: its pull on the positive p_i, its push on each p_j and each h_j.

This is exact up to rounding and JITTER, which is added to the Gram matrix's diagonal, since that
of repeated or few-dimensional embeddings is singular: a batch is seen with its cosines divided by
1 + JITTER. Coefficients are not unique at a kink: where two negatives are equally hard, or a hinge
is met exactly, S is that of one side, which rounding picks.

A loss that depends on the axes too (textbook Barlow Twins and VICReg) has no such S. Its gradient
is then fitted by least squares in the embeddings' own axes, and the residual says how well.
Source: Li, Zhang & Nie 2024, Section 3, for the components.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from pipeline.machine.errors import InputError
from pipeline.objectives.views import (
    Views,
    check_finite,
    check_views,
    l2_normalize,
    without_diagonal,
)

Loss = Callable[[Tensor, Tensor], Tensor]

# Large beside the rounding of a Gram matrix and its factor (1e-13 for 1,024 embeddings), small
# beside what moves a softmax: with t = 0.05 a coefficient moves by 4e-10 of itself.
JITTER = 1e-11
# Coefficients that differ by less between two sets of axes are those of a function of cosines.
INVARIANT = 1e-6
# Coefficients below this part of a batch's largest are rounding, and count as zero: a hinge that is
# met leaves 1e-17 in place of nothing, and a ratio of two such numbers would mean nothing.
ROUNDING = 1e-9
# How far from the antipode an anchor's positive is put: a loss of angles has no gradient at cosine
# -1 itself. Cosines are then -1 to 5e-11.
BESIDE = 1e-5
# Ridge of least squares, beside embeddings of length 1: without it a gradient that no coefficients
# explain would be explained by huge ones that cancel.
RIDGE = 1e-3


@dataclass(frozen=True)
class Anatomy:
    """What a loss does with one batch, the first view as anchor; double precision.

    Attributes:
        own: (N, N) push of anchor i on h_j, zero on the diagonal; negative where it attracts.
        other: (N, N) push on p_j, likewise.
        pull: (N,) pull along the positive.
        dissipation: (N,) an anchor's total push over what that is once the anchor's positive is at
            cosine -1 and all else as it is. NaN where it was not measured, or where the loss does
            not push that anchor, or is not finite, even then. Above 1 where a loss's weights look
            at the positive, as Barlow Twins' do: there it is no share.
        dependence: how far the loss's coefficients depend on axes, 0 to 1: |S - S'| / (|S| + |S'|)
            in two random sets of axes, on a random batch. Rounding for a function of cosines.
        residual: 0 for a function of cosines; else the part of the anchors' gradient, by length,
            that least squares leave unexplained.
    """

    own: Tensor
    other: Tensor
    pull: Tensor
    dissipation: Tensor
    dependence: float
    residual: float

    @property
    def push(self) -> Tensor:
        """(N, N): on sentence j in either view."""
        return self.own + self.other

    @property
    def total(self) -> Tensor:
        """(N,): sum_j push_ij."""
        return self.push.sum(dim=1)

    @property
    def ratio(self) -> Tensor:
        """(N,): pull_i / sum_j push_ij; not finite where the pushes cancel."""
        return self.pull / self.total

    @property
    def hardest_share(self) -> Tensor:
        """(N,): the largest share that one negative has in an anchor's |push|; NaN without one."""
        size = torch.cat([self.own, self.other], dim=1).abs()
        return size.amax(dim=1) / size.sum(dim=1)


def anatomy(  # noqa: PLR0913 - what all calls but those of a sweep leave out
    loss: Loss,
    anchor: Tensor,
    positive: Tensor,
    *,
    name: str = "the loss",
    turned: int = 8,
    on_axes: float | None = None,
) -> Anatomy:
    """Take a loss apart on one batch.

    Args:
        loss: two (N, D) tensors of embeddings -> a scalar. It gets unit vectors in double
            precision, of D dimensions or more.
        anchor: (N, D) embeddings of any length.
        positive: (N, D), row by row the same sentences.
        name: of the loss, for messages.
        turned: anchors whose dissipation is measured, evenly spaced: each one takes a gradient
            (8 of 512 take 1.3 to 1.7 s in all, on one core).
        on_axes: what `dependence` gave for this loss, where it was called already.

    Raises:
        ValueError: the views are not two matrices of one shape with N >= 2, or not finite.
        InputError: the loss fails, gives no scalar, is not finite, or ignores the embeddings.
    """
    check_views(name, anchor, positive)
    check_finite(name, anchor, positive)
    if on_axes is None:
        on_axes = dependence(loss, name, len(anchor))
    kind = Placed if on_axes < INVARIANT else Fitted
    batch: Placed | Fitted = kind.of(anchor, positive)
    first = batch.coefficients(loss, name)
    if not first.isfinite().all():
        raise InputError(f"{name}: its gradient holds NaN or infinity on a finite batch.")
    floor = ROUNDING * float(first.abs().max())
    own, other, pull = (torch.where(x.abs() > floor, x, 0) for x in split(first))
    total = (own + other).sum(dim=1)
    anchors = torch.linspace(0, len(total) - 1, min(turned, len(total))).round().long().tolist()
    dissipation = torch.full_like(total, torch.nan)
    for i in anchors:
        row = batch.turned(loss, name, i)
        row = torch.where(row.abs() > floor, row, 0)
        if row.isfinite().all() and row.sum() != 0:
            dissipation[i] = total[i] / row.sum()
    residual = batch.residual(loss, name, first)
    return Anatomy(own, other, pull, dissipation, on_axes, residual)


def dependence(loss: Loss, name: str = "the loss", count: int = 32) -> float:
    """How far a loss's coefficients depend on axes; see `Anatomy`.

    Tried on a random batch of `count` sentences, where no two negatives are equally hard: there
    rounding would choose, and choose otherwise in other axes.
    """
    generator = torch.Generator().manual_seed(0)
    normal = torch.randn(2, count, 64, dtype=torch.float64, generator=generator)
    anchor = 1 + normal[0]
    views = anchor, anchor + 0.7 * normal[1]
    first, second = (Placed.of(*views, axes).coefficients(loss, name) for axes in (0, 1))
    size = float(first.norm() + second.norm())
    return float((first - second).norm()) / size if size != 0 else 0.0


def split(coefficients: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """The anchors' rows of S, (2N, 2N): push on h_j, push on p_j, and pull on p_i."""
    count = len(coefficients) // 2
    own, other = coefficients[:count, :count], coefficients[:count, count:]
    return without_diagonal(own, 0.0), without_diagonal(other, 0.0), -other.diagonal()


@dataclass(frozen=True)
class Placed:
    """A batch as 2N independent unit vectors with the cosines of the batch.

    Attributes:
        embeddings: (2N, M), M = max(D, 2N): factor @ axes.
        factor: (2N, 2N) Cholesky's lower triangle of the Gram matrix.
        axes: (2N, M) random orthonormal rows, so that none of the M axes has a meaning.
    """

    embeddings: Tensor
    factor: Tensor
    axes: Tensor

    @classmethod
    def of(cls, anchor: Tensor, positive: Tensor, axes: int = 0) -> "Placed":
        """Place a batch; `axes` is the seed of its axes."""
        x = units(anchor, positive)
        gram = (x @ x.T) / (1 + JITTER)
        gram.diagonal().fill_(1.0)  # also of zero vectors
        factor, _ = torch.linalg.cholesky_ex(gram)  # NaN stays NaN, and nothing is raised
        basis = _axes(max(x.shape), axes)[: len(x)].to(x.device)
        return cls(factor @ basis, factor, basis)

    @property
    def views(self) -> Views:
        """Anchors and positives."""
        return Views(*self.embeddings.chunk(2))

    def coefficients(self, loss: Loss, name: str) -> Tensor:
        """S, (2N, 2N): the loss's gradient at all embeddings in terms of these."""
        return self._in_terms(gradient(loss, self.embeddings, name))

    def turned(self, loss: Loss, name: str, i: int) -> Tensor:
        """(2N,): anchor i's pushes where its positive is its antipode.

        It lies in the plane of h_i and p_i, so that in terms of the embeddings as they were all
        others have their own part.
        """
        embeddings = _with_antipode(self.embeddings, i)
        return _pushes(self._in_terms(gradient(loss, embeddings, name)[[i]])[0], i)

    def residual(self, loss: Loss, name: str, coefficients: Tensor) -> float:  # noqa: ARG002
        """Nothing is left: the embeddings span every direction that cosines know."""
        return 0.0

    def _in_terms(self, vectors: Tensor) -> Tensor:
        along = vectors @ self.axes.T
        coefficients: Tensor = torch.linalg.solve_triangular(
            self.factor, along, upper=False, left=False
        )
        return coefficients


@dataclass(frozen=True)
class Fitted:
    """A batch in its own axes, in terms of which gradients are fitted by least squares.

    Attributes:
        embeddings: (2N, D) unit vectors.
    """

    embeddings: Tensor

    @classmethod
    def of(cls, anchor: Tensor, positive: Tensor) -> "Fitted":
        """A batch as it is, in double precision."""
        return cls(units(anchor, positive))

    def coefficients(self, loss: Loss, name: str) -> Tensor:
        """S, (2N, 2N), of the least |gradient - S X|^2 + RIDGE |S|^2."""
        x = self.embeddings
        gram = x @ x.T + RIDGE * torch.eye(len(x), dtype=x.dtype, device=x.device)
        coefficients: Tensor = torch.linalg.solve(gram, gradient(loss, x, name) @ x.T, left=False)
        return coefficients

    def turned(self, loss: Loss, name: str, i: int) -> Tensor:
        """(2N,): anchor i's pushes where its positive is its antipode."""
        batch = Fitted(_with_antipode(self.embeddings, i))
        return _pushes(batch.coefficients(loss, name)[i], i)

    def residual(self, loss: Loss, name: str, coefficients: Tensor) -> float:
        """|gradient - S X| / |gradient| over the anchors."""
        anchors = len(self.embeddings) // 2
        actual = gradient(loss, self.embeddings, name)[:anchors]
        rest = actual - (coefficients @ self.embeddings)[:anchors]
        size = float(actual.norm())
        return float(rest.norm()) / size if size > 0 else 0.0


def units(anchor: Tensor, positive: Tensor) -> Tensor:
    """(2N, D): anchors above positives, of length 1, in double precision, outside the graph."""
    return l2_normalize(torch.cat([anchor, positive]).detach().double())


def _with_antipode(embeddings: Tensor, i: int) -> Tensor:
    """With anchor i's positive next to the anchor's antipode, in the plane of both."""
    changed, place = embeddings.clone(), len(embeddings) // 2 + i
    changed[place] = l2_normalize(BESIDE * embeddings[[place]] - embeddings[[i]])[0]
    return changed


def _pushes(row: Tensor, i: int) -> Tensor:
    """A row of S without anchor i itself and its positive."""
    original = row.clone()
    original[[i, len(row) // 2 + i]] = 0.0
    return original


def gradient(loss: Loss, embeddings: Tensor, name: str) -> Tensor:
    """(2N, M): the loss's gradient at embeddings, the anchors above the positives.

    Raises:
        InputError: the loss fails, gives no scalar, is not finite, or ignores the embeddings.
    """
    leaf = embeddings.detach().clone().requires_grad_()
    count = len(leaf) // 2
    with torch.enable_grad():
        try:
            value = loss(leaf[:count], leaf[count:])
            if isinstance(value, Tensor) and value.numel() == 1 and value.requires_grad:
                # Not autograd.grad: losses that cache gradients fill them in while they go back.
                torch.autograd.backward(value.reshape(()))
        except Exception as error:
            reason = f"{type(error).__name__}: {str(error).partition('. ')[0]}".rstrip(".")
            raise InputError(
                f"{name}: fails on two views of shape {(count, leaf.shape[1])} ({reason})."
            ) from error
    if not isinstance(value, Tensor) or value.numel() != 1:
        what = f"shape {tuple(value.shape)}" if isinstance(value, Tensor) else type(value).__name__
        raise InputError(f"{name}: must give one number for a batch, got {what}.")
    if leaf.grad is None:
        raise InputError(f"{name}: does not depend on the embeddings, so it has no gradient.")
    return leaf.grad


@lru_cache(maxsize=8)
def _axes(dimension: int, seed: int) -> Tensor:
    """(M, M) random orthogonal, equal for equal arguments."""
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(dimension, dimension, dtype=torch.float64, generator=generator)
    orthogonal: Tensor = torch.linalg.qr(normal)[0]
    return orthogonal
