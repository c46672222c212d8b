"""What is embedded: the sentences of a file, or of the Parquet files of a folder, in order."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from pipeline.data.rows import PARQUET, check_exists, check_format, is_parquet, read_rows
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError


@dataclass(frozen=True)
class Source:
    """An input that can be read any number of times."""

    path: Path  # as it was given
    files: tuple[Path, ...]  # what is read, in order
    column: str  # of the sentences

    @classmethod
    def open(cls, path: Path, column: str) -> Self:
        """Find the files; they are not read yet.

        Raises:
            InputError: no such input, or an unknown format.
        """
        if path.is_dir():
            return cls(path, _parquet_files(path), column)
        check_exists(path, f"INPUT: {path}")
        check_format(path, f"INPUT: {path}")
        return cls(path, (path,), column)

    def texts(self) -> Iterator[str]:
        """Every sentence, empty ones and duplicates included.

        Raises:
            InputError: a row is null or no text, or a file is damaged.
        """
        for file in self.files:
            rows = read_rows(file, self.column, f"INPUT: {file}", "--column")
            for row, text in enumerate(rows, 1):
                if text is None:
                    raise InputError(
                        f"INPUT: {file}, row {row}: {self.column!r} is null; fill it, or leave "
                        "the row out."
                    )
                yield text

    def chunks(self, size: int) -> Iterator[list[str]]:
        """The sentences in lists of `size`; the last one may be shorter."""
        chunk: list[str] = []
        for text in self.texts():
            chunk.append(text)
            if len(chunk) == size:
                yield chunk
                chunk = []
        if chunk:
            yield chunk

    def digest(self) -> str:
        """A hash of the file, or of the folder's file names and contents."""
        if self.path.is_dir():
            return folder_version(self.path)
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def _parquet_files(folder: Path) -> tuple[Path, ...]:
    files = [
        file
        for file in sorted(folder.rglob("*"))
        if file.is_file()
        and is_parquet(file)
        # Marks of other programs, and what they have not finished.
        and not any(part[0] in "._" for part in file.relative_to(folder).parts)
    ]
    if not files:
        raise InputError(f"INPUT: {folder} is a folder without {PARQUET} files; name a file in it.")
    return tuple(files)
