"""The version of an encoder: a hash of its folder.

Apart from encoder.py, since the service asks for versions and does without torch.
"""

import hashlib
from pathlib import Path


def folder_version(folder: Path) -> str:
    """A hash of the folder's file names and contents, 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{content}\n".encode())
    return digest.hexdigest()[:16]
