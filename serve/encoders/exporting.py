"""Exports that are not there yet, made in a process of their own.

Exporting needs torch and much memory, which the serving process should never hold. Not here: the
export itself (serve/encoders/export.py).
"""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from pipeline.encoder.version import folder_version
from serve.encoders.exported import Exported, ExportError
from serve.installed import is_installed

log = logging.getLogger("serve.encoders.exporting")

_ROOT = Path(__file__).parents[2]
# How often it is looked whether an export is there, and whether the service stops.
_SECONDS = 0.2


def export_missing(
    encoders: Mapping[str, Path], place: Path, stop: threading.Event
) -> Iterator[tuple[str, str]]:
    """Export encoders that lack one, one after another in one process.

    Args:
        encoders: id -> folder.
        place: folder of exports.
        stop: ends a running export when it is set.

    Yields:
        Each id as soon as its export is there or cannot be made, with the reason why not.
    """
    missing = {}
    for name, folder in encoders.items():
        if _there(folder, place):
            yield name, ""
        else:
            missing[name] = folder
    if not missing:
        return
    if not is_installed("torch"):
        reason = (
            "it is not exported yet, and torch is not installed: run "
            f"python -m serve.encoders.export where it is, and bring {place} here."
        )
        yield from dict.fromkeys(missing, reason).items()
        return
    log.info("exporting %d encoders, once", len(missing))
    process = _start(missing.values(), place)
    lines = None  # what it says on standard error, when it has ended
    try:
        for name, folder in missing.items():
            exported = _export_of(folder, place)  # once, as it hashes the whole folder
            while lines is None and exported and not _is_whole(exported):
                lines = _wait(process, stop)
            if lines is None or _there(folder, place):
                yield name, ""
            else:
                yield name, _reason(folder, lines)
    finally:
        process.terminate()
        process.communicate()


def _start(encoders: Iterable[Path], place: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "serve.encoders.export", *map(str, encoders)]
    command += ["--out", str(place)]
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(  # noqa: S603 - our own module
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )


def _wait(process: "subprocess.Popen[str]", stop: threading.Event) -> list[str] | None:
    """What the process has said, or else its status, if it ends in a moment."""
    try:
        said = process.communicate(timeout=_SECONDS)[1]
    except subprocess.TimeoutExpired:
        if stop.is_set():
            process.terminate()
        return None
    return said.splitlines() or [f"status {process.returncode}"]


def _reason(encoder: Path, lines: list[str]) -> str:
    """Why an encoder was not exported."""
    return next(
        (line.partition(": ")[2] for line in lines if line.startswith(f"{encoder}: ")),
        f"its export failed: {lines[-1]}",
    )


def _there(encoder: Path, place: Path) -> bool:
    """Whether an encoder is exported; one whose folder is gone or unreadable needs no export."""
    exported = _export_of(encoder, place)
    return exported is None or _is_whole(exported) or not encoder.is_dir()


def _export_of(encoder: Path, place: Path) -> Path | None:
    """Where the export of an encoder as it is now lies; None if its folder cannot be read."""
    try:
        return place / folder_version(encoder)
    except OSError:
        return None


def _is_whole(exported: Path) -> bool:
    try:
        Exported.load(exported)
    except ExportError:
        return False
    return True
