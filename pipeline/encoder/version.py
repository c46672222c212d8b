"""The version of an encoder: a hash of its folder, in which nobody else may write.

Apart from encoder.py, since the service asks for versions and does without torch.
"""

import hashlib
from pathlib import Path

from pipeline.machine.errors import InputError


def folder_version(folder: Path) -> str:
    """A hash of the folder's file names and contents, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]


def check_outside(folder: Path, option: str, path: Path) -> None:
    """Refuse a path of the command line that lies in an encoder's folder.

    Raises:
        InputError: it does.
    """
    if path.resolve().is_relative_to(folder.resolve()):
        raise InputError(
            f"{option}: {path} lies in the encoder's folder, whose version is the hash of what it "
            "holds; write elsewhere."
        )
