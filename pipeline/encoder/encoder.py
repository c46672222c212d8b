"""Sentence encoders: load, encode, save.

A folder in the sentence-transformers layout (Transformer, Pooling, Dense, Normalize modules) or a
plain Hugging Face model folder becomes a `SentenceEncoder`; what was trained is written again in
the former. Not here: training heads, other module kinds (refused by name), and any measure of
quality.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from safetensors import SafetensorError
from tokenizers import normalizers
from torch import Tensor
from transformers import (
    AutoConfig,
    AutoModel,
    AutoModelForTextEncoding,
    BertModel,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    RobertaModel,
)
from transformers.utils import logging as transformers_logging

from pipeline.data.tokenizing import read_tokenizer
from pipeline.encoder.dense import load_dense
from pipeline.encoder.folder import Layout, longest_sentence
from pipeline.encoder.vectors import MIN_NORM, pad
from pipeline.machine.device import resolve
from pipeline.machine.errors import InputError, first_line
from pipeline.machine.files import writing

# What an encoder is made of; a repository may hold the same weights in other formats besides.
HUB_FILES = ["*.json", "*.txt", "*.model", "model*.safetensors", "*_Dense/*"]
# Tokens of a long sentence: an accelerator's batches are counted in them.
LONG = 256
# Models with a decoder, which is left out.
_WITH_DECODER = ("t5", "mt5", "umt5")


def pool(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    """Token states (N, L, D) and attention mask (N, L) -> sentence embeddings (N, D).

    Rows are padded on the right. Several poolings, `cls+mean`, give (N, D) each, side by side.
    """
    if "+" in pooling:
        return torch.cat([pool(hidden, mask, name) for name in pooling.split("+")], dim=1)
    if pooling == "cls":
        return hidden[:, 0]
    if pooling == "lasttoken":
        last = mask.sum(dim=1, dtype=torch.int64) - 1
        return hidden.gather(1, last[:, None, None].expand(-1, 1, hidden.shape[2]))[:, 0]
    if pooling == "max":
        return hidden.masked_fill(mask[:, :, None] == 0, -torch.inf).amax(dim=1)
    weights = mask[:, :, None].to(hidden.dtype)
    if pooling == "weightedmean":  # token t of 1, 2, ... with weight t
        weights = weights * weights.cumsum(dim=1)
    total = weights.sum(dim=1)
    if pooling == "mean_sqrt_len_tokens":
        total = total.sqrt()
    return (hidden * weights).sum(dim=1) / total


def attention_mask(model: PreTrainedModel, mask: Tensor) -> Tensor:
    """A mask (N, L) as the model takes it without asking the device.

    Of such a mask transformers asks whether it is full, and waits for the answer; truth values
    (N, 1, 1, L), which BERT and RoBERTa take with torch's attention, it leaves alone.
    """
    sdpa = model.config._attn_implementation == "sdpa"  # noqa: SLF001 - has no other name
    own = sdpa and isinstance(model, BertModel | RobertaModel)
    return mask[:, None, None].bool() if own and mask.device.type != "cpu" else mask


class Batch(NamedTuple):
    """Sentences that are embedded together."""

    sentences: list[int]  # their places, (n,)
    ids: Tensor  # (n, L), padded on the right
    mask: Tensor  # (n, L)


@dataclass(frozen=True)
class SentenceEncoder:
    """A transformer with its tokenizer and the way from token states to one vector."""

    model: PreTrainedModel  # without a pooler
    tokenizer: PreTrainedTokenizerFast
    layout: Layout
    dense: torch.nn.Sequential = field(default_factory=torch.nn.Sequential)  # behind the pooling
    autocast: torch.dtype | None = None  # in which matrices are multiplied; None: the weights' own

    @classmethod
    def load(
        cls,
        source: str | Path,
        device: str = "auto",
        pooling: str = "cls",
        revision: str | None = None,
    ) -> "SentenceEncoder":
        """Load an encoder in float32 and evaluation mode.

        Args:
            source: a sentence-transformers folder (its modules decide), a Hugging Face model
                folder, or a model id on the hub.
            device: `auto`, `cpu`, `cuda`, `cuda:1`, `mps`.
            pooling: for sources that do not say.
            revision: of a model id: commit, branch or tag; None is the main branch.

        Raises:
            InputError: no such folder or id, not a model, no tokenizer, modules that Triad lacks,
                or the device is not there.
        """
        place = resolve(device)
        folder = locate(str(source), revision)
        layout = Layout.read(folder, pooling)
        model = _load_transformer(folder)
        torch.nn.Module.to(model, place)  # the library's wrapper has lost its types
        try:
            tokenizer = read_tokenizer(str(folder))
        except InputError as error:
            raise InputError(f"{source}: {error}") from error
        limit = layout.max_length or int(tokenizer.model_max_length)
        special = tokenizer.num_special_tokens_to_add()
        longest = longest_sentence(folder, limit, _positions(model), special)
        if layout.lower_case:
            _lower_case(tokenizer)
        dense = torch.nn.Sequential(*(load_dense(folder / path) for path in layout.dense))
        return cls(model, tokenizer, replace(layout, max_length=longest), dense.to(place))

    @property
    def dimension(self) -> int:
        """D, the length of an embedding."""
        width = int(self.model.config.hidden_size) * (self.layout.pooling.count("+") + 1)
        for layer in self.dense.modules():
            width = layer.out_features if isinstance(layer, torch.nn.Linear) else width
        return min(width, self.layout.truncate_dim or width)

    def encode(
        self,
        sentences: Sequence[str],
        batch_size: int = 64,
    ) -> np.ndarray:
        """Embed sentences.

        Args:
            sentences: N texts, not one text; long ones are cut at the layout's maximum length.
            batch_size: sentences a forward pass; batches are made of sentences of like length.

        Returns:
            (N, D) float32, in the order given, whatever the batches were.

        Raises:
            InputError: one text was given instead of a list, or no batch size.
        """
        if batch_size < 1:
            raise InputError(f"encode: batch_size must be 1 or more, got {batch_size}.")
        if isinstance(sentences, str):
            raise InputError(f"encode: expected a list of texts, got one: {sentences!r:.40}.")
        batches = self.batches(self.tokenize(sentences), batch_size)
        return self.encode_batches(batches, len(sentences))

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special ones included, cut at the layout's length."""
        prompt = self.layout.prompt()
        texts = [prompt + text for text in sentences]
        if not texts:
            return []
        ids = self.tokenizer(texts, truncation=True, max_length=self.layout.max_length)["input_ids"]
        return cast("list[list[int]]", ids)

    def batches(self, ids: Sequence[Sequence[int]], batch_size: int = 64) -> Iterator[Batch]:
        """Sentences of like length, longest first, padded and on the device.

        On a CPU each has `batch_size` sentences; on an accelerator it has so many that padded they
        are as many tokens as `batch_size` long ones.
        """
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        start, size = 0, batch_size
        while start < len(order):
            if self.model.device.type != "cpu":
                size = max(1, batch_size * LONG // max(1, len(ids[order[start]])))
            chosen = order[start : start + size]
            start += size
            padded = pad([ids[i] for i in chosen], int(self.tokenizer.pad_token_id))
            on_device = (_to(torch.from_numpy(part), self.model.device) for part in padded)
            yield Batch(chosen, *on_device)

    @torch.inference_mode()
    def encode_batches(
        self,
        batches: Iterable[Batch],
        count: int,
    ) -> np.ndarray:
        """Embed so many sentences that `batches` gave; (count, D) float32 in their order.

        An accelerator computes while the host pads, and is waited for once, at the end.
        """
        embeddings = np.empty((count, self.dimension), dtype=np.float32)
        computed: list[tuple[list[int], Tensor]] = []
        kind = self.model.device.type
        for batch in batches:
            with torch.autocast(kind, self.autocast, enabled=self.autocast is not None):
                rows = self.embed(batch.ids, batch.mask)
            if self.layout.normalize:
                rows = torch.nn.functional.normalize(rows, dim=1, eps=MIN_NORM)
            computed.append((batch.sentences, _to(rows.float(), torch.device("cpu"))))
        if kind == "cuda":
            torch.cuda.current_stream(self.model.device).synchronize()
        for sentences, rows in computed:
            embeddings[sentences] = rows.numpy()
        return embeddings

    def embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        """Token ids and mask (N, L), padded on the right -> embeddings (N, D), not normalized."""
        seen = attention_mask(self.model, mask)
        hidden = self.model(input_ids=ids, attention_mask=seen).last_hidden_state
        embeddings: Tensor = self.dense(pool(hidden, mask, self.layout.pooling))
        return embeddings[:, : self.dimension] if self.layout.truncate_dim else embeddings

    def save(self, folder: Path) -> None:
        """Write the sentence-transformers layout, float32, into an existing or new folder.

        `transformers.AutoModel` reads the folder too.

        Raises:
            WriteError: the folder cannot be written, or the disk is full.
        """
        # Encoding leaves its maximum length in the tokenizer; equal encoders have equal files.
        self.tokenizer.backend_tokenizer.no_truncation()
        size = sum(parameter.nbytes for parameter in self.model.parameters())
        with writing(folder, SafetensorError, size=size), _quiet_transformers():
            folder.mkdir(parents=True, exist_ok=True)
            self.model.save_pretrained(folder)
            self.tokenizer.save_pretrained(folder)
            self.layout.write(folder, self.dimension)


def _to(tensor: Tensor, device: torch.device) -> Tensor:
    """The tensor there; between a host and a GPU without waiting, from and into pinned memory."""
    if device.type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device, non_blocking=tensor.is_cuda)


