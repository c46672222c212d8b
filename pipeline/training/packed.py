"""Packed tokens: a batch's real tokens end to end, so that only attention computes on padding.

A packed batch is token ids (T,) of all rows in their order, then some padding, beside the mask
(N, L) of the rows as they were. Embeddings, linear layers, LayerNorm and dropout take (T, D);
attention takes (N, heads, L, D / heads), since each row attends to itself alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.nn import functional as F
from transformers import BertModel, PreTrainedModel, RobertaModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import eager_attention_forward

from pipeline.machine.errors import InputError
from pipeline.training.batches import rounded_up
from pipeline.training.first_token import ATTENTION

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipeline.config.schema import TrainParams
    from pipeline.training.batches import Collate

# Tokens of packed batches are padded to a multiple of it where each number is a program of its own.
UNIT = 512


def packing(
    collate: Collate, lengths: npt.NDArray[np.int64], settings: TrainParams, *, few_shapes: bool
) -> Collate:
    """What packs the batches that `collate` gives, without waiting for their device.

    Without `settings.packed` it is `collate` itself.

    Args:
        collate: indices (N,) -> ids and mask, (2N, L) each, of both views.
        lengths: tokens of each sentence, on the host.
        settings: of training.
        few_shapes: pad to few numbers of tokens and lengths of rows, since each is compiled.

    Returns:
        Indices -> ids (T,), or (parts, T) with gradient caching, and the mask (2N, L).
    """
    if not settings.packed:
        return collate
    rows, unit = 2 * (settings.chunk_size or settings.batch_size), UNIT if few_shapes else 1

    def pack(indices: np.ndarray) -> tuple[Tensor, Tensor]:
        ids, mask = collate(indices)
        if few_shapes:
            wider = 0, rounded_up(mask.shape[1], settings.max_length) - mask.shape[1]
            ids, mask = F.pad(ids, wider), F.pad(mask, wider)
        own = np.tile(lengths[indices], 2)
        most = max(int(own[start : start + rows].sum()) for start in range(0, len(own), rows))
        count = -(-most // unit) * unit
        pairs = zip(torch.split(ids, rows), torch.split(mask, rows), strict=True)
        parts = [_packed(*part, count) for part in pairs]
        return parts[0] if settings.chunk_size is None else torch.stack(parts), mask

    return pack


def _packed(ids: Tensor, mask: Tensor, count: int) -> Tensor:
    """Ids (N, L) -> (count,); padding repeats the last place, whatever is there."""
    return ids.flatten()[_places(mask, count)]


def _places(mask: Tensor, count: int) -> Tensor:
    """Where in the flattened mask each packed token stands; padding stands at the last place."""
    behind = mask.flatten().cumsum(0)
    ordinals = torch.arange(1, count + 1, device=mask.device)
    return torch.searchsorted(behind, ordinals).clamp_max(mask.numel() - 1)


def check_packs(model: PreTrainedModel, source: str) -> None:
    """Refuse a model whose tokens cannot be packed.

    Raises:
        InputError: it is of another kind than those below, or attends otherwise.
    """
    is_packable = isinstance(model, BertModel | RobertaModel) and not model.config.is_decoder
    if not is_packable or model.config._attn_implementation not in ATTENTION:  # noqa: SLF001
        raise InputError(
            f"train.packed: {source} is a {type(model).__name__}, and packed tokens are for "
            "encoders of BERT's and RoBERTa's kind; set it to false."
        )


class _Plan(NamedTuple):
    """Where packed tokens stand in rows, and rows' places among packed tokens."""

    rows: int
    places: Tensor  # (T,) in the flattened (N, L)
    tokens: Tensor  # (N * L,) in (T,); another row's or the row's last where it has ended
    real: Tensor  # (T, 1), false for padding behind the last row
    inside: Tensor  # (N * L, 1), false where a row has ended

    @classmethod
    def of(cls, mask: Tensor, count: int) -> _Plan:
        """For a mask (N, L) and so many packed tokens."""
        places, inside = _places(mask, count), mask.flatten()
        behind = inside.cumsum(0)
        real = torch.arange(count, device=mask.device) < behind[-1]
        tokens = (behind - 1).clamp_min(0)
        return cls(len(mask), places, tokens, real[:, None], inside[:, None].bool())

    @property
    def firsts(self) -> Tensor:
        """(N,) in (T,): each row's first token."""
        return self.tokens.view(self.rows, -1)[:, 0]

    def spread(self, states: Tensor) -> Tensor:
        """(T, D) -> (N, L, D)."""
        moved: Tensor = _move(states, self.tokens, self.places, self.real)
        return moved.view(self.rows, -1, states.shape[1])

    def gathered(self, states: Tensor) -> Tensor:
        """(N, L, D) -> (T, D)."""
        moved: Tensor = _move(states.flatten(0, 1), self.places, self.tokens, self.inside)
        return moved


