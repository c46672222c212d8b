"""An unfinished output: OUTPUT.parts, a folder that a run which was stopped goes on from.

    run.json     what the run is of, and whether all that is left is to move its result
    embeddings   a .npy file, in which every chunk has its place from the start
    finished     numbers of the chunks that are in it, a line each
    whole        the Parquet output, in the making when all chunks are there

A chunk is listed after it has reached the disk, so that a power cut loses no more than the chunk
in work. Chunks may come in any order. Not here: how they are made.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from pipeline.embedding.plan import RECORD, parts_folder, record, recorded, sync
from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import writing

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from pipeline.embedding.plan import Plan

SHEET, FINISHED, WHOLE = "embeddings", "finished", "whole"


class Parts:
    """The unfinished output of one plan; made by `open_parts`."""

    def __init__(self, output: Path, plan: Plan, listing: BinaryIO) -> None:
        self.plan = plan
        self.output = output
        self.sheet = parts_folder(output) / SHEET
        self._listing = listing
        header = _header(plan)
        self._header = len(header)
        if not self.sheet.exists() or self.sheet.stat().st_size < len(header):
            self.sheet.write_bytes(header)
        size = self.sheet.stat().st_size
        self._finished = {n for n in _listed(listing) if plan.rows(n) and self._end(n) <= size}

    @property
    def finished(self) -> frozenset[int]:
        """Numbers of the finished chunks."""
        return frozenset(self._finished)

    @property
    def done(self) -> int:
        """Sentences of the chunks that are finished."""
        return sum(self.plan.rows(number) for number in self._finished)

    def lacks(self, number: int) -> bool:
        """Whether a chunk is not finished."""
        return number not in self._finished

    def _end(self, number: int) -> int:
        """Where a chunk ends in the sheet, in bytes."""
        rows = number * self.plan.chunk + self.plan.rows(number)
        return self._header + rows * self.plan.row_bytes

    def write(self, number: int, embeddings: np.ndarray) -> None:
        """Put a chunk's embeddings, (N, D), in their place.

        Raises:
            InputError: they are not as many as planned, or not finite.
            WriteError: they cannot be written.
        """
        if embeddings.shape != (self.plan.rows(number), self.plan.dimension):
            raise changed_while_read()
        wrong = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
        if len(wrong):
            row = number * self.plan.chunk + int(wrong[0]) + 1
            raise InputError(
                f"--dtype: {self.plan.dtype} cannot hold the embedding of row {row}, which is "
                "infinite or not a number there; give --dtype float32, or another encoder."
            )
        with writing(self.output):
            self._put(self._end(number) - embeddings.nbytes, embeddings)
            self._listing.write(f"{number}\n".encode())
            _flush(self._listing)
        self._finished.add(number)

    def _put(self, start: int, embeddings: np.ndarray) -> None:
        # No memory map: on a full disk it would end the process with SIGBUS.
        with self.sheet.open("r+b") as sheet:
            sheet.seek(start)
            sheet.write(np.ascontiguousarray(embeddings).data)
            _flush(sheet)

    def read(self, start: int, rows: int) -> np.ndarray:
        """Embeddings (rows, D) from a row on."""
        count, offset = rows * self.plan.dimension, self._header + start * self.plan.row_bytes
        found = np.fromfile(self.sheet, self.plan.dtype, count, offset=offset)
        return found.reshape(-1, self.plan.dimension)

    def check_complete(self) -> None:
        """Refuse to go on while a chunk is missing, though the input has ended.

        Raises:
            InputError: one is.
        """
        if self.done != self.plan.sentences:
            raise changed_while_read()

    def finish(self, whole: str) -> None:
        """Make a file of the folder, its sheet or the Parquet file, the output; tidy up.

        Raises:
            WriteError: the output cannot be written.
        """
        with writing(self.output):
            sync(self.sheet.with_name(whole))
            record(self.output, self.plan, whole)
            _move(self.output, whole)


def changed_while_read() -> InputError:
    """The error for an input that had other rows when it was read again."""
    return InputError(
        "INPUT: it had other rows when it was read again; start the command anew when nothing "
        "changes it any more."
    )


@contextmanager
def open_parts(output: Path, plan: Plan) -> Iterator[Parts]:
    """The unfinished output, new or as an earlier run of this plan left it.

    Raises:
        InputError: the earlier run was of another plan.
        WriteError: it cannot be written, or another process writes it.
    """
    folder = parts_folder(output)
    known = recorded(output, plan)
    with writing(output):
        folder.mkdir(parents=True, exist_ok=True)
        if known is None:
            record(output, plan, "")
        (folder / FINISHED).touch()
        listing = (folder / FINISHED).open("r+b")
    with listing:
        _lock(listing, output)
        with writing(output):
            parts = Parts(output, plan, listing)
        yield parts


def was_finished(output: Path, plan: Plan) -> bool:
    """Whether an earlier run had only to move and tidy up its result, which is done then.

    Raises:
        InputError: the earlier run was of another plan.
        WriteError: the output cannot be written, or is somebody else's.
    """
    whole = recorded(output, plan)
    if not whole:
        return False
    made = (parts_folder(output) / whole).exists()
    if made and output.exists():
        raise WriteError(f"OUTPUT: {output} exists; remove it, or name another.")
    there = made or output.exists()
    with writing(output):
        _move(output, whole)
    return there


def _move(output: Path, whole: str) -> None:
    """The last steps; each may have been taken before."""
    folder = parts_folder(output)
    if (folder / whole).exists():
        (folder / whole).replace(output)
        sync(output.parent)
    # The record goes last: as long as it is there, what else is left can be told.
    for path in sorted(folder.iterdir(), key=lambda path: path.name == RECORD):
        path.unlink()
    folder.rmdir()


def _lock(listing: BinaryIO, output: Path) -> None:
    """Until the file is closed, or the process has ended however it did."""
    try:
        fcntl.flock(listing, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        raise WriteError(
            f"OUTPUT: another process is writing {output}; wait for it, or name another."
        ) from error


def _listed(listing: BinaryIO) -> set[int]:
    """Numbers of finished chunks; what a power cut has left of a line is cut off."""
    numbers, good = set(), 0
    for line in listing:
        if not (line.endswith(b"\n") and line[:-1].isdigit()):
            break
        numbers.add(int(line))
        good += len(line)
    listing.seek(good)
    listing.truncate()
    return numbers


def _header(plan: Plan) -> bytes:
    """The beginning of a .npy file of all embeddings."""
    stream = BytesIO()
    content = {
        "descr": np.lib.format.dtype_to_descr(np.dtype(plan.dtype)),
        "fortran_order": False,
        "shape": (plan.sentences, plan.dimension),
    }
    np.lib.format.write_array_header_1_0(stream, content)
    return stream.getvalue()


def _flush(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())
