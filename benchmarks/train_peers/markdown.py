"""The same report as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.train_peers import tables
from benchmarks.train_peers.contestants import in_words

if TYPE_CHECKING:
    from collections.abc import Iterable


def markdown(result: dict[str, Any]) -> str:
    """All tables, with what they are about before and what was not run after them."""
    parts = ["\n".join(tables.about(result))]
    for name, size in result["sizes"].items():
        rows = ([in_words(key), *tables.cells(one)] for key, one in size["contestants"].items())
        parts += [tables.title(name, size, result), _table(tables.COLUMNS, rows)]
        if size["not_run"]:
            parts.append("\n".join(f"- not run: {k}: {why}" for k, why in size["not_run"].items()))
        if found := size.get("overheads"):
            each = found["objectives"].items()
            rows = ([f"`{key}`", *tables.overhead_cells(one)] for key, one in each)
            parts += [tables.overheads_title(name, found), _table(tables.OVERHEAD_COLUMNS, rows)]
    return "\n\n".join(parts) + "\n"


def _table(columns: tuple[str, ...], rows: Iterable[list[str]]) -> str:
    lines = [["", *columns], ["---", *["---:"] * len(columns)], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
