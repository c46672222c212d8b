"""Exports that are not there yet, made in a process of their own.

Exporting needs torch and much memory, which the serving process should never hold. Not here: the
export itself (serve/encoders/export.py).
"""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

from pipeline.encoder.version import folder_version
from serve.encoders.exported import Exported, ExportError
from serve.installed import is_installed

log = logging.getLogger("serve.encoders.exporting")

_ROOT = Path(__file__).parents[2]
# How often a running export looks whether the service stops.
_SECONDS = 0.5


def export_missing(
    encoders: Iterable[Path], place: Path, int8_data: str | None, stop: threading.Event
) -> dict[Path, str]:
    """Export encoders that lack one, all in one go.

    Args:
        encoders: their folders.
        place: folder of exports.
        int8_data: table of graded pairs, if 8-bit graphs are wanted too.
        stop: ends a running export when it is set.

    Returns:
        Why not, for each encoder that is not exported now for a reason that is known.
    """
    missing = [one for one in encoders if not _there(one, place, int8=int8_data is not None)]
    if not missing:
        return {}
    if not is_installed("torch"):
        reason = (
            "it is not exported yet, and torch is not installed: run "
            f"python -m serve.encoders.export where it is, and bring {place} here."
        )
        return dict.fromkeys(missing, reason)
    log.info("exporting %d encoders, once", len(missing))
    more = [] if int8_data is None else ["--int8-data", int8_data]
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    process = subprocess.Popen(  # noqa: S603 - our own module
        [
            sys.executable,
            "-m",
            "serve.encoders.export",
            *map(str, missing),
            "--out",
            str(place),
            *more,
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    )
    lines = _wait(process, stop).splitlines()
    failed = [one for one in missing if not _there(one, place, int8=int8_data is not None)]
    return {
        folder: next(
            (line.partition(": ")[2] for line in lines if line.startswith(f"{folder}: ")),
            "its export failed: " + (lines[-1] if lines else f"status {process.returncode}"),
        )
        for folder in failed
    }


def _there(encoder: Path, place: Path, *, int8: bool) -> bool:
    """Whether an encoder is exported; one whose folder cannot be read needs no export."""
    try:
        exported = place / folder_version(encoder)
    except OSError:
        return True
    try:
        Exported.load(exported)
    except ExportError:
        return False
    return not int8 or (exported / "int8.json").is_file()


def _wait(process: "subprocess.Popen[str]", stop: threading.Event) -> str:
    """What the process says on standard error, when it has ended."""
    while True:
        try:
            return process.communicate(timeout=_SECONDS)[1]
        except subprocess.TimeoutExpired:
            if stop.is_set():
                process.terminate()
