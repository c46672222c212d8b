"""Lines of UTF-8 text files, plain or compressed, and where what is no text stands."""

from __future__ import annotations

import gzip
import lzma
from typing import TYPE_CHECKING, BinaryIO, cast

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ADVICE = "only UTF-8 text is read, so convert the file or choose another"


def open_bytes(path: Path, name: str) -> BinaryIO:
    """A file's content, decompressed if the name, in small letters, ends in .gz or .xz."""
    if path.stat().st_size == 0:
        return path.open("rb")  # to gzip and lzma an empty file is a damaged one
    if name.endswith(".gz"):
        return cast("BinaryIO", gzip.open(path, "rb"))
    return cast("BinaryIO", lzma.open(path, "rb")) if name.endswith(".xz") else path.open("rb")


def text_lines(stream: BinaryIO) -> Iterator[str]:
    r"""Lines with their ends. Binary streams end lines at "\n" alone, text streams at more.

    Raises:
        InputError: a byte is not UTF-8, or NUL, which UTF-16 without a mark is full of; the
            message goes on after the file's name and has no full stop.
    """
    start = 0
    for number, raw in enumerate(stream, 1):
        at, what = raw.find(b"\0"), "a NUL byte"
        try:
            line = raw.decode()
        except UnicodeDecodeError as error:
            if at < 0 or error.start < at:
                at, what = error.start, "a byte that is not UTF-8"
        if at >= 0:
            raise InputError(f"holds {what} (line {number}, byte {start + at}); {ADVICE}")
        yield line.removeprefix("\ufeff") if number == 1 else line
        start += len(raw)
