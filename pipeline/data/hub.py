"""Single files of data sets on the hub, named `hf://datasets/<owner>/<name>/<file>`.

They are fetched by the library `datasets`, which is not needed for anything local. Nothing is
opened or read here.
"""

from __future__ import annotations

import re
from pathlib import Path

from pipeline.machine.errors import InputError

FORM = "hf://datasets/<owner>/<name>/<file>"
INSTALL = "install it with: pip install -e '.[pipeline]'"

_FILE = re.compile(r"hf://datasets/(?P<name>[^/@]+/[^/@]+)/(?P<file>.+)")


def is_file(source: str) -> bool:
    """Whether this is the name of a file on the hub."""
    return _FILE.fullmatch(source) is not None


def fetch(source: str, revision: str | None) -> Path:
    """Path of a file, downloaded or cached; as always in `datasets`, a local folder wins.

    Args:
        source: A name as in `FORM`.
        revision: Commit, branch or tag; None is the main branch.

    Raises:
        InputError: The name is none, `datasets` is not installed, or the hub gives no such file;
            the message goes on after the file's name and has no full stop.
    """
    match = _FILE.fullmatch(source)
    if match is None:
        raise InputError(f"is no file on the hub; name one as {FORM}")
    try:
        import datasets  # noqa: PLC0415 - GPU images without it train on local files
    except ImportError as error:
        raise InputError(f"needs the library `datasets`; {INSTALL}") from error
    name, file = match.group("name", "file")
    try:
        builder = datasets.load_dataset_builder(name, data_files=file, revision=revision)
        (url,) = builder.config.data_files["train"]
        return Path(datasets.DownloadManager().download(url))
    except Exception as error:
        at = "" if revision is None else f" at revision {revision!r}"
        what = f"cannot be fetched{at} ({type(error).__name__}: {reason(error)})"
        todo = "check name and connection, or download the file and give its local path"
        raise InputError(f"{what}; {todo}") from error


def reason(error: Exception) -> str:
    """The first line of a library's error, short."""
    if type(error) is FileNotFoundError:  # `datasets` lists all suffixes it knows: two pages
        return "no such file there, or no access to it"
    return (str(error).splitlines() or [""])[0].rstrip(".")[:200]
