"""Losses of others as objectives: as they are, and repaired.

| | as it is | repaired |
| --- | --- | --- |
| dissipation | in the weights | gate: c_ii - max c_ik < m |
| weight | the loss's own push | the same, each anchor's sum 1; or a softmax with temperature t |
| ratio | the loss's own | r |

The push of any loss is what `anatomy` finds. A repaired loss keeps where it pushes (where an
anchor's coefficient is positive) and gives up how much in all; where it does not push an anchor at
all, that anchor is left alone. With a temperature the push is e^{c/t} over the negatives of those
views that the loss pushes against. The mean is over anchors (factor 1/N) and each view takes the
anchor's part in turn, as in the paper's modified forms.

Coefficients are computed in double precision, whatever the embeddings' is: they are divided by a
factor of the Gram matrix, which is as good as singular for embeddings of one direction, and single
precision would leave no digit. The loss itself is evaluated there too, on (2N, 2N) numbers; what
goes back to the encoder is in the embeddings' precision.
Source: Li, Zhang & Nie 2024, Section 4, for the modified forms.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from pydantic import ConfigDict
from torch import Tensor, nn

from pipeline.machine.errors import InputError
from pipeline.machine.settings import Settings, check, unknown
from pipeline.objectives import OBJECTIVES
from pipeline.objectives import pieces as piece
from pipeline.objectives.adapters import adapted, named
from pipeline.objectives.anatomy import INVARIANT, Fitted, Loss, Placed, dependence, split
from pipeline.objectives.objective import Objective, PiecesOf, surrogate
from pipeline.objectives.pieces import Pieces
from pipeline.objectives.views import Views, l2_normalize, without_diagonal

# Pushes below this part of a batch's largest are rounding, and no anchor's weights are made of it.
NOISE = 1e-8


class Repair(Settings):
    """What a repaired loss has in place of its own."""

    margin: piece.CosineMargin = 0.3
    ratio: piece.Ratio = 1.5
    temperature: piece.Temperature | None = None


class Foreign(Settings):
    """An objective that is a loss of others; what else stands there are the loss's own values."""

    model_config = ConfigDict(extra="allow")

    loss: str
    repair: Repair | None = None


def repaired(
    loss: Callable[..., Any],
    margin: float = 0.3,
    ratio: float = 1.5,
    temperature: float | None = None,
) -> Objective:
    """A loss with the paper's repair: its own push, the gate as dissipation, a fixed ratio.

    Args:
        loss: of two (N, D) views, or of a library that `adapters` knows.
        margin: of the gate, as a cosine.
        ratio: pull over the sum of pushes.
        temperature: of a softmax in place of the loss's own push, where it is given.

    Returns:
        An objective, on normalized embeddings.

    Raises:
        InputError: the loss cannot be taken apart; see `anatomy`.
        ValueError: a value is out of its range.
    """
    name = getattr(loss, "__name__", type(loss).__name__)
    values: dict[str, Any] = {"margin": margin, "ratio": ratio, "temperature": temperature}
    if problems := check(Repair, values, "repair"):
        raise ValueError(" ".join(problems))
    return _repaired(name, Foreign(loss=name, repair=Repair(**values)), adapted(loss))


def foreign(name: str, settings: Mapping[str, Any]) -> Objective:
    """The objective of params.yaml that names a `loss`, with its values and its repair, if any.

    Raises:
        InputError: there is no such loss, it does not take the values, or cannot be trained with.
    """
    where = f"objectives.{name}.loss"
    checked = Foreign.model_validate(dict(settings))
    values = checked.model_extra or {}
    if ":" not in checked.loss:
        if checked.loss not in OBJECTIVES:
            raise InputError(f"{where}: {unknown('objective', checked.loss, OBJECTIVES)}")
        return _made(name, checked, OBJECTIVES[checked.loss](**values).loss)
    loss = named(checked.loss, values, where)
    module = getattr(loss, "func", loss), *getattr(loss, "args", ())
    for submodule in module:
        if isinstance(submodule, nn.Module) and any(
            p.requires_grad for p in submodule.parameters()
        ):
            raise InputError(
                f"{where}: {checked.loss} has parameters of its own, which nothing would train."
            )
        if getattr(submodule, "uses_gradient_cache", False) and checked.repair is None:
            raise InputError(
                f"{where}: {checked.loss} caches gradients, which train.chunk_size does for every "
                "objective; name the loss without a cache."
            )
    return _made(name, checked, loss)


def _made(name: str, settings: Foreign, loss: Loss) -> Objective:
    return (_as_it_is if settings.repair is None else _repaired)(name, settings, loss)


def _as_it_is(name: str, settings: Foreign, loss: Loss) -> Objective:
    coefficients = _coefficients(name, loss)

    def pieces(v: Views) -> Pieces:
        own, other, pull = (x.to(v.anchor.dtype) for x in split(coefficients(v)))
        return Pieces(piece.constant(v), own, pull, other_weight=other)

    def value(_: PiecesOf, v: Views) -> Tensor:
        return loss(v.anchor, v.positive)

    return Objective(name, settings, l2_normalize, pieces, _uncompiled(value))


def _repaired(name: str, settings: Foreign, loss: Loss) -> Objective:
    coefficients = _coefficients(name, loss)
    repair = settings.repair or Repair()

    def pieces(v: Views) -> Pieces:
        own, other, _ = split(coefficients(v))
        push = torch.cat([own, other], dim=1).clamp_min(0)
        push = torch.where(push > NOISE * push.max(), push, 0)
        if repair.temperature is not None:
            push = _tempered(push, v, repair.temperature)
        total = push.sum(dim=1, keepdim=True)
        weight = torch.where(total > 0, push / total, 0).to(v.anchor.dtype)
        own, other = weight.chunk(2, dim=1)
        gate = piece.margin_gate(v, margin=repair.margin)
        pull = repair.ratio * weight.sum(dim=1)
        return Pieces(gate, own, pull, 1 / v.count, other_weight=other)

    return Objective(name, settings, l2_normalize, pieces, _uncompiled(surrogate))


def _uncompiled(loss: Callable[[PiecesOf, Views], Tensor]) -> Callable[[PiecesOf, Views], Tensor]:
    """What others wrote is not asked to suit torch.compile."""
    whole: Callable[[PiecesOf, Views], Tensor] = torch.compiler.disable(loss)  # type: ignore[no-untyped-call]
    return whole


def _tempered(push: Tensor, v: Views, temperature: float) -> Tensor:
    """(N, 2N): e^{c/t} for the negatives of each view that is pushed against, largest 1."""
    similarities = torch.stack([v.anchor_similarity, v.cosine]).double()
    pushed = torch.stack(push.chunk(2, dim=1)) > 0
    allowed = pushed.any(dim=2, keepdim=True).any(dim=1, keepdim=True)
    logits = (
        torch.stack([without_diagonal(similarity, -torch.inf) for similarity in similarities])
        / temperature
    )
    logits = torch.cat([*logits.masked_fill(~allowed, -torch.inf)], dim=1)
    most = logits.amax(dim=1, keepdim=True)
    return torch.where(most.isfinite(), (logits - most).exp(), 0)


def _coefficients(name: str, loss: Loss) -> Callable[[Views], Tensor]:
    """S of a loss; which kind it has is tried once, so that training need not."""
    kind = Placed if dependence(loss, name) < INVARIANT else Fitted

    def of(v: Views) -> Tensor:
        return kind.of(v.anchor, v.positive).coefficients(loss, name)

    return of
