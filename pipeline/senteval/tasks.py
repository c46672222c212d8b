"""The fourteen tasks: in which folder each lies, what reads it, and which of them a folder has."""

import difflib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pipeline.machine.errors import InputError
from pipeline.senteval.graded_pairs import read_table
from pipeline.senteval.known import SIMCSE, Label, check, check_folder
from pipeline.senteval.readers import (
    Examples,
    Pairs,
    read_binary,
    read_mrpc,
    read_sick,
    read_sst2,
    read_sts_benchmark,
    read_subsets,
    read_trec,
)

# SentEval's subsets; STS13 without SMT, whose sentences may not be redistributed.
_STS12 = ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews")
_STS13 = ("FNWN", "headlines", "OnWN")
_STS14 = ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news")
_STS15 = ("answers-forums", "answers-students", "belief", "headlines", "images")
_STS16 = ("answer-answer", "headlines", "plagiarism", "postediting", "question-question")

# Each task's folder in SentEval's `downstream`, and what reads it.
STS: dict[str, tuple[str, Callable[[Path], tuple[Pairs, ...]]]] = {
    "STS12": ("STS/STS12-en-test", partial(read_subsets, names=_STS12)),
    "STS13": ("STS/STS13-en-test", partial(read_subsets, names=_STS13)),
    "STS14": ("STS/STS14-en-test", partial(read_subsets, names=_STS14)),
    "STS15": ("STS/STS15-en-test", partial(read_subsets, names=_STS15)),
    "STS16": ("STS/STS16-en-test", partial(read_subsets, names=_STS16)),
    "STS-B": ("STS/STSBenchmark", lambda folder: (read_sts_benchmark(folder / "sts-test.csv"),)),
    "SICK-R": ("SICK", lambda folder: (read_sick(folder / "SICK_test_annotated.txt"),)),
}
TRANSFER: dict[str, tuple[str, Callable[[Path], dict[str, Examples]]]] = {
    "MR": ("MR", partial(read_binary, positive="rt-polarity.pos", negative="rt-polarity.neg")),
    "CR": ("CR", partial(read_binary, positive="custrev.pos", negative="custrev.neg")),
    "SUBJ": ("SUBJ", partial(read_binary, positive="subj.objective", negative="subj.subjective")),
    "MPQA": ("MPQA", partial(read_binary, positive="mpqa.pos", negative="mpqa.neg")),
    "SST2": ("SST/binary", read_sst2),
    "TREC": ("TREC", read_trec),
    "MRPC": ("MRPC", read_mrpc),
}
STS_TASKS, TRANSFER_TASKS = tuple(STS), tuple(TRANSFER)
HALVES = {"sts": STS_TASKS, "transfer": TRANSFER_TASKS}
FOLDERS = {task: folder for task, (folder, _) in (STS | TRANSFER).items()}


@dataclass(frozen=True)
class StsData:
    """A task's scored pairs."""

    task: str
    label: Label  # whether the files are the published benchmark
    subsets: tuple[Pairs, ...]  # STS-B and SICK-R have one, their test split


@dataclass(frozen=True)
class TransferData:
    """A task's examples."""

    task: str
    label: Label  # whether the files are the published benchmark
    parts: dict[str, Examples]  # `all`; or `train` and `test`; or `train`, `dev` and `test`


@dataclass(frozen=True)
class Tasks:
    """Data of the tasks that can run, and the names of those that were asked for in vain."""

    sts: tuple[StsData, ...]
    transfer: tuple[TransferData, ...]
    missing: tuple[str, ...]


def read(data: Path, tasks: str | Sequence[str]) -> Tasks:
    """Checks and reads all files, so that bad data fails before anything is encoded.

    Args:
        data: SentEval's `downstream` folder, or a table of graded pairs: one task, `sts`, that has
            the name of the file.
        tasks: Names of tasks, `sts` and `transfer`, in a list or with commas between.

    Raises:
        InputError: No task has data, or the data of one is incomplete or malformed.
    """
    names = [name.strip() for name in tasks.split(",")] if isinstance(tasks, str) else tasks
    if data.is_file():
        if set(names) != {"sts"}:
            raise InputError(
                f"tasks: {data} is a table of graded pairs, on which only sts can be measured, got "
                f"{', '.join(names)}; give SentEval's folder for other tasks."
            )
        return Tasks((StsData(data.stem, "other", read_table(data)),), (), ())
    present, missing = select(data, names)
    return Tasks(
        sts=tuple(read_sts(data, task) for task in present if task in STS),
        transfer=tuple(read_transfer(data, task) for task in present if task in TRANSFER),
        missing=missing,
    )


def read_sts(data: Path, task: str) -> StsData:
    """Checks the files of a task of `STS` in SentEval's `downstream` folder and reads them."""
    folder, reader = STS[task]
    return StsData(task, check(data, task), reader(data / folder))


def read_transfer(data: Path, task: str) -> TransferData:
    """Checks the files of a task of `TRANSFER` in SentEval's folder and reads them."""
    folder, reader = TRANSFER[task]
    return TransferData(task, check(data, task), reader(data / folder))


def select(data: Path, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tasks with and without a folder, each once and in the order in which tasks are reported.

    Raises:
        InputError: A name is unknown, or none of the tasks is there.
    """
    for name in names:
        if name not in HALVES and name not in FOLDERS:
            raise InputError(_unknown(name))
    named = {task for name in names for task in HALVES.get(name, (name,))}
    tasks = [task for task in FOLDERS if task in named]
    check_folder(data)
    present = tuple(task for task in tasks if (data / FOLDERS[task]).is_dir())
    if not present:
        such = ", ".join(f"{FOLDERS[task]}/" for task in tasks[:2])
        raise InputError(
            f"data: {data} holds none of {', '.join(tasks)}; "
            f"give a folder with {such}, ... in SentEval's layout, or "
            f"bring one in with python -m pipeline.fetch --source {SIMCSE}."
        )
    return present, tuple(task for task in tasks if task not in present)


def _unknown(name: str) -> str:
    names = [*HALVES, *FOLDERS]
    near = difflib.get_close_matches
    close = near(name, names, n=1) or near(name.upper(), names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"tasks: unknown task {name!r}{hint} Known: {', '.join(names)}."