def locate(source: str, revision: str | None = None) -> Path:
    """The folder of an encoder: a local one as it is, a hub id's as it is downloaded or cached.

    Raises:
        InputError: neither a folder nor an id that the hub gives.
    """
    if Path(source).exists():
        return Path(source)
    try:
        return Path(snapshot_download(source, revision=revision, allow_patterns=HUB_FILES))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        at = "" if revision is None else f" at revision {revision!r}"
        raise InputError(
            f"{source}: no folder here, and no model id that the hub gives{at} "
            f"({type(error).__name__}); check the path, or the id and the connection."
        ) from error


def _positions(model: PreTrainedModel) -> int | None:
    """Tokens that the model has positions for; None where it does not count them, as XLNet."""
    positions = getattr(model.config, "max_position_embeddings", None) or 0
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    if padding is not None:
        # RoBERTa and its kin number positions from the padding id on.
        positions -= padding + 1
    return positions if positions > 0 else None


def _lower_case(tokenizer: PreTrainedTokenizerFast) -> None:
    """Lower-case texts before all else, but not the special tokens in them."""
    backend = tokenizer.backend_tokenizer
    own: Any = backend.normalizer
    in_order = isinstance(own, normalizers.Sequence)
    steps = [*own] if in_order else [own] if own else []
    if not any(isinstance(step, normalizers.Lowercase) for step in steps):
        backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *steps])


