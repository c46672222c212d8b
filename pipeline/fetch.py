"""Brings the benchmark's data in and checks it on arrival.

    python -m pipeline.fetch --source PATH_OR_HUB --out data/external/senteval

The source is SentEval's `downstream` folder or its parent; an archive of it (.tar, .tar.gz, .tgz,
.tar.xz, .zip); or one on the hub: SimCSE's is
hf://datasets/princeton-nlp/datasets-for-simcse/senteval.tar. Only the folders of the fourteen tasks
are taken. The folder appears whole or not at all.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.data import hub
from pipeline.machine.errors import InputError
from pipeline.machine.stage import parser, run_stage
from pipeline.senteval.benchmark import FOLDERS
from pipeline.senteval.known import check
from pipeline.senteval.selection import select
from pipeline.senteval.sources import ARCHIVES, task_files

if TYPE_CHECKING:
    import argparse

    from pipeline.senteval.known import Label


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
    unfinished = out.with_name(f".{out.name}.{os.getpid()}.unfinished")
    try:
        _copy(path, source, unfinished)
        present, _ = select(unfinished, tuple(FOLDERS), FOLDERS)
        labels = {task: check(unfinished, task) for task in present}
        unfinished.replace(out)
    except InputError as error:
        # The reader knows the source, not the place where it is unpacked.
        raise InputError(str(error).replace(str(unfinished), source)) from error
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return labels


def main(argv: list[str] | None = None) -> int:
    """Command line; 0 if the folder was written."""
    return run_stage("fetch", _run, _parser().parse_args(argv))


def _run(options: argparse.Namespace) -> None:
    labels = fetch(options.source, options.out, options.revision)
    for task in FOLDERS:
        print(f"{task:8}{labels.get(task, 'missing')}")
    others = [task for task, label in labels.items() if label == "other"]
    if others:
        print(
            f"The files of {', '.join(others)} are not the published benchmark's: scores on them "
            "must not be put beside published ones."
        )
    print(f"Written to {options.out}.")


def _located(source: str, revision: str | None) -> Path:
    if "://" in source:
        try:
            return hub.fetch(source, revision)
        except InputError as error:
            raise InputError(f"source: {source} {error}.") from error
    if revision is not None:
        raise InputError(f"revision: {revision} was given, but {source} is not on the hub.")
    if not Path(source).exists():
        raise InputError(
            f"source: {source} does not exist; give a folder, an archive ({', '.join(ARCHIVES)}) "
            f"or {hub.FORM}."
        )
    return Path(source)


def _copy(path: Path, source: str, target: Path) -> None:
    with task_files(path, source) as files:
        for name, opener in files.items():
            copy = target / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            try:
                stream = opener()
            except KeyError:  # tarfile's word for a link to what the archive lacks
                stream = None
            if stream is None:
                raise InputError(f"source: {source} holds {name!r}, a link to no file in it.")
            with stream, copy.open("wb") as written:
                shutil.copyfileobj(stream, written)


def _parser() -> argparse.ArgumentParser:
    options = parser("pipeline.fetch", __doc__)
    options.add_argument("--source", required=True, help="folder, archive or file on the hub")
    options.add_argument("--out", type=Path, required=True, help="folder to write; must be new")
    options.add_argument("--revision", help="of a file on the hub; its main branch if not given")
    return options


if __name__ == "__main__":
    raise SystemExit(main())
