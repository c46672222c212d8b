r"""Text files, plain or compressed: a sentence a line.

Only "\n" and "\r\n" end a line, so that Unicode line separators split nothing; an empty line is an
empty sentence, since rows of the output are matched to lines by their number.
"""

from __future__ import annotations

import gzip
import lzma
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.data.text_file import open_bytes, text_lines
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True)
class TextSource:
    """The lines of a file.

    Attributes:
        path: the file.
        column: what the lines are called in a Parquet output.
    """

    path: Path
    column: str

    def texts(self) -> Iterator[str]:
        """Every line without its end.

        Raises:
            InputError: a line is not UTF-8 text, or the file is damaged.
        """
        try:
            with open_bytes(self.path, self.path.name.lower()) as stream:
                for line in text_lines(stream):
                    yield line.removesuffix("\n").removesuffix("\r")
        except InputError as error:
            raise InputError(f"INPUT: {self.path} {error}.") from error
        except (EOFError, lzma.LZMAError, gzip.BadGzipFile, zlib.error) as error:
            reason = str(error).rstrip(".")
            raise InputError(
                f"INPUT: {self.path} is damaged or cut short ({reason}); fetch it again."
            ) from error
