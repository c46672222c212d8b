"""The last layer of a BERT for the first token only, where pooling takes nothing else of it.

The other tokens still give keys and values, so the embedding is the same; a fifth of a
four-layer backbone's arithmetic goes.
"""

from functools import partial
from typing import Any

from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS
from transformers.models.bert.modeling_bert import BertLayer, eager_attention_forward
from transformers.models.roberta.modeling_roberta import RobertaLayer

ATTENTION = ("eager", "sdpa")  # whose masks have a row a query


def only_first_token(model: PreTrainedModel) -> bool:
    """Let the model compute (N, 1, D) last states instead of (N, L, D).

    Returns:
        Whether it does; models of other kinds are left as they are.
    """
    layers = getattr(getattr(model, "encoder", None), "layer", [])
    if not layers or not isinstance(layers[-1], BertLayer | RobertaLayer):
        return False
    if model.config._attn_implementation not in ATTENTION:  # noqa: SLF001 - has no other name
        return False
    layers[-1].forward = partial(_first_token, layers[-1])
    return True


def _first_token(layer: Any, hidden: Tensor, mask: Tensor | None, *_: Any, **__: Any) -> Tensor:
    """The layer's forward with one query a sentence."""
    inner, count = layer.attention.self, len(hidden)
    first = hidden[:, :1]
    query, key, value = (
        part(states).view(count, -1, inner.num_attention_heads, inner.attention_head_size)
        for part, states in ((inner.query, first), (inner.key, hidden), (inner.value, hidden))
    )
    attend = ALL_ATTENTION_FUNCTIONS.get_interface(
        inner.config._attn_implementation,  # noqa: SLF001
        eager_attention_forward,
    )
    attended, _weights = attend(
        inner,
        *(states.transpose(1, 2) for states in (query, key, value)),
        None if mask is None else mask[:, :, :1],
        dropout=inner.dropout.p if inner.training else 0.0,
        scaling=inner.scaling,
    )
    output: nn.Module = layer.attention.output
    states: Tensor = layer.feed_forward_chunk(output(attended.reshape(count, 1, -1), first))
    return states
