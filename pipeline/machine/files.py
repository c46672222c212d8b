"""Outputs that are either the old or the whole new ones, and checks that they can be written.

The checks come first where hours of work would else end in a path that cannot be used.
"""

from __future__ import annotations

import errno
import itertools
import os
import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipeline.machine.errors import WriteError, first_line

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# How the system, and libraries that lose its error number, say that the disk is full.
FULL = (errno.ENOSPC, errno.EDQUOT)
NO_SPACE = ("No space left", "Not enough free space")


def check_writable(option: str, path: Path, *, folder: bool = False) -> None:
    """Refuse an output that cannot be written; nothing is made yet.

    Args:
        option: what names the output, `--out`.
        path: the output.
        folder: whether it is a folder that is replaced as a whole, and not a file.

    Raises:
        WriteError: it is of the other kind, or no folder that can be written holds it.
    """
    place = path.resolve()
    if folder and place.exists() and not place.is_dir():
        raise WriteError(f"{option}: {path} is a file; name a folder.")
    if not folder and place.is_dir():
        raise WriteError(f"{option}: {path} is a folder; name a file.")
    near = next(parent for parent in place.parents if parent.exists())
    if not near.is_dir():
        raise WriteError(f"{option}: {path} cannot be written, as {near} is a file; name another.")
    if not os.access(near, os.W_OK | os.X_OK):
        raise WriteError(f"{option}: {path} cannot be written: no right to write in {near}.")


def check_apart(outputs: Mapping[str, Path]) -> None:
    """Refuse outputs of which one would replace another; the keys are the options' names.

    Raises:
        WriteError: two are the same, or one lies in the other.
    """
    for (option, path), (other, inner) in itertools.permutations(outputs.items(), 2):
        if inner.resolve().is_relative_to(path.resolve()):
            raise WriteError(f"{other}: {inner} lies in what {option} writes; keep them apart.")


@contextmanager
def writing(place: Path, *more: type[Exception], size: int | None = None) -> Iterator[None]:
    """Failures of the block become one sentence that names the place.

    Args:
        place: what is written.
        more: what a library raises besides OSError.
        size: bytes that are to be written, where they are known.

    Raises:
        WriteError: it cannot be written.
    """
    kinds: tuple[type[Exception], ...] = (OSError, *more)
    try:
        yield
    except WriteError:
        raise
    except kinds as error:
        reason = first_line(error)
        problem = f"cannot be written ({reason})"
        if getattr(error, "errno", None) in FULL or any(word in reason for word in NO_SPACE):
            needed = reason if size is None else f"{size / 1e6:,.1f} MB are needed"
            problem = f"the disk is full ({needed})"
        raise WriteError(f"{place}: {problem}; make room, or name another place.") from error


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Writes beside `path` and then takes its place; makes the folder if it is not there."""
    write_together({path: content})


def write_together(contents: Mapping[Path, bytes | memoryview]) -> None:
    """Likewise several files, which take their places when all of them are written."""
    mark = f"{os.getpid()}.unfinished"
    unfinished = {path: path.with_name(f".{path.name}.{mark}") for path in contents}
    try:
        for path, content in contents.items():
            if path.is_dir():
                raise WriteError(f"{path} is a folder; name a file.")
            with writing(path, size=len(content)):
                path.parent.mkdir(parents=True, exist_ok=True)
                unfinished[path].write_bytes(content)
        for path, temporary in unfinished.items():
            with writing(path):
                temporary.replace(path)
    finally:
        for temporary in unfinished.values():
            if temporary.exists():
                temporary.unlink()


@contextmanager
def replacing(folder: Path) -> Iterator[Path]:
    """A new folder that takes the place of `folder` when the block ends without an error."""
    folder = folder.resolve()
    unfinished = folder.with_name(f".{folder.name}.unfinished")
    replaced = folder.with_name(f".{folder.name}.replaced")
    shutil.rmtree(unfinished, ignore_errors=True)  # of a run that was killed
    try:
        with writing(folder):
            unfinished.mkdir(parents=True)
            yield unfinished
            if folder.exists():
                shutil.rmtree(replaced, ignore_errors=True)
                folder.rename(replaced)
            unfinished.rename(folder)
    finally:
        if replaced.exists() and not folder.exists():
            replaced.rename(folder)
        shutil.rmtree(unfinished, ignore_errors=True)
        shutil.rmtree(replaced, ignore_errors=True)
