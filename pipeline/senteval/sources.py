"""The files of the fourteen tasks in a folder or an archive, without unpacking it.

An archive is read member by member, so that nothing in it can reach a place outside; one that
tries (an absolute path, `..`, a link that leaves it) is refused whole. Nothing is written here, and
no task's content is checked.
"""

from __future__ import annotations

import gzip
import io
import lzma
import posixpath
import stat
import tarfile
import zipfile
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import PurePosixPath, PureWindowsPath
from typing import IO, TYPE_CHECKING

from pipeline.machine.errors import InputError
from pipeline.senteval.known import known_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Files = dict[str, Callable[[], IO[bytes] | None]]  # what opens each, by path in the layout

TAR = (".tar", ".tar.gz", ".tgz", ".tar.xz")
ARCHIVES = (*TAR, ".zip")
_PATHS = tuple(file.path for files in known_files().values() for file in files)
_TOP = tuple(dict.fromkeys(path.partition("/")[0] for path in _PATHS))  # MR, STS, SST, ...

_DAMAGES = (
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    NotImplementedError,  # zipfile's word for a compression that it does not know
)


@contextmanager
def task_files(path: Path, source: str) -> Iterator[Files]:
    """What lies in the tasks' folders: files of scores and sentences, licences, whatever else.

    Args:
        path: A folder or an archive.
        source: Its name for messages; its ending tells the kind of an archive.

    Raises:
        InputError: It holds no task, or it is no archive, damaged or unsafe.
    """
    if path.is_dir():
        yield _chosen(_folder(path), source)
        return
    try:
        if source.lower().endswith(TAR):
            with tarfile.open(path) as tar:
                yield _chosen(_tar(tar, source), source)
        elif source.lower().endswith(".zip"):
            with zipfile.ZipFile(path) as archive:
                yield _chosen(_zip(archive, source), source)
        else:
            allowed = ", ".join(ARCHIVES)
            raise InputError(f"source: {source} is no folder and no archive ending in {allowed}.")
    except _DAMAGES as error:
        reason = str(error).partition("\n")[0].rstrip(".:")  # tarfile lists all that it tried
        raise InputError(
            f"source: {source} is damaged or cut short ({reason}); fetch it again."
        ) from error


def _folder(path: Path) -> Files:
    inner = path / "downstream"
    root = inner if inner.is_dir() else path
    below = (file for name in _TOP for file in sorted((root / name).rglob("*")))
    return {
        file.relative_to(root).as_posix(): partial(io.FileIO, file)
        for file in below
        if file.is_file()
    }


def _tar(archive: tarfile.TarFile, source: str) -> Files:
    files: Files = {}
    for member in archive:
        name = _inside(member.name, source)
        if member.issym():
            _inside(posixpath.join(posixpath.dirname(name), member.linkname), source, link=name)
        elif member.islnk():
            _inside(member.linkname, source, link=name)
        elif not member.isfile() and not member.isdir():
            raise InputError(f"source: {source} holds {name!r}, a device; nothing was unpacked.")
        if not member.isdir():
            files[name] = partial(archive.extractfile, member)
    return files


def _zip(archive: zipfile.ZipFile, source: str) -> Files:
    files: Files = {}
    for member in archive.infolist():
        name = _inside(member.filename, source)
        if stat.S_ISLNK(member.external_attr >> 16):
            raise InputError(f"source: {source} holds {name!r}, a link; nothing was unpacked.")
        if member.flag_bits & 1:
            raise InputError(f"source: {source} needs a password; give an archive without one.")
        if not member.is_dir():
            files[name] = partial(archive.open, member)
    return files


def _inside(name: str, source: str, link: str | None = None) -> str:
    """The path without `.` and, of links, without `..`, if it stays in the archive."""
    plain = posixpath.normpath(name)
    climbs = ".." in PurePosixPath(plain if link else name.replace("\\", "/")).parts
    if climbs or PurePosixPath(name).is_absolute() or PureWindowsPath(name).anchor:
        what = f"{name!r}" if link is None else f"{link!r}, a link to {name!r}"
        raise InputError(
            f"source: {source} holds {what}, which lies outside of the archive; "
            "it is not to be trusted and nothing was unpacked."
        )
    return plain


def _chosen(files: Files, source: str) -> Files:
    """Those in the tasks' folders, by their path there; archives hold them at any depth."""
    roots = {
        name.removesuffix(path)
        for name in files
        for path in _PATHS
        if name == path or name.endswith(f"/{path}")
    }
    if not roots:
        raise InputError(
            f"source: {source} holds none of the fourteen tasks; it must have files such as "
            f"{_PATHS[0]} or MR/rt-polarity.pos, in SentEval's layout."
        )
    if len(roots) > 1:
        raise InputError(
            f"source: {source} holds tasks in several places ({', '.join(sorted(roots))}); "
            "unpack it and give one of these folders."
        )
    (root,) = roots
    starts = tuple(f"{root}{folder}/" for folder in _TOP)
    return {
        name.removeprefix(root): opener
        for name, opener in files.items()
        if name.startswith(starts) and not PurePosixPath(name).name.startswith("._")
    }