def _load_transformer(source: Path) -> PreTrainedModel:
    """The transformer in float32 and without its pooler, which is not used and often random."""
    if not (source / "config.json").is_file():
        raise InputError(
            f"{source}: no config.json there; give a Hugging Face or sentence-transformers folder."
        )
    with _quiet_transformers():
        try:
            model, info = _from_pretrained(source)
        except Exception as error:  # damaged files raise whatever their reader raises
            raise InputError(
                f"{source}: no model that can be loaded ({first_line(error)})."
            ) from error
    # The library would draw what a file lacks at random and only log it.
    missing = sorted(info["missing_keys"])
    if missing:
        raise InputError(
            f"{source}: its weights lack {len(missing)} tensors of a {type(model).__name__} "
            f"({missing[0]}, ...); give a folder whose weights belong to its config.json."
        )
    return model


def _from_pretrained(source: Path) -> tuple[PreTrainedModel, dict[str, Any]]:
    with_decoder = AutoConfig.from_pretrained(source).model_type in _WITH_DECODER
    kind = AutoModelForTextEncoding if with_decoder else AutoModel
    load = partial(kind.from_pretrained, source, dtype=torch.float32, output_loading_info=True)
    try:
        loaded: tuple[PreTrainedModel, dict[str, Any]] = load(add_pooling_layer=False)
    except TypeError:  # a model class that knows no pooler
        loaded = load()
    return loaded


@contextmanager
def _quiet_transformers() -> Iterator[None]:
    """Without the library's progress bars and load report, which say nothing that is wrong."""
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
