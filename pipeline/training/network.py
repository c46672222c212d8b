"""What is trained: the encoder's transformer with a head on its pooled output.

The head exists during training only. Dropout is the one augmentation, so a backbone without it
is refused.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.attention import SDPBackend
from transformers import PreTrainedModel

from pipeline.config.schema import BackboneParams, HeadKind, TrainParams
from pipeline.encoder.encoder import SentenceEncoder, attention_mask, pool
from pipeline.machine.errors import InputError
from pipeline.training.batches import rounded_up
from pipeline.training.first_token import only_first_token
from pipeline.training.packed import check_packs, last_states

# Rows of one forward pass on a CPU: enough to keep its cores busy, few enough to be of like length.
_ROWS_OF_LIKE_LENGTH = 64


class TrainingNetwork(nn.Module):
    """Token ids (N, L) and mask (N, L) -> embeddings (N, D) that the objective sees.

    Ids (T,) are a packed batch's, see packed.py.

    Attributes:
        embed: `whole_batch`, or a compiled form of it.
        few_lengths: pad to few lengths, since each one is compiled.
    """

    def __init__(self, encoder: SentenceEncoder, head: nn.Module) -> None:
        super().__init__()
        encoder.layout.check_trainable(str(encoder.model.name_or_path))
        self.transformer = encoder.model
        self.pooling = encoder.layout.pooling
        self.head = head
        self.embed: Callable[[Tensor, Tensor], Tensor] = self.whole_batch
        self.few_lengths = False

    @property
    def device(self) -> torch.device:
        """Where it lies."""
        return self.transformer.device

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Pooled token states through the head; on a CPU, rows of like length share a pass."""
        if ids.device.type == "cpu" and ids.dim() == 2:
            return _in_length_groups(self.embed, ids, mask, few_lengths=self.few_lengths)
        return self.embed(ids, mask)

    def whole_batch(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The same in one pass."""
        if ids.dim() == 1:
            first_only = self.pooling == "cls"
            hidden = last_states(self.transformer, ids, mask, first_only=first_only)
        else:
            attended = attention_mask(self.transformer, mask)
            hidden = self.transformer(input_ids=ids, attention_mask=attended).last_hidden_state
        embeddings: Tensor = self.head(pool(hidden, mask, self.pooling))
        return embeddings


def _in_length_groups(
    embed: Callable[[Tensor, Tensor], Tensor], ids: Tensor, mask: Tensor, *, few_lengths: bool
) -> Tensor:
    """Embed (N, L) rows in groups that are padded to their own longest row; (N, D) in order."""
    lengths = mask.sum(dim=1)
    order = torch.argsort(lengths, stable=True)
    groups = []
    for rows in torch.split(order, _ROWS_OF_LIKE_LENGTH):
        longest = int(lengths[rows[-1]])
        if few_lengths:
            longest = rounded_up(longest, ids.shape[1])
        groups.append(embed(ids[rows, :longest], mask[rows, :longest]))
    return torch.cat(groups)[torch.argsort(order)]


def build(
    backbone: BackboneParams, settings: TrainParams, device: torch.device
) -> tuple[SentenceEncoder, TrainingNetwork]:
    """The backbone as encoder on the device, and the network around it that is trained.

    Raises:
        InputError: no backbone that can be loaded, or one that cannot be trained so.
    """
    encoder = SentenceEncoder.load(
        backbone.source, str(device), backbone.pooling, backbone.revision
    )
    if encoder.layout.pooling != backbone.pooling:
        raise InputError(
            f"backbone.pooling: {backbone.pooling!r}, but modules.json of {backbone.source} says "
            f"{encoder.layout.pooling!r}; set that."
        )
    refuse_without_dropout(encoder, backbone.source)
    attend_with_dropout(encoder.model)
    if settings.packed:
        check_packs(encoder.model, backbone.source)
    if encoder.layout.pooling == "cls":
        only_first_token(encoder.model)
    if settings.freeze_embeddings:
        freeze_embeddings(encoder, backbone.source)
    own_std = float(getattr(encoder.model.config, "initializer_range", 0.02))
    head = make_head(settings.head, encoder.dimension, settings.head_std, own_std)
    return encoder, TrainingNetwork(encoder, head).to(device).train()


def attend_with_dropout(model: PreTrainedModel) -> None:
    """Choose what is right and fast with dropout.

    On a CPU the fused kernel takes a detour then. On CUDA some of cuDNN's kernels round the rate of
    dropout to sixteenths, and cuDNN is what torch prefers on Hopper.
    """
    if model.device.type == "cpu":
        model.set_attn_implementation("eager")
    if model.device.type == "cuda":
        torch.backends.cuda.enable_cudnn_sdp(enabled=False)


def taken_attention(model: PreTrainedModel, autocast: torch.dtype | None) -> str:
    """The attention of training, for records: `eager`, or which of its kernels torch takes."""
    config = model.config
    name = str(config._attn_implementation)  # noqa: SLF001 - has no other name
    heads = getattr(config, "num_attention_heads", None)
    if name != "sdpa" or not heads:
        return name
    states = torch.empty(
        (2, heads, 32, config.hidden_size // heads), dtype=autocast, device=model.device
    )
    mask = torch.ones((2, 1, 1, 32), dtype=torch.bool, device=model.device)
    choice = torch._fused_sdp_choice(states, states, states, mask, 0.1)  # noqa: SLF001
    return f"sdpa, {SDPBackend(choice).name.lower()}"


def make_head(kind: HeadKind, width: int, std: float | None, initializer_range: float) -> nn.Module:
    """A head of `width` inputs and outputs.

    Args:
        kind: `mlp` is dense + tanh as in SimCSE; `linear` is one dense layer as in the paper's
            code for BERT; `tanh_linear` puts a tanh before it, as there for RoBERTa.
        width: D.
        std: of the normal distribution that weights and bias are drawn from; None takes the
            backbone's initializer for the weights and zero for the bias.
        initializer_range: the backbone's own standard deviation.
    """
    dense = nn.Linear(width, width)
    nn.init.normal_(dense.weight, std=initializer_range if std is None else std)
    if std is None:
        nn.init.zeros_(dense.bias)
    else:
        nn.init.normal_(dense.bias, std=std)
    parts: dict[str, list[nn.Module]] = {
        "mlp": [dense, nn.Tanh()],
        "linear": [dense],
        "tanh_linear": [nn.Tanh(), dense],
    }
    return nn.Sequential(*parts[kind])


@torch.no_grad()
def refuse_without_dropout(encoder: SentenceEncoder, source: str) -> None:
    """Encode one sentence twice in training mode: equal results mean equal views.

    Raises:
        InputError: no dropout acts.
    """
    model = encoder.model
    inputs = encoder.tokenizer(["two views of one sentence"], return_tensors="pt").to(model.device)
    was_training = model.training
    model.train()
    # The probe must not move the run's random stream.
    others = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(others, enabled=model.device.type != "mps"):
        first, second = (model(**inputs).last_hidden_state for _ in range(2))
    model.train(was_training)
    if torch.equal(first, second):
        raise InputError(
            f"backbone.source: {source} has no dropout, so both views of a sentence would be "
            "equal; set hidden_dropout_prob (or its like) above 0 in its config.json, or take "
            "another backbone."
        )


def freeze_embeddings(encoder: SentenceEncoder, source: str) -> None:
    """Stop training the embedding tables and their LayerNorm.

    Raises:
        InputError: the model keeps them elsewhere than BERT and RoBERTa do.
    """
    try:
        embeddings = encoder.model.get_submodule("embeddings")
    except AttributeError as error:
        raise InputError(
            f"train.freeze_embeddings: {source} is a {type(encoder.model).__name__}, which has no "
            "part named embeddings; set it to false."
        ) from error
    embeddings.requires_grad_(requires_grad=False)
