r"""Where sentences come from: one parameter, `source`, names a local file or one on the hub.

Every kind of source ends in the same reader, so that the same sentences give the same corpus
whatever file they lie in. A row is what stands between two "\n" of a text file, or one record of
a JSON-lines or Parquet file: Unicode line separators, form feeds and lone "\r" within it split
nothing. Rows are stripped of surrounding whitespace; empty ones and exact duplicates are dropped
and counted. `datasets` only fetches files of the hub here: its own text loader takes "\r", and in
older versions U+2028 too, for the end of a line.

Not here: tokenizing, and which sentences are held out (prepare.py).
"""

from __future__ import annotations

import difflib
import gzip
import json
import lzma
import re
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pipeline.data import hub
from pipeline.data.text_file import open_bytes, text_lines
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXT = (".txt", ".txt.gz", ".txt.xz")
JSON_LINES = (".jsonl", ".jsonl.gz", ".jsonl.xz")
PARQUET = (".parquet",)
FORMATS = (*TEXT, *JSON_LINES, *PARQUET)

_UNUSABLE = re.compile("[\0\ud800-\udfff]")


@dataclass(frozen=True)
class Corpus:
    """Distinct, non-empty sentences in the order of their first appearance.

    Attributes:
        sentences: What was kept.
        rows: Rows read, empty ones and duplicates included.
        empty: Rows dropped because nothing but whitespace stood in them, or null.
        duplicates: Rows dropped because the same stripped sentence came earlier.
    """

    sentences: list[str]
    rows: int
    empty: int
    duplicates: int


def read(source: str, *, revision: str | None, column: str) -> Corpus:
    """Read every sentence of a source.

    Args:
        source: A local file that ends in one of `FORMATS`, or
            `hf://datasets/<owner>/<name>/<file>`.
        revision: Commit, branch or tag of a data set on the hub; None is its main branch.
        column: The field of JSON-lines and Parquet records that holds the sentence.

    Raises:
        InputError: If there is no such source, it is damaged, or no sentence is in it.
    """
    path = _fetch(source, revision) if "://" in source else _local(source, revision)
    kept: dict[str, None] = {}  # whole strings, not hashes: exact, ordered, and no second copy
    rows = empty = 0
    try:
        for row in _rows(path, source, column):
            rows += 1
            sentence = row.strip() if row else ""
            if sentence:
                kept[sentence] = None
            else:
                empty += 1
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).rstrip(".")
        raise _error(source, f"is damaged or cut short ({reason}); fetch it again") from error
    except OSError as error:
        raise _error(source, f"cannot be read: {error.strerror or error}") from error
    if not kept:
        what = f"has {rows} rows and all of them are empty" if rows else "is empty"
        raise _error(source, f"{what}; give a file with one sentence a row")
    return Corpus(list(kept), rows, empty, rows - empty - len(kept))


def _error(source: str, what: str) -> InputError:
    stop = "" if what.endswith("?") else "."
    return InputError(f"corpus.source: {source!r} {what}{stop}")


def _local(source: str, revision: str | None) -> Path:
    path = Path(source)
    if revision is not None:
        raise InputError(
            f"corpus.revision: {revision!r} was given, but only hf://datasets/ sources have "
            f"revisions and corpus.source is {source!r}; set corpus.revision to null."
        )
    if path.is_dir():
        raise _error(source, "is a folder; name one file in it")
    if not path.exists():
        raise _error(source, f"does not exist{_nearest(path)}")
    _check_format(source)
    return path


def _nearest(path: Path) -> str:
    """What to try instead of a path that does not exist."""
    folder = path.parent
    if not folder.is_dir():
        return f", nor does its folder {str(folder)!r}; relative paths start at {str(Path.cwd())!r}"
    names = sorted(entry.name for entry in folder.iterdir() if entry.is_file())
    close = difflib.get_close_matches(path.name, names, n=1)
    if close:
        return f"; did you mean {str(folder / close[0])!r}?"
    return f"; give a local file or {hub.FORM}"


def _check_format(source: str) -> None:
    if not source.lower().endswith(FORMATS):
        raise _error(source, f"is of an unknown format; allowed are {', '.join(FORMATS)}")


def _fetch(source: str, revision: str | None) -> Path:
    if not hub.is_file(source):
        allowed = f"{hub.FORM} (its revision in corpus.revision)"
        raise _error(source, f"is no source; give a local file or {allowed}")
    _check_format(source)
    try:
        return hub.fetch(source, revision)
    except InputError as error:
        raise _error(source, str(error)) from error


def _rows(path: Path, source: str, column: str) -> Iterator[str | None]:
    name = source.lower()
    if name.endswith(PARQUET):
        yield from _parquet(path, source, column)
        return
    with open_bytes(path, name) as stream:
        lines = _lines(stream, source)
        yield from lines if name.endswith(TEXT) else _json_lines(lines, source, column)


def _lines(stream: BinaryIO, source: str) -> Iterator[str]:
    try:
        yield from text_lines(stream)
    except InputError as error:
        raise _error(source, str(error)) from error


def _json_lines(lines: Iterator[str], source: str, column: str) -> Iterator[str | None]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield None
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise _error(source, f"line {number} is not JSON: {error}; correct it") from error
        if not isinstance(record, dict):
            raise _error(source, f"line {number} is no JSON object; write one object a line")
        if column not in record:
            raise _error(source, f"line {number} has no field {_instead(column, list(record))}")
        yield _value(record[column], source, f"line {number}", column)


def _parquet(path: Path, source: str, column: str) -> Iterator[str | None]:
    try:
        import pyarrow as pa  # noqa: PLC0415 - like `datasets`, not on bare GPU images
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise _error(source, f"needs the library `pyarrow`; {hub.INSTALL}") from error
    if path.stat().st_size == 0:
        return
    try:
        with parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            if column not in names:
                raise _error(source, f"has no column {_instead(column, names)}")
            number = 0
            for batch in file.iter_batches(columns=[column]):
                for value in batch.column(0).to_pylist():
                    number += 1
                    yield _value(value, source, f"row {number}", column)
    except (pa.ArrowException, UnicodeDecodeError, OSError) as error:
        reason = hub.reason(error)
        raise _error(source, f"is no readable Parquet file ({reason}); fetch it again") from error


def _instead(column: str, names: list[str]) -> str:
    return f"{column!r}; set corpus.column to one of {', '.join(map(repr, names)) or '(none)'}"


def _value(value: object, source: str, where: str, column: str) -> str | None:
    """One record's sentence; null stands for a missing one, in both formats that have it."""
    if value is None:
        return None
    if not isinstance(value, str):
        kind = type(value).__name__
        raise _error(source, f"{where}: {column!r} is of type {kind}; it must be a string")
    if _UNUSABLE.search(value):
        raise _error(source, f"{where}: {column!r} holds a NUL or half a surrogate pair; remove it")
    return value