class _Move(Function):
    """Rows by index. The gradient goes back by an index, too: autograd's own way adds rows up."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, there: Tensor, back: Tensor, valid: Tensor) -> Tensor:
        ctx.save_for_backward(back, valid)
        return rows.index_select(0, there)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        back, valid = ctx.saved_tensors
        return gradient.index_select(0, back) * valid, None, None, None


_move: Any = _Move.apply


def last_states(model: PreTrainedModel, ids: Tensor, mask: Tensor, *, first_only: bool) -> Tensor:
    """The model's last hidden states of a packed batch.

    Args:
        model: that `check_packs` lets pass.
        ids: (T,).
        mask: (N, L).
        first_only: leave out what each row's first state does not need.

    Returns:
        (N, L, D), any state where a row has ended; or (N, 1, D).
    """
    plan, parts = _Plan.of(mask, len(ids)), cast("Any", model)
    position = plan.places % mask.shape[1]
    if isinstance(model, RobertaModel):
        position = position + parts.embeddings.padding_idx + 1
    states: Tensor = parts.embeddings(input_ids=ids[None], position_ids=position[None])[0]
    visible = mask[:, None, None].bool()
    if model.config._attn_implementation == "eager":  # noqa: SLF001 - has no other name
        lowest = torch.finfo(states.dtype).min
        visible = states.new_zeros(visible.shape).masked_fill(~visible, lowest)
    *layers, last = parts.encoder.layer
    for layer in layers:
        states = _layer(layer, states, plan, visible)
    if first_only:
        return _layer(last, states, plan, visible, first_only=True)[:, None]
    return plan.spread(_layer(last, states, plan, visible))


def _layer(
    layer: Any, states: Tensor, plan: _Plan, visible: Tensor, *, first_only: bool = False
) -> Tensor:
    """A layer's forward: (T, D) -> (T, D), or (N, D) of the rows' first tokens."""
    inner = layer.attention.self
    if first_only:
        asking = states[plan.firsts]
        query = inner.query(asking)[:, None]
        key, value = plan.spread(_product(states, inner.key, inner.value)).chunk(2, dim=2)
    else:
        asking = states
        together = _product(states, inner.query, inner.key, inner.value)
        query, key, value = plan.spread(together).chunk(3, dim=2)
    heads = inner.num_attention_heads, inner.attention_head_size
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(
        inner.config._attn_implementation,  # noqa: SLF001
        eager_attention_forward,
    )
    attended, _weights = attend(
        inner,
        *(part.unflatten(2, heads).transpose(1, 2) for part in (query, key, value)),
        visible,
        dropout=inner.dropout.p if inner.training else 0.0,
        scaling=inner.scaling,
    )
    attended = attended.flatten(2)
    attended = attended[:, 0] if first_only else plan.gathered(attended)
    output: Tensor = layer.feed_forward_chunk(layer.attention.output(attended, asking))
    return output


def _product(states: Tensor, *layers: nn.Linear) -> Tensor:
    """Several linear layers of one input in one product, their outputs side by side."""
    weight = torch.cat([layer.weight for layer in layers])
    return F.linear(states, weight, torch.cat([layer.bias for layer in layers]))
