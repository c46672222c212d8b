"""Exports that are not there yet, made in a process of their own.

Exporting needs torch and much memory, which the serving process should never hold. Not here: the
export itself (serve/encoders/export.py).
"""

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.encoder.version import folder_version
from serve.encoders.exported import Exported, ExportError
from serve.installed import is_installed

log = logging.getLogger("serve.encoders.exporting")

_ROOT = Path(__file__).parents[2]


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
    missing = {name: folder for name, folder in encoders.items() if not _there(folder, place)}
    yield from ((name, "") for name in encoders if name not in missing)
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
    command = [sys.executable, "-m", "serve.encoders.export", *map(str, missing.values())]
    paths = [str(_ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with subprocess.Popen(  # noqa: S603 - our own module
        [*command, "--out", str(place)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)},
    ) as process:

        def end() -> None:
            stop.wait()
            process.terminate()

        threading.Thread(target=end, name="export", daemon=True).start()
        try:
            yield from _outcomes(process, missing)
        finally:
            process.terminate()


def _outcomes(
    process: "subprocess.Popen[str]", encoders: Mapping[str, Path]
) -> Iterator[tuple[str, str]]:
    """Each id and why it was not exported, as the command says of one after the other."""
    for name, folder in encoders.items():
        last = outcome = ""
        for line in process.stdout or ():
            last = line.strip()
            if line.startswith(f"{folder}: "):
                outcome = last.removeprefix(f"{folder}: ")
                break
        if not outcome:  # it has ended early
            yield name, f"its export failed: {last or f'status {process.wait()}'}"
        else:
            yield name, "" if (Path(outcome) / "export.json").is_file() else outcome


def _there(encoder: Path, place: Path) -> bool:
    """Whether an encoder is exported; one whose folder is gone or unreadable needs no export."""
    try:
        Exported.load(place / folder_version(encoder))
    except ExportError:
        return not encoder.is_dir()
    except OSError:
        return True
    return True
