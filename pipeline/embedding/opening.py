"""Which input is of which kind, by its name."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pipeline.embedding.text_source import TextSource
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.embedding.source import Source

TEXT = (".txt", ".txt.gz", ".txt.xz")
PARQUET = ".parquet"


def open_source(path: Path, column: str) -> Source:
    """The source at a path; its rows are not read yet.

    Args:
        path: a file that ends in one of `TEXT` or `PARQUET`, or a folder of Parquet files.
        column: the sentences' column.

    Raises:
        InputError: no such input, an unknown format, or no such column of texts.
    """
    if not path.exists():
        raise InputError(f"INPUT: {path} does not exist{_nearest(path)}")
    if path.is_dir() or path.name.lower().endswith(PARQUET):
        return _open_parquet(path, column)
    if path.name.lower().endswith(TEXT):
        return TextSource(path, column)
    allowed = ", ".join((*TEXT, PARQUET))
    raise InputError(
        f"INPUT: {path} is of an unknown format; allowed are {allowed} and a folder of {PARQUET} "
        "files."
    )


def _open_parquet(path: Path, column: str) -> Source:
    require_pyarrow(f"INPUT: {path}")
    from pipeline.embedding.parquet_source import ParquetSource  # noqa: PLC0415 - needs pyarrow

    return ParquetSource.open(path, column)


def require_pyarrow(what: str) -> None:
    """Refuse Parquet where its library is not installed, as on bare GPU images.

    Raises:
        InputError: it is not.
    """
    try:
        import pyarrow as pa  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError(
            f"{what} needs the library `pyarrow`; install it with: pip install -e '.[pipeline]'."
        ) from error


def _nearest(path: Path) -> str:
    """What to try instead of a path that does not exist."""
    if not path.parent.is_dir():
        return f", nor does its folder {path.parent}; check the path."
    names = [entry.name for entry in path.parent.iterdir()]
    close = difflib.get_close_matches(path.name, names, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close else "; check the path."
