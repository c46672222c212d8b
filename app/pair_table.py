"""Pairs of sentences that a person pasted or uploaded: text of some table -> rows, and back.

Read are commas, semicolons or tabs between columns, quotes, any line ends, UTF-8 or UTF-16, with or
without a heading and grades. A row that cannot be used is named, never dropped silently.
"""

import codecs
import csv
import io
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

MOST_PAIRS = 2_000
MOST_BYTES = 5_000_000
MOST_CHARACTERS = 20_000
# In the order in which they are believed: commas and semicolons also stand in sentences.
_DELIMITERS = "\t;,"
_GRADE_NAMES = {"gold", "grade", "label", "score", "similarity"}
_TEXT_NAMES = (
    {"a", "first", "sentence1", "sentence_1", "sent1", "text1", "source", "first sentence"},
    {"b", "second", "sentence2", "sentence_2", "sent2", "text2", "target", "second sentence"},
)
# What spreadsheets take for the beginning of a formula.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


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
        has_gold: whether the pairs have grades.
        text: what was read, decoded, with line feeds as line ends.
    """

    rows: tuple[Row, ...]
    problems: tuple[str, ...]
    has_gold: bool
    text: str


@dataclass(frozen=True)
class _Columns:
    first: int
    second: int
    gold: int | None


def read_pairs(content: bytes | str) -> PairTable:
    """Read a table.

    Raises:
        TableError: it is empty, too large, or no text.
    """
    text = _decoded(content)
    delimiter = _delimiter(text)
    lines = _records(text, delimiter)
    if not lines:
        raise TableError("There is no pair: give two sentences a line, divided by a tab or comma.")
    columns = _named(lines[0][1])
    if columns is not None:
        lines = lines[1:]
    else:
        columns = _guessed([cells for _, cells in lines])
    if len(lines) > MOST_PAIRS:
        raise TableError(
            f"There are {len(lines):,} pairs, and at most {MOST_PAIRS:,} can be scored at once; "
            "divide them."
        )
    rows, problems = [], []
    for number, cells in lines:
        found = _row(number, cells, columns, delimiter)
        if isinstance(found, Row):
            rows.append(found)
        else:
            problems.append(f"line {number}: {found}")
    return PairTable(tuple(rows), tuple(problems), columns.gold is not None, text)


def _decoded(content: bytes | str) -> str:
    size = len(content if isinstance(content, bytes) else content.encode("utf-8", "replace"))
    if size > MOST_BYTES:
        raise TableError(
            f"The table has {size:,} bytes, and at most {MOST_BYTES:,} can be read; divide it."
        )
    if isinstance(content, bytes):
        utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        try:
            content = content.decode("utf-16" if utf16 else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise TableError(
                f"The file is no text in UTF-8 or UTF-16 (byte {error.start + 1:,}); save it as "
                "CSV UTF-8."
            ) from error
    if "\0" in content:
        raise TableError("The file holds NUL bytes, so it is no table of text; save it as CSV.")
    return content.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _records(text: str, delimiter: str) -> list[tuple[int, list[str]]]:
    """Rows that are not blank, each with the line it begins on."""
    records = _parsed(text, delimiter, csv.QUOTE_MINIMAL)
    if delimiter == "\t" and any("\n" in cell for _, cells in records for cell in cells):
        # A sentence that begins with a quotation mark, in a file that quotes nothing.
        return _parsed(text, delimiter, csv.QUOTE_NONE)
    return records


def _parsed(text: str, delimiter: str, quoting: Literal[0, 3]) -> list[tuple[int, list[str]]]:
    csv.field_size_limit(MOST_BYTES)
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, quoting=quoting)
    records, begin = [], 1
    for row in reader:
        cells = [cell.strip() for cell in row]
        if any(cells):
            records.append((begin, cells))
        begin = reader.line_num + 1
    return records


def _delimiter(text: str) -> str:
    """That with which most rows have one and the same number of columns, at least two."""
    agreeing = {}
    for delimiter in _DELIMITERS:
        widths = Counter(len(cells) for _, cells in _records(text, delimiter))
        agreeing[delimiter] = max((n for width, n in widths.items() if width > 1), default=0)
    return max(_DELIMITERS, key=lambda delimiter: agreeing[delimiter])


def _named(cells: list[str]) -> _Columns | None:
    """The columns that a heading names; None if it is none."""
    names = [cell.lower() for cell in cells]
    places = [
        next((place for place, name in enumerate(names) if name in known), None)
        for known in (*_TEXT_NAMES, _GRADE_NAMES)
    ]
    first, second, gold = places
    if first is None or second is None:
        return None
    return _Columns(first, second, gold)


def _guessed(rows: list[list[str]]) -> _Columns:
    """Grades are the column beside two others that is mostly numbers: the third or the first."""
    wide = [cells for cells in rows if len(cells) > 2]
    if len(wide) * 2 > len(rows):
        for gold, first, second in ((2, 0, 1), (0, 1, 2)):
            numbers = sum(_number(cells[gold]) is not None for cells in wide)
            if numbers * 2 > len(wide):
                return _Columns(first, second, gold)
    return _Columns(0, 1, None)


def _row(number: int, cells: list[str], columns: _Columns, delimiter: str) -> Row | str:
    """The pair, or why there is none."""
    texts = [
        cells[place] if place < len(cells) else "" for place in (columns.first, columns.second)
    ]
    if len(cells) < 2:
        return "expected two sentences, got one column; put a tab or comma between them."
    if not all(texts):
        return "a sentence is empty; write both."
    longest = max(map(len, texts))
    if longest > MOST_CHARACTERS:
        return f"a sentence has {longest:,} characters, at most {MOST_CHARACTERS:,} are read."
    if columns.gold is None:
        return Row(number, texts[0], texts[1], None)
    given = cells[columns.gold] if columns.gold < len(cells) else ""
    gold = _number(given, comma=delimiter != ",")
    if gold is None:
        return f"expected a grade, got {given[:40]!r}; give a number, as the other rows do."
    return Row(number, texts[0], texts[1], gold)


def _number(text: str, *, comma: bool = True) -> float | None:
    try:
        number = float(text.replace(",", ".") if comma else text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def write_csv(headers: Sequence[str], rows: Sequence[Sequence[str | float]]) -> str:
    """A table that spreadsheets open without taking anybody's sentence for a formula."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\r\n")
    writer.writerow([_safe(header) for header in headers])
    writer.writerows([[_safe(cell) for cell in row] for row in rows])
    return file.getvalue()


def _safe(cell: str | float) -> str | float:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell
