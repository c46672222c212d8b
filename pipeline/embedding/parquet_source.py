"""Parquet: one file, or the files of a folder in the order of their names."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import pyarrow as pa
from pyarrow import parquet

from pipeline.machine.errors import InputError
from pipeline.machine.settings import unknown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ROWS = 4096  # read at once
# Without a buffer the whole column of a row group is read, and a row group may be the whole file.
_BUFFER = 1 << 20


@dataclass(frozen=True)
class ParquetSource:
    """A column of texts, and the columns beside it.

    Attributes:
        path: the file or folder.
        column: the column of sentences.
        files: what is read, in order.
        schema: of the first file.
    """

    path: Path
    column: str
    files: tuple[Path, ...]
    schema: pa.Schema

    @classmethod
    def open(cls, path: Path, column: str) -> Self:
        """Look at every file's columns.

        Raises:
            InputError: no Parquet file, an unreadable one, or no such column of texts in it.
        """
        files = _files(path)
        schemas = []
        for file in files:
            with _reading(file) as reader:
                schemas.append(reader.schema_arrow)
            _check_column(file, schemas[-1], column)
        return cls(path, column, files, schemas[0])

    def texts(self) -> Iterator[str]:
        """Every sentence.

        Raises:
            InputError: a row is null or not UTF-8, or a file is damaged.
        """
        for file in self.files:
            row = 0
            for batch in _batches(file, _ROWS, [self.column]):
                values = batch.column(0)
                for text in _strings(file, row, values):
                    row += 1
                    if text is None:
                        raise InputError(
                            f"INPUT: {file}, row {row}: {self.column!r} is null; fill it, or "
                            "leave the row out."
                        )
                    yield text

    def batches(self, rows: int) -> Iterator[pa.RecordBatch]:
        """All columns, at most `rows` rows at a time."""
        for file in self.files:
            yield from _batches(file, rows, None)

    def check_alike(self) -> None:
        """Refuse files of different columns, which one Parquet output cannot carry over.

        Raises:
            InputError: a file's columns are not those of the first.
        """
        for file in self.files:
            with _reading(file) as reader:
                if not reader.schema_arrow.equals(self.schema):
                    raise InputError(
                        f"INPUT: {file} has other columns or types than {self.files[0]}; make "
                        "them alike, or write .npy, which needs the sentences alone."
                    )


def _files(path: Path) -> tuple[Path, ...]:
    if not path.is_dir():
        return (path,)
    found = [
        file
        for file in sorted(path.rglob("*"))
        if file.is_file()
        and file.name.lower().endswith(".parquet")
        # Marks of other programs, and what they have not finished.
        and not any(part[0] in "._" for part in file.relative_to(path).parts)
    ]
    if not found:
        raise InputError(f"INPUT: {path} is a folder without .parquet files; name a file in it.")
    return tuple(found)


def _check_column(file: Path, schema: pa.Schema, column: str) -> None:
    if column not in schema.names:
        raise InputError(f"--column, in {file}: {unknown('column', column, schema.names)}")
    kind = schema.field(column).type
    if not _is_text(kind):
        texts = [field.name for field in schema if _is_text(field.type)]
        raise InputError(
            f"--column, in {file}: {column!r} is of type {kind}, not text; columns of text are: "
            f"{', '.join(texts) or 'none'}."
        )


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    is_one = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(test(kind) for test in is_one)


@contextmanager
def _reading(file: Path) -> Iterator[parquet.ParquetFile]:
    try:
        with parquet.ParquetFile(file, buffer_size=_BUFFER, pre_buffer=False) as reader:
            yield reader
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
        raise InputError(
            f"INPUT: {file} is no readable Parquet file ({reason}); fetch it again."
        ) from error


def _batches(file: Path, rows: int, columns: list[str] | None) -> Iterator[pa.RecordBatch]:
    with _reading(file) as reader:
        yield from reader.iter_batches(batch_size=rows, columns=columns, use_threads=False)


def _strings(file: Path, before: int, values: pa.Array) -> Iterator[str | None]:
    """Each value; where bytes are no text, the row is named."""
    try:
        yield from values.to_pylist()
    except UnicodeDecodeError as error:
        for place, value in enumerate(values, before + 1):
            try:
                value.as_py()
            except UnicodeDecodeError:
                raise InputError(
                    f"INPUT: {file}, row {place}: its text is not UTF-8; convert the file."
                ) from error
        raise
