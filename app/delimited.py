"""Text of a table -> its rows of cells: which delimiter, which quotes, which lines.

As RFC 4180 has it, but never at a loss: a quotation mark that opens no quoted cell is a quotation
mark, so that tables which quote nothing are read as well. Not here: what the cells mean
(pair_table.py).
"""

from collections import Counter
from typing import NamedTuple

# Of equally good ones the first: commas and semicolons also stand in sentences.
DELIMITERS = "\t;,"
# What stands behind so many columns is left in the last one.
MOST_COLUMNS = 64


class Line(NamedTuple):
    """A row.

    Attributes:
        number: the line of the text that it begins on, from 1.
        cells: without outer blanks.
        strict: whether RFC 4180 has it so: no cell begins with a mark that does not quote it.
    """

    number: int
    cells: list[str]
    strict: bool


def split_rows(text: str) -> tuple[str, list[Line]]:
    """The delimiter and the rows that are not blank.

    The delimiter is that with which the largest share of rows has one and the same number of
    columns, two at least. Rows with stray quotation marks count only between equals: the cells of
    `"a;b","c;d"` are not `"a`, `b","c` and `d"`.

    Args:
        text: with line feeds as line ends.
    """
    read = {delimiter: _rows(text, delimiter) for delimiter in DELIMITERS}
    best = max(DELIMITERS, key=lambda delimiter: _agreement(read[delimiter]))
    return best, read[best]


def _agreement(rows: list[Line]) -> tuple[float, float]:
    """The share of rows that have the commonest width: of strict rows, and of all."""
    shares = []
    for candidates in ([line for line in rows if line.strict], rows):
        widths = Counter(len(line.cells) for line in candidates if len(line.cells) > 1)
        shares.append(max(widths.values(), default=0) / max(1, len(rows)))
    return shares[0], shares[1]


def _rows(text: str, delimiter: str) -> list[Line]:
    rows = []
    number, start = 1, 0
    while start < len(text):
        end = _end_of_line(text, start)
        if text.find('"', start, end) < 0:
            strict, after = True, end
            cells = text[start:end].split(delimiter, MOST_COLUMNS - 1)
        else:
            cells, after, strict = _quoted_row(text, start, delimiter)
        cells = [cell.strip() for cell in cells]
        if any(cells):
            rows.append(Line(number, cells, strict))
        number += text.count("\n", start, after) + 1
        start = after + 1
    return rows


def _quoted_row(text: str, start: int, delimiter: str) -> tuple[list[str], int, bool]:
    """The cells of a row that has quotation marks, where its line end is, whether it is strict."""
    cells: list[str] = []
    strict = True
    line_end = _end_of_line(text, start)
    while True:
        opened = text.startswith('"', start)
        end = _end_of_quotes(text, start, delimiter) if opened else -1
        strict = strict and opened == (end >= 0)
        if len(cells) == MOST_COLUMNS - 1:
            end = line_end
            cells.append(text[start:end])
        elif end >= 0:
            cells.append(text[start + 1 : end - 1].replace('""', '"'))
            if end > line_end:
                line_end = _end_of_line(text, end)
        else:
            end = text.find(delimiter, start, line_end)
            end = line_end if end < 0 else end
            cells.append(text[start:end])
        if end >= line_end:
            return cells, end, strict
        start = end + 1


def _end_of_quotes(text: str, start: int, delimiter: str) -> int:
    """Behind the quotation mark that closes the cell; -1 if none does.

    Linear over a whole table, not only for one cell: what was passed in vain holds no mark, at the
    beginning of a cell, that is not closed or refused by the marks that follow it directly.
    """
    place = text.find('"', start + 1)
    while place >= 0:
        if not text.startswith('"', place + 1):
            place += 1
            return place if place == len(text) or text[place] in (delimiter, "\n") else -1
        place = text.find('"', place + 2)
    return -1


def _end_of_line(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
