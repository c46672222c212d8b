"""Sentences -> token arrays, by a backbone's own tokenizer.

Equal to calling that tokenizer with truncation, sentence by sentence; but sentences are tokenized
whole and then cut, so that their full lengths are known. Fast tokenizers only. Not here: reading
and dividing the corpus (prepare.py).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track

from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

_CHUNK = 8192  # sentences tokenized at once: keeps every core busy at some ten MB


def read_tokenizer(source: str) -> PreTrainedTokenizerFast:
    """The fast tokenizer, with a padding token and a vocabulary, of a folder or hub id.

    Raises:
        InputError: If there is none; the message goes on after the source's name.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds, --help needs none

    try:
        loaded: Any = AutoTokenizer.from_pretrained(source)
    except Exception as error:  # tokenizers raises bare Exception
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        here = "" if Path(source).is_dir() else "is no folder here, and as a hub id "
        raise InputError(
            f"{here}gives no tokenizer ({type(error).__name__}: {reason}); give a Hugging "
            "Face folder or a hub id."
        ) from error
    if not loaded.is_fast or loaded.pad_token_id is None:
        lacks = "padding token" if loaded.is_fast else "fast tokenizer (tokenizer.json)"
        raise InputError(f"has no {lacks}; choose one that has it.")
    if len(loaded.get_vocab()) <= len(loaded.all_special_tokens):  # without a file transformers
        # makes up a tokenizer that knows no word
        raise InputError("has no vocabulary; add its tokenizer.json to the folder.")
    tokenizer: PreTrainedTokenizerFast = loaded
    return tokenizer


def load_tokenizer(backbone: str, max_length: int) -> tuple[Tokenizer, int]:
    """The backbone's fast tokenizer, which neither cuts nor pads, and its padding id."""
    try:
        loaded: Any = read_tokenizer(backbone)
    except InputError as error:
        raise InputError(f"backbone.source: {backbone!r} {error}") from error
    shortest, longest = loaded.num_special_tokens_to_add() + 1, loaded.model_max_length
    if not shortest <= max_length <= longest:
        raise InputError(
            f"train.max_length: {max_length} tokens do not suit {backbone!r}; give "
            f"{shortest} to {longest}."
        )
    tokenizer: Tokenizer = loaded.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, int(loaded.pad_token_id)


def tokenize(
    sentences: list[str], tokenizer: Tokenizer, max_length: int
) -> tuple[TokenArrays, npt.NDArray[np.int64]]:
    """Token arrays cut to max_length, and the lengths before cutting, (sentences,)."""
    # Cutting takes the sentence's last tokens, not the special ones behind it: [SEP], </s>.
    mask = tokenizer.encode("a").special_tokens_mask
    tail = next(index for index, special in enumerate(reversed(mask)) if not special)
    vocabulary = vocabulary_size(tokenizer)
    parts, lengths = [], []
    starts = range(0, len(sentences), _CHUNK)
    console = Console(stderr=True)
    for start in track(starts, "tokenize", console=console, disable=not console.is_terminal):
        chunk = sentences[start : start + _CHUNK]
        rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(chunk)]
        lengths.append(np.array([len(row) for row in rows], np.int64))
        short = (_cut(row, max_length, tail) for row in rows)
        parts.append(TokenArrays.of(short, vocabulary=vocabulary))
    return TokenArrays.concatenate(parts), np.concatenate(lengths)


def _cut(row: list[int], max_length: int, tail: int) -> list[int]:
    if len(row) <= max_length:
        return row
    return row[: max_length - tail] + row[len(row) - tail :]


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """One more than the largest token id: ids may have gaps."""
    return max(tokenizer.get_vocab().values()) + 1
