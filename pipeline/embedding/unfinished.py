"""An unfinished output: OUTPUT.parts, a folder from which a stopped run resumes.

    plan.json    the options and inputs that decide the embeddings
    embeddings   the .npy array that they will be; each finished chunk is appended to it
    whole        a Parquet output, in the making when all chunks are there

What a killed run has left of one more chunk is cut off when the next run starts.
"""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import write_atomically, writing


@dataclass
class Unfinished:
    """An output whose embeddings are finished chunk by chunk."""

    output: Path  # the file that is made
    shape: tuple[int, int]  # (N, D) of all embeddings
    dtype: np.dtype[np.floating]
    chunk: int  # rows a chunk; the last one may be shorter
    done: int = 0  # rows that are finished

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self.output.with_name(f"{self.output.name}.parts")

    @property
    def array(self) -> Path:
        """The file of the embeddings."""
        return self.folder / "embeddings"

    def begin(self) -> None:
        """Leave the array's header and its finished chunks, and nothing else."""
        with writing(self.output):
            self.array.touch()
            size = self.array.stat().st_size
            with self.array.open("r+b") as file:
                descr = np.lib.format.dtype_to_descr(self.dtype)
                header = {"descr": descr, "fortran_order": False, "shape": self.shape}
                np.lib.format.write_array_header_1_0(file, header)
                start, row = file.tell(), self.shape[1] * self.dtype.itemsize
                rows = max(0, size - start) // row
                self.done = rows if rows == self.shape[0] else rows // self.chunk * self.chunk
                file.truncate(start + self.done * row)

    def append(self, embeddings: np.ndarray) -> None:
        """Keep the next chunk's embeddings, (rows, D).

        Raises:
            InputError: they are not as many as planned, or not finite.
            WriteError: they cannot be written.
        """
        if embeddings.shape != (min(self.chunk, self.shape[0] - self.done), self.shape[1]):
            raise changed_while_read()
        wrong = np.flatnonzero(~np.isfinite(embeddings).all(axis=1))
        if len(wrong):
            raise InputError(
                f"--dtype: {self.dtype} cannot hold the embedding of row "
                f"{self.done + int(wrong[0]) + 1}, which is infinite or not a number there; give "
                "--dtype float32, or another encoder."
            )
        with writing(self.output, size=embeddings.nbytes), self.array.open("ab") as file:
            file.write(embeddings.tobytes())
        self.done += len(embeddings)

    def finish(self, whole: Path) -> None:
        """Make a file of the folder the output, and remove what else was written there."""
        with writing(self.output):
            whole.replace(self.output)
            self.array.unlink(missing_ok=True)
            (self.folder / "plan.json").unlink()
        with suppress(OSError):  # somebody has put something into it
            self.folder.rmdir()


def changed_while_read() -> InputError:
    """The error for an input that had other rows when it was read again."""
    return InputError(
        "INPUT: it had other rows when it was read again; start the command anew when nothing "
        "changes it any more."
    )


@contextmanager
def begun(unfinished: Unfinished, plan: Mapping[str, object]) -> Iterator[None]:
    """Begin or resume an output, which no other process may write in the meantime.

    The plan is what decides the embeddings, by the option that gives it.

    Raises:
        InputError: the earlier run was of another plan.
        WriteError: the output cannot be written, the disk has no room, or another process writes.
    """
    place = unfinished.folder / "plan.json"
    if place.exists():
        _check_same(place, plan)
    _check_room(unfinished)
    if not place.exists():
        write_atomically(place, f"{json.dumps(plan, indent=2)}\n".encode())
    with place.open("rb") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # until the process ends, however
        except BlockingIOError as error:
            raise WriteError(
                f"OUTPUT: another process is writing {unfinished.output}; wait for it, or name "
                "another."
            ) from error
        unfinished.begin()
        yield


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


def _check_room(unfinished: Unfinished) -> None:
    rows, width = unfinished.shape
    copies = 1 if unfinished.output.suffix.lower() == ".npy" else 2  # Parquet holds them again
    needed = copies * rows * width * unfinished.dtype.itemsize
    needed -= sum(path.stat().st_size for path in unfinished.folder.glob("*"))
    near = next(parent for parent in unfinished.array.resolve().parents if parent.exists())
    free = shutil.disk_usage(near).free
    if needed > free:
        raise WriteError(
            f"OUTPUT: {unfinished.output} needs {needed / 1e9:,.1f} GB more and {near} has "
            f"{free / 1e9:,.1f} GB; make room, name another place, or give --dtype float16."
        )
