"""An unfinished output: OUTPUT.parts, a folder from which a stopped run resumes.

    plan.json   the options and inputs that decide the embeddings
    00000000    the embeddings of a chunk, (rows, D) numbers without a header; and so on
    whole       the output, in the making when all chunks are there

A chunk's file appears whole or not at all, so a run computes those that are not there.
"""

from __future__ import annotations

import fcntl
import json
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import write_atomically, writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


def parts_folder(output: Path) -> Path:
    """Where the unfinished output lies."""
    return output.with_name(f"{output.name}.parts")


class Parts:
    """The chunks of an output, some of them finished.

    Args:
        output: the file that they will be.
        shape: (N, D) of all embeddings.
        dtype: of the embeddings.
        chunk: sentences a chunk.
    """

    def __init__(self, output: Path, shape: tuple[int, int], dtype: str, chunk: int) -> None:
        self.output, self.shape, self.dtype, self.chunk = output, shape, np.dtype(dtype), chunk
        self.folder = parts_folder(output)

    def rows(self, number: int) -> int:
        """Sentences of a chunk; 0 past the last one."""
        return max(0, min(self.chunk, self.shape[0] - number * self.chunk))

    def has(self, number: int) -> bool:
        """Whether a chunk is finished; a power cut may have left a shorter file."""
        file = self._file(number)
        size = self.rows(number) * self.shape[1] * self.dtype.itemsize
        return file.exists() and file.stat().st_size == size

    def done(self) -> int:
        """Sentences of the chunks that are finished."""
        numbers = range(-(-self.shape[0] // self.chunk))
        return sum(self.rows(number) for number in numbers if self.has(number))

    def write(self, number: int, embeddings: np.ndarray) -> None:
        """Keep a chunk's embeddings, (rows, D).

        Raises:
            InputError: they are not as many as planned, or not finite.
            WriteError: they cannot be written.
        """
        if embeddings.shape != (self.rows(number), self.shape[1]):
            raise changed_while_read()
        wrong = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
        if len(wrong):
            row = number * self.chunk + int(wrong[0]) + 1
            raise InputError(
                f"--dtype: {self.dtype} cannot hold the embedding of row {row}, which is "
                "infinite or not a number there; give --dtype float32, or another encoder."
            )
        write_atomically(self._file(number), embeddings.tobytes())

    def read(self, start: int, stop: int) -> np.ndarray:
        """Embeddings of the rows from start up to stop, (stop - start, D)."""
        first, last = start // self.chunk, (stop - 1) // self.chunk
        files = [self._file(number) for number in range(first, last + 1)]
        rows = np.concatenate([np.fromfile(file, self.dtype) for file in files])
        return rows.reshape(-1, self.shape[1])[start - first * self.chunk :][: stop - start]

    def write_array(self, path: Path) -> None:
        """All embeddings as a .npy file, with the bytes that `numpy.save` writes."""
        description = np.lib.format.dtype_to_descr(self.dtype)
        header = {"descr": description, "fortran_order": False, "shape": self.shape}
        with writing(self.output), path.open("wb") as whole:
            np.lib.format.write_array_header_1_0(whole, header)
            for start in range(0, self.shape[0], self.chunk):
                whole.write(self._file(start // self.chunk).read_bytes())

    def _file(self, number: int) -> Path:
        return self.folder / f"{number:08}"


def changed_while_read() -> InputError:
    """The error for an input that had other rows when it was read again."""
    return InputError(
        "INPUT: it had other rows when it was read again; start the command anew when nothing "
        "changes it any more."
    )


def check_new(output: Path) -> None:
    """Refuse an output that exists.

    Raises:
        WriteError: it does, or the folder for its parts is somebody else's.
    """
    folder = parts_folder(output)
    if output.exists():
        raise WriteError(f"OUTPUT: {output} exists; remove it, or name another.")
    if not folder.exists() or (folder / "plan.json").is_file():
        return
    # A run that was killed at once leaves an empty folder, or the beginning of its plan.
    if not folder.is_dir() or any(not path.name.startswith(".") for path in folder.iterdir()):
        raise WriteError(f"OUTPUT: {folder} is not of an unfinished run; move it, or name another.")


@contextmanager
def unfinished(parts: Parts, plan: Mapping[str, object]) -> Iterator[Path]:
    """The file that becomes the output when the block ends without an error.

    Args:
        parts: none of them, or as an earlier run of this plan left them.
        plan: what decides the embeddings, by the option that gives it.

    Raises:
        InputError: the earlier run was of another plan.
        WriteError: the output cannot be written, the disk has no room, or another process writes.
    """
    place = parts.folder / "plan.json"
    if place.exists():
        _check_same(place, plan)
    _check_room(parts)
    if not place.exists():
        write_atomically(place, f"{json.dumps(plan, indent=2)}\n".encode())
    with place.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the process ends, however
        except BlockingIOError as error:
            raise WriteError(
                f"OUTPUT: another process is writing {parts.output}; wait for it, or name another."
            ) from error
        whole = parts.folder / "whole"
        yield whole
        with writing(parts.output):
            whole.replace(parts.output)
            shutil.rmtree(parts.folder)


def _check_same(place: Path, plan: Mapping[str, object]) -> None:
    try:
        earlier = dict(json.loads(place.read_text(encoding="utf-8")))
    except (TypeError, ValueError) as error:
        raise InputError(
            f"OUTPUT: {place} is damaged; remove the folder {place.parent} to begin anew."
        ) from error
    changed = [option for option, value in plan.items() if earlier.get(option) != value]
    if changed:
        raise InputError(
            f"OUTPUT: {place.parent} holds finished chunks of another {', '.join(changed)}; give "
            "what was given then to resume, or remove that folder to begin anew."
        )


def _check_room(parts: Parts) -> None:
    """The chunks stay until the output, which holds them once more, is whole."""
    needed = 2 * parts.shape[0] * parts.shape[1] * parts.dtype.itemsize
    needed -= sum(path.stat().st_size for path in parts.folder.glob("*"))
    near = next(parent for parent in parts.folder.resolve().parents if parent.exists())
    free = shutil.disk_usage(near).free
    if needed > free:
        raise WriteError(
            f"OUTPUT: {parts.output} needs {needed / 1e9:,.1f} GB more and {near} has "
            f"{free / 1e9:,.1f} GB; make room, name another place, or give --dtype float16."
        )
