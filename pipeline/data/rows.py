r"""One reader of sentences in files: lines, JSON lines, tables and Parquet, streamed row by row.

Rows end at "\n" only: Unicode line separators, form feeds and a lone "\r" within one split nothing.
"""

import csv
import difflib
import gzip
import json
import lzma
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, cast

from pipeline.machine.errors import InputError, first_line

PARQUET = ".parquet"
ALLOWED = f".txt, .jsonl, .csv and .tsv, each plain, .gz or .xz, and {PARQUET}, plain"

_LINES = re.compile(r"\.(?P<kind>txt|jsonl|csv|tsv)(?P<packed>\.gz|\.xz)?$", re.IGNORECASE)
NEEDS_PYARROW = "needs the library `pyarrow`; install it with: pip install -e '.[pipeline]'"

_ADVICE = "only UTF-8 text is read, so convert the file or choose another"
_UNUSABLE = re.compile("[\0\ud800-\udfff]")
_LONE_RETURN = re.compile("\r(?!\n)")
_LONGEST_CELL = 1 << 24  # characters; an open quote would else swallow the rest of the file
# Without a buffer the whole column of a row group is read, and a row group may be the whole file.
_BUFFER = 1 << 20


def is_parquet(path: Path) -> bool:
    """Whether a file's name says so."""
    return path.name.lower().endswith(PARQUET)


def check_exists(path: Path, name: str) -> None:
    """Refuse a path where nothing is, with the nearest one where something is.

    The name begins the error: what the file is given as.

    Raises:
        InputError: there is nothing.
    """
    if path.exists():
        return
    folder = path.parent
    if not folder.is_dir():
        raise InputError(
            f"{name} does not exist, nor does its folder {str(folder)!r}; relative paths start at "
            f"{str(path.cwd())!r}."
        )
    close = difflib.get_close_matches(path.name, [entry.name for entry in folder.iterdir()], n=1)
    advice = f"did you mean {str(folder / close[0])!r}?" if close else "check the path."
    raise InputError(f"{name} does not exist; {advice}")


def check_format(path: Path, name: str) -> None:
    """Refuse a file name whose format is not known.

    Raises:
        InputError: it is not.
    """
    if not is_parquet(path) and not _LINES.search(path.name):
        raise InputError(f"{name} is of an unknown format; allowed are {ALLOWED}.")


def read_rows(path: Path, column: str, name: str, column_option: str) -> Iterator[str | None]:
    """Every row's sentence, as it stands there; None where it is null.

    A row is a line of a text file, else a record, whose sentence is in a column. An empty line is
    an empty sentence, also of .jsonl, .csv and .tsv.

    Args:
        path: a file of a format that is known.
        column: the column of records that holds the sentence.
        name: begins the errors: what the file is given as.
        column_option: how another column can be given.

    Raises:
        InputError: the file is damaged, or a row is not what it must be.
    """
    try:
        yield from _rows(path, column, column_option)
    except InputError as error:
        raise InputError(f"{name} {error}.") from error
    except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
        reason = str(error).rstrip(".")
        raise InputError(f"{name} is damaged or cut short ({reason}); fetch it again.") from error
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error


def _rows(path: Path, column: str, option: str) -> Iterator[str | None]:
    if path.stat().st_size == 0:
        return  # to gzip, lzma and Parquet an empty file is a damaged one
    format_ = _LINES.search(path.name)
    if format_ is None:
        yield from _parquet(path, column, option)
        return
    with _open(path, format_["packed"]) as stream:
        lines = _text_lines(stream)
        match format_["kind"].lower():
            case "txt":
                yield from (line.removesuffix("\n").removesuffix("\r") for line in lines)
            case "jsonl":
                yield from _json_lines(lines, column, option)
            case kind:
                yield from _cells(lines, kind, column, option)


def _open(path: Path, packed: str | None) -> BinaryIO:
    opener: Any = {".gz": gzip.open, ".xz": lzma.open}.get((packed or "").lower(), open)
    return cast("BinaryIO", opener(path, "rb"))


