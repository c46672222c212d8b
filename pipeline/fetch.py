"""Brings the benchmark's data in and checks it on arrival.

    python -m pipeline.fetch --source PATH_OR_HUB --out data/external/senteval

The source is SentEval's `downstream` folder or its parent; an archive of it (.tar, .tar.gz, .tgz,
.tar.xz, .zip); or one on the hub: SimCSE's is
hf://datasets/princeton-nlp/datasets-for-simcse/senteval.tar. Only the folders of the fourteen tasks
are taken. The folder appears whole or not at all.
"""

import argparse
import gzip
import lzma
import shutil
import tarfile
import zipfile
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.data import hub
from pipeline.machine.errors import InputError
from pipeline.machine.stage import parser, run_stage
from pipeline.senteval.known import Label, check, known_files
from pipeline.senteval.tasks import FOLDERS, select

ARCHIVES = {".tar": "tar", ".tar.gz": "gztar", ".tgz": "gztar", ".tar.xz": "xztar", ".zip": "zip"}
PATHS = [file.path for files in known_files().values() for file in files]

_DAMAGES = (
    shutil.ReadError,
    tarfile.TarError,
    zipfile.BadZipFile,
    gzip.BadGzipFile,
    lzma.LZMAError,
    zlib.error,
    EOFError,
    KeyError,  # tarfile's word for a hard link to what the archive lacks
    NotImplementedError,  # zipfile's word for a compression that it does not know
)


def fetch(source: str, out: Path, revision: str | None = None) -> dict[str, Label]:
    """Copies the tasks of a source into a new folder.

    Args:
        source: A local folder or archive, or `hf://datasets/<owner>/<name>/<file>`.
        out: Must not be there yet, or be empty.
        revision: Of a file on the hub: commit, branch or tag; None is its main branch.

    Returns:
        Whether each task that came is the published benchmark.

    Raises:
        InputError: The source cannot be had or holds no whole task, or `out` is taken.
    """
    if out.exists() and not (out.is_dir() and not any(out.iterdir())):
        raise InputError(f"out: {out} is already there; remove it or name another folder.")
    path = _located(source, revision)
    out.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as scratch:
        unpacked, copied = Path(scratch) / "unpacked", Path(scratch) / "copied"
        if path.is_dir():
            inner = path / "downstream"
            root = _root(inner if inner.is_dir() else path, "", source)
        else:
            _unpack(path, source, unpacked)
            root = _root(unpacked, "**/", source)
        _copy(root, copied)
        try:
            present, _ = select(copied, tuple(FOLDERS))
            labels = {task: check(copied, task) for task in present}
        except InputError as error:
            # The reader knows the source, not the place where it is unpacked.
            raise InputError(str(error).replace(str(copied), source)) from error
        copied.replace(out)
    return labels


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the folder was written."""
    return run_stage("fetch", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    labels = fetch(options.source, options.out, options.revision)
    for task in FOLDERS:
        print(f"{task:8}{labels.get(task, 'missing')}")
    replaced = [task for task, label in labels.items() if label == "other"]
    if replaced:
        print(
            f"The files of {', '.join(replaced)} are not the published benchmark's: scores on them "
            "must not be put beside published ones."
        )
    print(f"Written to {options.out}.")


def _located(source: str, revision: str | None) -> Path:
    if "://" in source:
        return hub.fetch(f"source: {source}", source, revision)
    if revision is not None:
        raise InputError(f"revision: {revision} was given, but {source} is not on the hub.")
    if not Path(source).exists():
        raise InputError(
            f"source: {source} does not exist; give a folder, an archive ({', '.join(ARCHIVES)}) "
            f"or {hub.FORM}."
        )
    return Path(source)


def _unpack(path: Path, source: str, into: Path) -> None:
    kinds = [kind for ending, kind in ARCHIVES.items() if source.lower().endswith(ending)]
    if not kinds:
        allowed = ", ".join(ARCHIVES)
        raise InputError(f"source: {source} is no folder and no archive ending in {allowed}.")
    if not hasattr(tarfile, "data_filter"):
        raise InputError(
            f"source: {source} can be unpacked safely by Python 3.11.4 or newer only; unpack it "
            "yourself and give the folder."
        )
    into.mkdir()
    try:
        # Of a .zip file, shutil leaves out unsafe paths and makes no links: it takes no filter.
        shutil.unpack_archive(path, into, kinds[0], filter=None if kinds == ["zip"] else "data")
    except tarfile.FilterError as error:
        raise InputError(f"source: {source} holds {_unsafe(error)}.") from error
    except _DAMAGES as error:
        reason = str(error).partition("\n")[0].rstrip(".:")
        raise InputError(
            f"source: {source} is damaged or cut short ({reason}); fetch it again."
        ) from error
    except RuntimeError as error:  # zipfile's word for encrypted content
        raise InputError(
            f"source: {source} needs a password; give an archive without one."
        ) from error


def _unsafe(error: tarfile.FilterError) -> str:
    member = error.tarinfo
    if isinstance(error, tarfile.SpecialFileError):
        return f"{member.name!r}, a device; nothing was unpacked"
    link = f"a link to {member.linkname!r}, " if member.linkname else ""
    return (
        f"{member.name!r}, {link}which lies outside of the archive; "
        "it is not to be trusted and nothing was unpacked"
    )


def _root(folder: Path, depth: str, source: str) -> Path:
    """The one place that holds tasks: the folder itself or, with the depth `**/`, one below it."""
    roots = {file.parents[path.count("/")] for path in PATHS for file in folder.glob(depth + path)}
    if not roots:
        raise InputError(
            f"source: {source} holds none of the fourteen tasks; it must have files such as "
            f"{PATHS[0]} or MR/rt-polarity.pos, in SentEval's layout."
        )
    if len(roots) > 1:
        places = ", ".join(sorted(f"{root.relative_to(folder)}/" for root in roots))
        raise InputError(
            f"source: {source} holds tasks in several places ({places}); "
            "unpack it and give one of these folders."
        )
    return roots.pop()


def _copy(root: Path, target: Path) -> None:
    """What lies in the tasks' folders: files of scores and sentences, licences, whatever else."""
    for folder in {path.partition("/")[0] for path in PATHS}:  # MR, STS, SST, ...
        for file in (root / folder).rglob("*"):
            if file.is_file() and not file.name.startswith("._"):
                copy = target / file.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file, copy)


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.fetch", __doc__)
    options.add_argument("--source", required=True, help="folder, archive or file on the hub")
    options.add_argument("--out", type=Path, required=True, help="folder to write; must be new")
    options.add_argument("--revision", help="of a file on the hub; its main branch if not given")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
