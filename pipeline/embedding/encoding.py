"""Chunks of sentences -> embeddings, here or on another machine.

A chunk's embeddings depend on the chunk and the settings alone: not on what came before, so that a
run can go on anywhere.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np
import torch

from pipeline.embedding.source import chunks
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from pipeline.embedding.parts import Parts
    from pipeline.embedding.source import Source
    from pipeline.encoder.folder import Pooling

T = TypeVar("T")


@dataclass(frozen=True)
class Encoding:
    """How sentences become embeddings.

    Attributes:
        folder: of the encoder.
        device: `auto`, `cpu`, `cuda`, ...
        pooling: for a folder that does not say.
        normalise: scale embeddings to length one, whatever the folder says.
        dtype: `float32` or `float16`.
        batch_size: sentences a forward pass.
    """

    folder: Path
    device: str
    pooling: Pooling
    normalise: bool
    dtype: str
    batch_size: int

    def load(self) -> SentenceEncoder:
        """The encoder.

        Raises:
            InputError: the folder holds none, or the device is not there.
        """
        encoder = SentenceEncoder.load(self.folder, self.device, self.pooling)
        if not self.normalise:
            return encoder
        return replace(encoder, layout=replace(encoder.layout, normalize=True))


@dataclass(frozen=True)
class Tokenized:
    """A chunk that is ready for the model.

    Attributes:
        number: of the chunk, from 0.
        ids: token ids of its distinct sentences.
        places: which of them each sentence is, (N,).
    """

    number: int
    ids: list[list[int]]
    places: np.ndarray


def tokenized(encoder: SentenceEncoder, number: int, texts: Sequence[str]) -> Tokenized:
    """Tokenize a chunk, equal sentences once."""
    distinct = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    places = np.array([distinct[text] for text in texts])
    return Tokenized(number, encoder.tokenize(list(distinct)), places)


def embeddings(
    encoder: SentenceEncoder,
    chunk: Tokenized,
    settings: Encoding,
    progress: Callable[[int], None] | None = None,
) -> np.ndarray:
    """A chunk's embeddings, (N, D) in the settings' dtype.

    Args:
        encoder: what `settings.load` gave.
        chunk: its N sentences.
        settings: batch size and dtype.
        progress: called with the number of distinct sentences done in each batch.

    Raises:
        InputError: the device's memory is too small for a batch.
    """
    try:
        found = encoder.encode_ids(chunk.ids, settings.batch_size, progress)
    except torch.OutOfMemoryError as error:
        raise InputError(
            f"--batch-size: {settings.batch_size} sentences at a time do not fit the device's "
            "memory; lower it and start the command again, which goes on from there."
        ) from error
    with np.errstate(over="ignore"):  # whoever stores them asks whether all are finite
        return np.asarray(found[chunk.places], settings.dtype)


def encode_here(
    source: Source,
    parts: Parts,
    encoder: SentenceEncoder,
    settings: Encoding,
    progress: Callable[[int], None],
) -> None:
    """Embed all chunks that are not finished, in this process.

    While the model works, a thread reads and tokenizes the next chunk.

    Args:
        source: the sentences.
        parts: which chunks are finished, and where the others go.
        encoder: what `settings.load` gave.
        settings: batch size and dtype.
        progress: called with the number of sentences done in each batch.
    """
    every = enumerate(chunks(source.texts(), parts.plan.chunk))
    work = (tokenized(encoder, number, texts) for number, texts in every if parts.lacks(number))
    with closing(_ahead(work)) as ready:
        for chunk in ready:
            found = embeddings(encoder, chunk, settings, progress)
            parts.write(chunk.number, found)
            progress(len(chunk.places) - len(chunk.ids))


def _ahead(items: Iterator[T]) -> Generator[T]:
    """The same items; a thread makes the next one while the last one is used."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = thread.submit(next, items, None)
            yield item
