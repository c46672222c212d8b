"""Sentence encoders: load, encode, save.

A folder in the sentence-transformers layout (Transformer, Pooling, Normalize modules) or a plain
Hugging Face model folder becomes a `SentenceEncoder`, and is written again in the former. Not
here: training heads, other module kinds (refused by name), and any measure of quality.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError
from safetensors import SafetensorError
from torch import Tensor
from transformers import AutoModel, PreTrainedModel, PreTrainedTokenizerFast
from transformers.utils import logging as transformers_logging

from pipeline.data.tokenizing import read_tokenizer
from pipeline.encoder.folder import Layout, Pooling, longest_sentence
from pipeline.machine.device import resolve
from pipeline.machine.errors import InputError
from pipeline.machine.files import writing

# What an encoder is made of; a repository may hold the same weights in other formats besides.
HUB_FILES = ["*.json", "*.txt", "*.model", "model*.safetensors"]
# As in torch.nn.functional.normalize.
MIN_NORM = 1e-12


def pool(hidden: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """Token states (N, L, D) and attention mask (N, L) -> sentence embeddings (N, D)."""
    if pooling == "cls":
        return hidden[:, 0]
    inside = mask[:, :, None].to(hidden.dtype)
    if pooling == "mean":
        return (hidden * inside).sum(dim=1) / inside.sum(dim=1)
    return hidden.masked_fill(mask[:, :, None] == 0, -torch.inf).amax(dim=1)


@dataclass(frozen=True)
class SentenceEncoder:
    """A transformer with its tokenizer and the way from token states to one vector.

    Attributes:
        model: the transformer, without a pooler.
        tokenizer: its tokenizer.
        layout: pooling, maximum length, normalization.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    layout: Layout

    @classmethod
    def load(
        cls,
        source: str | Path,
        device: str = "auto",
        pooling: Pooling = "cls",
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
        asked = layout.max_length or int(tokenizer.model_max_length)
        special = tokenizer.num_special_tokens_to_add()
        longest = longest_sentence(folder, asked, _positions(model), special)
        return cls(model, tokenizer, replace(layout, max_length=longest))

    @property
    def dimension(self) -> int:
        """D, the length of an embedding."""
        return int(self.model.config.hidden_size)

    def encode(
        self,
        sentences: Sequence[str],
        batch_size: int = 64,
        progress: Callable[[int], None] | None = None,
    ) -> np.ndarray:
        """Embed sentences.

        Args:
            sentences: N texts, not one text; long ones are cut at the layout's maximum length.
            batch_size: sentences a forward pass; batches are made of sentences of like length.
            progress: called after each batch with the number of sentences done in it.

        Returns:
            (N, D) float32, in the order given, whatever the batches were.

        Raises:
            InputError: one text was given instead of a list, or no batch size.
        """
        if batch_size < 1:
            raise InputError(f"encode: batch_size must be 1 or more, got {batch_size}.")
        if isinstance(sentences, str):
            raise InputError(f"encode: expected a list of texts, got one: {sentences!r:.40}.")
        return self.encode_ids(self.tokenize(sentences), batch_size, progress)

    def tokenize(self, sentences: Sequence[str]) -> list[list[int]]:
        """Token ids of each sentence, special ones included, cut at the layout's length."""
        texts = [text.lower() for text in sentences] if self.layout.lower_case else list(sentences)
        if not texts:
            return []
        ids = self.tokenizer(texts, truncation=True, max_length=self.layout.max_length)["input_ids"]
        return cast("list[list[int]]", ids)

    def encode_ids(
        self,
        ids: Sequence[Sequence[int]],
        batch_size: int = 64,
        progress: Callable[[int], None] | None = None,
    ) -> np.ndarray:
        """Embed what `tokenize` gave; arguments and result as for `encode`."""
        embeddings = np.empty((len(ids), self.dimension), dtype=np.float32)
        order = sorted(range(len(ids)), key=lambda i: -len(ids[i]))
        for start in range(0, len(order), batch_size):
            chosen = order[start : start + batch_size]
            padded = self.tokenizer.pad(
                {"input_ids": [list(ids[i]) for i in chosen]}, return_tensors="pt"
            ).to(self.model.device)
            embeddings[chosen] = self._forward(padded["input_ids"], padded["attention_mask"])
            if progress is not None:
                progress(len(chosen))
        return embeddings

    @torch.inference_mode()
    def _forward(self, ids: Tensor, mask: Tensor) -> np.ndarray:
        hidden = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        embeddings = pool(hidden, mask, self.layout.pooling)
        if self.layout.normalize:
            embeddings = torch.nn.functional.normalize(embeddings, dim=1, eps=MIN_NORM)
        return np.asarray(embeddings.float().cpu().numpy())

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
            reason = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            raise InputError(f"{source}: no model that can be loaded ({reason}).") from error
    # The library would draw what a file lacks at random and only log it.
    missing = sorted(info["missing_keys"])
    if missing:
        raise InputError(
            f"{source}: its weights lack {len(missing)} tensors of a {type(model).__name__} "
            f"({missing[0]}, ...); give a folder whose weights belong to its config.json."
        )
    return model


def _from_pretrained(source: Path) -> tuple[PreTrainedModel, dict[str, Any]]:
    load = partial(AutoModel.from_pretrained, source, dtype=torch.float32, output_loading_info=True)
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
