"""Whether a folder holds the published benchmark: files, line counts and checksums of its 14 sets.

`known.tsv` holds the figures. Other data is not wrong, it is only not the benchmark; a published
file that was cut short is wrong.
"""

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pipeline.machine.errors import InputError

Label = Literal["benchmark", "other"]

HEAD_LINES = 8  # a published file is recognized by them when it is not whole
SIMCSE = "hf://datasets/princeton-nlp/datasets-for-simcse/senteval.tar"
WHERE = (
    "get it with SentEval's get_transfer_data.bash or from SimCSE's SentEval archive "
    f"(python -m pipeline.fetch --source {SIMCSE})"
)


@dataclass(frozen=True)
class KnownFile:
    """A published file.

    Attributes:
        path: Relative to SentEval's `downstream` folder.
        needed: Whether the task's score needs it; else it is checked only where it is present.
        lines: Ends of lines in it; a header counts.
        sha256: Of the whole file.
        head: SHA-256 of the first `HEAD_LINES` lines, or `-` if they are empty.
    """

    path: str
    needed: bool
    lines: int
    sha256: str
    head: str


@cache
def known_files() -> dict[str, tuple[KnownFile, ...]]:
    """The published files of each task, in the order in which tasks are reported."""
    table = Path(__file__).with_name("known.tsv").read_text(encoding="ascii")
    files: dict[str, tuple[KnownFile, ...]] = {}
    for line in table.splitlines()[1:]:
        task, needed, path, lines, sha256, head = line.split("\t")
        file = KnownFile(path, needed == "yes", int(lines), sha256, head)
        files[task] = (*files.get(task, ()), file)
    return files


def check_folder(data: Path) -> None:
    """Refuses what is not SentEval's `downstream` folder, and names that where it lies below.

    Raises:
        InputError: `data` is no folder, or the tasks' folders are in `downstream` below it.
    """
    inner = data / "downstream"
    if not data.is_dir():
        raise InputError(f"data: {data} is not a folder; give SentEval's `downstream` folder.")
    if not (data / "STS").is_dir() and (inner / "STS").is_dir():
        raise InputError(f"data: {data} holds no STS/, but {inner} does; give {inner}.")


def check(data: Path, task: str) -> Label:
    """Whether every needed file of a task in SentEval's `downstream` folder is the published one.

    Raises:
        InputError: A needed file is missing or empty, or a published one was cut short.
    """
    same = [_is_published(data / file.path, file) for file in known_files()[task]]
    return "benchmark" if all(same) else "other"


def _is_published(path: Path, file: KnownFile) -> bool:
    if not path.is_file():
        if not file.needed:
            return True
        raise InputError(
            f"{path} is missing; the published file has {file.lines:,} lines: {WHERE}."
        )
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() == file.sha256:
        return True
    lines = content.count(b"\n")
    if not content or (lines < file.lines and _head(content) == file.head):
        raise InputError(
            f"{path} was cut short: it has {lines:,} lines, the published file {file.lines:,}; "
            f"{WHERE}."
        )
    return not file.needed


def _head(content: bytes) -> str:
    lines = content.split(b"\n", HEAD_LINES)[:HEAD_LINES]
    return hashlib.sha256(b"\n".join(lines) + b"\n").hexdigest()