def _text_lines(stream: BinaryIO) -> Iterator[str]:
    r"""Lines with their ends. Binary streams end lines at "\n" alone, text streams at more."""
    start = 0
    for number, raw in enumerate(stream, 1):
        at, what = raw.find(b"\0"), "a NUL byte"  # UTF-16 without a mark is full of them
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            if at < 0 or error.start < at:
                at, what = error.start, "a byte that is not UTF-8"
        if at >= 0:
            raise InputError(f"holds {what} (line {number}, byte {start + at}); {_ADVICE}")
        if number == 1:
            line = line.removeprefix("\ufeff")
            if "\r" in line and not line.endswith("\n"):
                raise InputError(
                    r"has no line feed (LF), and carriage returns (CR) end no rows; convert its "
                    r"line ends, for example with tr '\r' '\n'"
                )
        yield line
        start += len(raw)


def _json_lines(lines: Iterator[str], column: str, option: str) -> Iterator[str | None]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield ""
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"line {number} is not JSON: {error}; correct it") from error
        if not isinstance(record, dict):
            raise InputError(f"line {number} is no JSON object; write one object a line")
        if column not in record:
            hint = _known(option, list(record))
            raise InputError(f"line {number} has no field {column!r}; {hint}")
        yield _sentence(record[column], f"line {number}", column)


def _cells(lines: Iterator[str], kind: str, column: str, option: str) -> Iterator[str]:
    """A table's column.

    Cells of csv may be quoted as spreadsheets do, and then hold newlines. In tsv tabs end cells,
    and nothing is quoted: many sentences begin with a quotation mark.
    """
    csv.field_size_limit(_LONGEST_CELL)
    # A lone "\r" ends a row to `csv`. No line holds a NUL, so that one can stand for it.
    guarded = (_LONE_RETURN.sub("\0", line) if "\r" in line else line for line in lines)
    if kind == "csv":
        reader = csv.reader(guarded, strict=True)
    else:
        reader = csv.reader(guarded, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
    first = 1  # line of a record
    try:
        header = next(reader, [])
        if column not in header:
            raise InputError(f"has no column {column!r}; {_known(option, header)}")
        place = header.index(column)
        first = reader.line_num + 1
        for cells in reader:
            if cells and len(cells) != len(header):
                raise InputError(
                    f"line {first} has {len(cells)} cells and the header {len(header)}; correct it"
                )
            yield cells[place].replace("\0", "\r") if cells else ""
            first = reader.line_num + 1
    except csv.Error as error:
        raise InputError(
            f"line {first} is no row of a table: {error}; quote cells as spreadsheets do, with "
            'each " in them doubled'
        ) from error


def _parquet(path: Path, column: str, option: str) -> Iterator[str | None]:
    with open_parquet(path) as file:
        names = file.schema_arrow.names
        if column not in names:
            raise InputError(f"has no column {column!r}; {_known(option, names)}")
        row = 0
        for batch in file.iter_batches(batch_size=4096, columns=[column], use_threads=False):
            for value in batch.column(0):
                row += 1
                try:
                    text = value.as_py()
                except UnicodeDecodeError as error:
                    raise InputError(
                        f"row {row}: its text is not UTF-8; convert the file"
                    ) from error
                yield _sentence(text, f"row {row}", column)


@contextmanager
def open_parquet(path: Path) -> Iterator[Any]:
    """A `pyarrow.parquet.ParquetFile` that holds little of the file in memory at a time.

    Raises:
        InputError: it is damaged, or `pyarrow` is not installed, as on bare GPU images; the
            message goes on after the file's name and has no full stop.
    """
    try:
        import pyarrow as pa  # noqa: PLC0415
        from pyarrow import parquet  # noqa: PLC0415
    except ImportError as error:
        raise InputError(NEEDS_PYARROW) from error
    try:
        with parquet.ParquetFile(path, buffer_size=_BUFFER, pre_buffer=False) as file:
            yield file
    except (pa.ArrowException, OSError) as error:
        raise InputError(
            f"is no readable Parquet file ({first_line(error)}); fetch it again"
        ) from error


def _known(option: str, names: list[str]) -> str:
    return f"set {option} to one of {', '.join(map(repr, names)) or '(none)'}"


def _sentence(value: object, where: str, column: str) -> str | None:
    """A record's value, checked."""
    if value is None:
        return None
    if not isinstance(value, str):
        kind = type(value).__name__
        raise InputError(f"{where}: {column!r} is of type {kind}; it must be a string")
    if _UNUSABLE.search(value):
        raise InputError(f"{where}: {column!r} holds a NUL or half a surrogate pair; remove it")
    return value
