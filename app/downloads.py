"""Files that people download: in a folder that goes with the process, each for a minute.

Gradio copies a file to a place of its own as soon as it is offered, and deletes that one later.
"""

import tempfile
import time
from pathlib import Path

_FOLDER = tempfile.TemporaryDirectory(prefix="triad-downloads-")
_SECONDS = 60.0


def save(content: str) -> Path:
    """Write a CSV file, in UTF-8 as spreadsheets know it; files of earlier minutes are deleted."""
    folder = Path(_FOLDER.name)
    for old in folder.iterdir():
        if time.time() - old.stat().st_mtime > _SECONDS:
            old.unlink(missing_ok=True)
    with tempfile.NamedTemporaryFile(
        "w",
        dir=folder,
        prefix="triad-",
        suffix=".csv",
        encoding="utf-8-sig",
        newline="",
        delete=False,
    ) as file:
        file.write(content)
    return Path(file.name)
