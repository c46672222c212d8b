"""Sentences -> token arrays, by a backbone's own fast tokenizer.

Equal to calling that tokenizer with truncation, sentence by sentence; but sentences are tokenized
whole and then truncated, so that their full lengths are known.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from tqdm import tqdm

from pipeline.data.tokens import TokenArrays
from pipeline.machine.errors import InputError, first_line

if TYPE_CHECKING:
    import numpy.typing as npt
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

_CHUNK = 8192  # sentences tokenized at once: keeps every core busy at some ten MB


def read_tokenizer(source: str, revision: str | None = None) -> PreTrainedTokenizerFast:
    """The fast tokenizer, with a padding token and a vocabulary, of a folder or hub id.

    Raises:
        InputError: If there is none; the message goes on after the source's name.
    """
    from transformers import AutoTokenizer  # noqa: PLC0415 - takes seconds, --help needs none

    try:
        tokenizer: Any = AutoTokenizer.from_pretrained(source, revision=revision or "main")
    except Exception as error:  # tokenizers raises bare Exception
        here = "" if Path(source).is_dir() else "is no folder here, and as a hub id "
        raise InputError(
            f"{here}gives no tokenizer ({type(error).__name__}: {first_line(error)}); give a "
            "Hugging Face folder or a hub id."
        ) from error
    if not tokenizer.is_fast or tokenizer.pad_token_id is None:
        lacks = "padding token" if tokenizer.is_fast else "fast tokenizer (tokenizer.json)"
        raise InputError(f"has no {lacks}; choose one that has it.")
    if len(tokenizer.get_vocab()) <= len(tokenizer.all_special_tokens):  # without a file
        # transformers makes up a tokenizer that knows no word
        raise InputError("has no vocabulary; add its tokenizer.json to the folder.")
    return tokenizer  # type: ignore[no-any-return]


def load_tokenizer(
    backbone: str, max_length: int, revision: str | None = None
) -> tuple[Tokenizer, int]:
    """The backbone's fast tokenizer, which neither truncates nor pads, and its padding id."""
    try:
        loaded: Any = read_tokenizer(backbone, revision)
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
    """Token arrays truncated to max_length, and the lengths before, (sentences,)."""
    # Truncation takes the sentence's last tokens, not the special ones behind it: [SEP], </s>.
    mask = tokenizer.encode("a").special_tokens_mask
    tail = next(index for index, special in enumerate(reversed(mask)) if not special)
    vocabulary = vocabulary_size(tokenizer)
    parts, lengths = [], []
    for start in tqdm(range(0, len(sentences), _CHUNK), "tokenize", disable=None):
        chunk = sentences[start : start + _CHUNK]
        rows = [encoding.ids for encoding in tokenizer.encode_batch_fast(chunk)]
        lengths.append(np.array([len(row) for row in rows], np.int64))
        short = [
            row if len(row) <= max_length else row[: max_length - tail] + row[len(row) - tail :]
            for row in rows
        ]
        parts.append(TokenArrays.of(short, vocabulary=vocabulary))
    return TokenArrays.concatenate(parts), np.concatenate(lengths)


def vocabulary_size(tokenizer: Tokenizer) -> int:
    """One more than the largest token id: ids may have gaps."""
    return max(tokenizer.get_vocab().values()) + 1
