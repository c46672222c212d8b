"""What an output is of, as written beside an unfinished one."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import write_atomically

if TYPE_CHECKING:
    from pathlib import Path

RECORD = "run.json"
_WHOLE = "whole"

# What to give as it was, when a part of the plan has changed.
_GIVEN = {
    "input": "INPUT",
    "sentences": "INPUT",
    "column": "--column",
    "encoder": "--encoder",
    "dimension": "--encoder",
    "max_length": "--encoder",
    "pooling": "--pooling",
    "normalise": "--normalise",
    "dtype": "--dtype",
    "chunk": "--chunk",
}


@dataclass(frozen=True)
class Plan:
    """All that decides an output but for rounding; runs of one plan may share their chunks.

    Attributes:
        input: a hash of what is read.
        column: the sentences' column.
        encoder: the version of its folder.
        pooling: as the encoder's layout has it.
        normalise: likewise.
        max_length: likewise, in tokens.
        dtype: `float32` or `float16`.
        chunk: sentences a chunk.
        sentences: N, all there are.
        dimension: D, numbers an embedding.
    """

    input: str
    column: str
    encoder: str
    pooling: str
    normalise: bool
    max_length: int | None
    dtype: str
    chunk: int
    sentences: int
    dimension: int

    def rows(self, number: int) -> int:
        """Sentences of a chunk; 0 for a number past the last one."""
        return max(0, min(self.chunk, self.sentences - number * self.chunk))

    @property
    def row_bytes(self) -> int:
        """Bytes of one embedding."""
        return self.dimension * np.dtype(self.dtype).itemsize


def parts_folder(output: Path) -> Path:
    """Where the unfinished output lies."""
    return output.with_name(f"{output.name}.parts")


def check_new(output: Path) -> None:
    """Refuse an output that exists, unless a run was stopped while it tidied up after it.

    Raises:
        WriteError: it exists, or the folder for its parts is somebody else's.
    """
    folder = parts_folder(output)
    if output.exists() and not _read(folder).get(_WHOLE):
        raise WriteError(f"OUTPUT: {output} exists; remove it, or name another.")
    if not folder.exists() or (folder / RECORD).is_file():
        return
    # A run that was killed at once leaves an empty folder, or the beginning of its record.
    if not folder.is_dir() or any(not p.name.startswith(f".{RECORD}.") for p in folder.iterdir()):
        raise WriteError(f"OUTPUT: {folder} is not of an unfinished run; move it, or name another.")


def recorded(output: Path, plan: Plan) -> str | None:
    """What is recorded beside an output: None for nothing, else what `record` was given.

    Raises:
        InputError: it is of another plan, or damaged.
    """
    folder = parts_folder(output)
    content = _read(folder)
    if not content:
        return None
    changed = {_GIVEN[key]: None for key, value in vars(plan).items() if content.get(key) != value}
    if changed:
        raise InputError(
            f"OUTPUT: {folder} holds finished chunks of another {', '.join(changed)}; give what "
            "was given then to go on with them, or remove that folder to begin anew."
        )
    return str(content.get(_WHOLE, ""))


def record(output: Path, plan: Plan, whole: str) -> None:
    """Write down the plan, and which file of the folder is the whole output; "" for none yet."""
    place = parts_folder(output) / RECORD
    content = dataclasses.asdict(plan) | {_WHOLE: whole}
    write_atomically(place, f"{json.dumps(content, indent=2)}\n".encode())
    sync(place)
    sync(place.parent)


def sync(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read(folder: Path) -> dict[str, object]:
    """What run.json says; nothing where there is none."""
    place = folder / RECORD
    try:
        content = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise InputError(f"OUTPUT: {place} is damaged; remove the folder {folder} to begin anew.")
    return content
