"""Pairs of sentences that a person pasted or uploaded: text of some table -> rows, and back.

A row that cannot be used is named, never dropped silently. Not here: delimiters and quotes
(delimited.py), which columns are meant (columns.py).
"""

import codecs
import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass

from app.columns import Columns, find_columns, number
from app.delimited import Line, split_rows

MOST_PAIRS = 2_000
MOST_BYTES = 5_000_000
MOST_LINES = 100_000  # blank ones and those of long sentences too
MOST_CHARACTERS = 20_000  # of a sentence
# What spreadsheets take for the beginning of a formula; East Asian ones the wide forms as well.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


class TableError(ValueError):
    """A text that is no table of pairs, or too large; the message says which and what to do."""


@dataclass(frozen=True)
class Row:
    """A pair: the line it begins on, counted from 1, its sentences, and its grade if it has one."""

    number: int
    first: str
    second: str
    gold: float | None


@dataclass(frozen=True)
class PairTable:
    """What was read.

    Attributes:
        rows: the pairs that can be used.
        problems: a sentence for each row that cannot.
        has_gold: whether the pairs have grades; then all of `rows` have.
        text: what was read, decoded, with line feeds as line ends.
    """

    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    has_gold: bool
    text: str


class _RowError(ValueError):
    """What is wrong with one row."""


def read_pairs(content: bytes | str) -> PairTable:
    """Read a table: CSV, semicolons or tabs, with or without a heading and grades.

    Raises:
        TableError: it is empty, too large, or no text.
    """
    text = _decoded(content)
    delimiter, lines = split_rows(text)
    columns, lines = find_columns(lines, comma=delimiter != ",")
    if not lines:
        raise TableError(
            "There is no pair: give two sentences a line, with a tab or a comma between them."
        )
    if len(lines) > MOST_PAIRS:
        raise TableError(
            f"The table has {len(lines):,} pairs, and at most {MOST_PAIRS:,} can be scored at "
            "once; divide it."
        )
    rows, problems = [], []
    for line in lines:
        try:
            rows.append(_row(line, columns, comma=delimiter != ","))
        except _RowError as error:
            problems.append(f"line {line.number}: {error}")
    has_gold = bool(rows) and columns.gold is not None
    return PairTable(tuple(rows), tuple(problems), has_gold, text)


def _decoded(content: bytes | str) -> str:
    if isinstance(content, bytes):
        _check_size(len(content))
        utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            content = content.decode("utf-16" if utf16 else "utf-8")
        except UnicodeDecodeError as error:
            raise TableError(
                f"The file is no text in UTF-8 or UTF-16, as its byte {error.start + 1:,} shows; "
                "save it as CSV in UTF-8."
            ) from error
    _check_size(len(content.encode("utf-8", "surrogatepass")))
    # All marks, not only the first: what is read again has to be the same.
    text = content.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    lines = text.count("\n")
    if lines > MOST_LINES:
        raise TableError(
            f"The table has {lines:,} lines, and at most {MOST_LINES:,} are read; divide it."
        )
    return text


def _check_size(size: int) -> None:
    if size > MOST_BYTES:
        raise TableError(
            f"The table has {size:,} bytes, and at most {MOST_BYTES:,} are read; divide it."
        )


def _row(line: Line, columns: Columns, *, comma: bool) -> Row:
    cells = line.cells
    if len(cells) < 2:
        raise _RowError(
            "expected two sentences, got one column; put a tab, a comma or a semicolon between "
            "them."
        )
    first = _sentence(line, columns.first, "first")
    second = _sentence(line, columns.second, "second")
    if columns.gold is None:
        return Row(line.number, first, second, None)
    gold_text = cells[columns.gold] if columns.gold < len(cells) else ""
    gold = number(gold_text, comma=comma)
    if gold is None or not math.isfinite(gold):
        quoted = repr(gold_text[:40]) if gold_text else "nothing"
        raise _RowError(f"expected a number as its grade, got {quoted}; other rows have one.")
    return Row(line.number, first, second, gold)


def _sentence(line: Line, column: int, which: str) -> str:
    sentence = line.cells[column] if column < len(line.cells) else ""
    if not sentence:
        raise _RowError(f"the {which} sentence is empty; write it, or leave the row out.")
    if len(sentence) > MOST_CHARACTERS:
        raise TableError(
            f"The {which} sentence of line {line.number} has {len(sentence):,} characters, and at "
            f"most {MOST_CHARACTERS:,} are read; shorten it, or close its quotation marks."
        )
    if "\0" in sentence:
        raise _RowError(f"the {which} sentence has a NUL character; save the file as UTF-8.")
    if any("\ud800" <= character <= "\udfff" for character in sentence):
        raise _RowError(f"the {which} sentence has half a character; write it again.")
    return sentence


def write_csv(headers: Sequence[str], rows: Sequence[Sequence[str | int | float]]) -> str:
    """A table that spreadsheets open without taking anybody's sentence for a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([_safe(header) for header in headers])
    writer.writerows([[_safe(cell) for cell in row] for row in rows])
    return file.getvalue()


def _safe(cell: str | float) -> str | int | float:
    if isinstance(cell, str):
        return f"'{cell}" if cell.startswith(_FORMULA) else cell
    if isinstance(cell, int):
        return cell
    # NumPy's numbers become plain ones; what is no number stays an empty cell.
    return float(cell) if math.isfinite(cell) else ""
