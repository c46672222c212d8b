"""Which columns of a table hold the sentences and the grades, by its heading or by its numbers."""

from collections.abc import Sequence
from typing import NamedTuple

from app.delimited import Line

# Headings in small letters, without anything but letters and digits.
_NAMES = (
    {"first", "firstsentence", "sentence1", "sent1", "s1", "text1", "sentencea", "texta"},
    {"second", "secondsentence", "sentence2", "sent2", "s2", "text2", "sentenceb", "textb"},
    {"gold", "grade", "graded", "label", "score", "similarity", "similarityscore", "rating"},
)
_LONGEST_NUMBER = 40


class Columns(NamedTuple):
    """Places of the sentences and, if there are any, of the grades."""

    first: int
    second: int
    gold: int | None = None


class _Layout(NamedTuple):
    """Columns that are meant where some are mostly numbers and others are not."""

    columns: Columns
    numbers: tuple[int, ...]
    words: tuple[int, ...]


# Without a heading; the first that fits.
_LAYOUTS = (
    # The STS Benchmark's own files, whose third column is a year.
    _Layout(Columns(5, 6, 4), numbers=(4,), words=(0, 5, 6)),
    _Layout(Columns(0, 1, 2), numbers=(2,), words=()),
    _Layout(Columns(1, 2, 3), numbers=(0, 3), words=(1, 2)),  # the first is a running number
    _Layout(Columns(1, 2, 0), numbers=(0,), words=(1, 2)),
)


def find_columns(lines: Sequence[Line], *, comma: bool) -> tuple[Columns, list[Line]]:
    """The columns, and the rows without the heading.

    Args:
        lines: all rows.
        comma: whether a comma may be a decimal point.
    """
    rows = list(lines)
    if not rows:
        return Columns(0, 1), rows
    first, second, gold = (_place(rows[0].cells, names) for names in _NAMES)
    if first is not None and second is not None:
        rows = rows[1:]
        graded = gold is not None and any(_is_number(line, gold, comma=comma) for line in rows)
        return Columns(first, second, gold if graded else None), rows
    # The first may be a heading of other names: it is no witness where there are others.
    columns = _guessed(rows[1:] or rows, comma=comma)
    if columns.gold is not None and _is_heading(rows[0], columns.gold, comma=comma):
        rows = rows[1:]
    return columns, rows


def number(cell: str, *, comma: bool) -> float | None:
    """A cell as a number, which may be infinite or nan; None if it is none.

    Args:
        cell: without outer blanks.
        comma: whether a comma may be the decimal point.
    """
    if comma and "." not in cell:
        cell = cell.replace(",", ".", 1)
    # Python also takes 1_000 for a number; and long ones take it long.
    if "_" in cell or len(cell) > _LONGEST_NUMBER:
        return None
    try:
        return float(cell)
    except ValueError:
        return None


def _place(cells: Sequence[str], names: set[str]) -> int | None:
    plain = ("".join(filter(str.isalnum, cell[:_LONGEST_NUMBER].lower())) for cell in cells)
    return next((place for place, name in enumerate(plain) if name in names), None)


def _guessed(rows: Sequence[Line], *, comma: bool) -> Columns:
    def is_numeric(place: int) -> bool:
        return 2 * sum(_is_number(line, place, comma=comma) for line in rows) >= len(rows)

    def are_words(place: int) -> bool:
        wide = sum(place < len(line.cells) for line in rows)
        return 2 * wide >= len(rows) and not is_numeric(place)

    for layout in _LAYOUTS:
        if all(map(is_numeric, layout.numbers)) and all(map(are_words, layout.words)):
            return layout.columns
    return Columns(0, 1)


def _is_number(line: Line, place: int, *, comma: bool) -> bool:
    return place < len(line.cells) and number(line.cells[place], comma=comma) is not None


def _is_heading(line: Line, gold: int, *, comma: bool) -> bool:
    """Whether words stand where the other rows have their grades."""
    return (
        gold < len(line.cells)
        and line.cells[gold] != ""
        and not _is_number(line, gold, comma=comma)
    )
