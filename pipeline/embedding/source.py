"""What is embedded: the sentences of an input, streamed in order.

Text files and Parquet are sources of one kind, so that nothing after this asks which it was. Not
here: which input is of which kind (opening.py).
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Protocol

from pipeline.encoder.version import folder_version

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Source(Protocol):
    """An input that can be read any number of times."""

    @property
    def path(self) -> Path:
        """The file, or a folder of Parquet files."""

    @property
    def column(self) -> str:
        """What the sentences' column is called, in a Parquet output too."""

    def texts(self) -> Iterator[str]:
        """Every sentence in order, empty ones and duplicates included.

        Raises:
            InputError: a row cannot be read.
        """


def digest(path: Path) -> str:
    """A hash of a file, or of a folder's file names and contents."""
    if path.is_dir():
        return folder_version(path)
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def chunks(texts: Iterator[str], size: int) -> Iterator[list[str]]:
    """The texts in lists of `size`; the last one may be shorter."""
    chunk: list[str] = []
    for text in texts:
        chunk.append(text)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk
