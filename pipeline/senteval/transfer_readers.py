r"""Readers of the seven transfer tasks in SentEval's file layout; labelled sentences come out.

As SentEval reads them: MR, CR, SUBJ, MPQA and TREC in latin-1, SST2 and MRPC in UTF-8. Sentences
are tokens between white space; empty ones stay, as ".". Each part is sorted by number of tokens and
label; where these are equal, the order of the files counts. Lines end at "\n" only. Nothing is
encoded or scored here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pipeline.machine.errors import InputError
from pipeline.senteval.known import Label, check

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
# The files of the two classes, 1 and 0.
_BINARY = {
    "MR": ("rt-polarity.pos", "rt-polarity.neg"),
    "CR": ("custrev.pos", "custrev.neg"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.pos", "mpqa.neg"),
}

Example = tuple[tuple[list[str], ...], int]  # tokens of one or two sentences, label


@dataclass(frozen=True)
class Examples:
    """Sentences, or pairs of them, with their labels.

    Attributes:
        sentences: One tuple of N sentences, or two of which the k-th make a pair.
        labels: (N,) classes counted from 0.
    """

    sentences: tuple[tuple[str, ...], ...]
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True)
class TransferData:
    """A task's examples.

    Attributes:
        task: Its name.
        label: Whether the files are the published benchmark.
        parts: `all`; or `train` and `test`; or `train`, `dev` and `test`.
    """

    task: str
    label: Label
    parts: dict[str, Examples]


def read_transfer(data: Path, task: str) -> TransferData:
    """Checks a task's files and reads them.

    Args:
        data: The folder that holds STS/ and its like: SentEval's `downstream`.
        task: One of `TRANSFER_TASKS`.

    Raises:
        InputError: A file is missing, cut short or malformed.
    """
    label = check(data, task)
    folder = data / TRANSFER_FOLDERS[task]
    return TransferData(task, label, _READERS[task](folder))


def _read_binary(folder: Path) -> dict[str, Examples]:
    positive, negative = (
        [(line.split(),) for _, line in _lines(folder / name, "latin-1")]
        for name in _BINARY[folder.name]
    )
    examples = [(sample, 1) for sample in positive] + [(sample, 0) for sample in negative]
    return {"all": _ordered(examples)}


def _read_trec(folder: Path) -> dict[str, Examples]:
    files = {"train": "train_5500.label", "test": "TREC_10.label"}
    return {part: _ordered(_trec_lines(folder / name)) for part, name in files.items()}


def _trec_lines(path: Path) -> Iterator[Example]:
    """Lines such as `LOC:city What city ...`: coarse class, fine class, question."""
    for number, line in _lines(path, "latin-1"):
        classes, _, question = line.strip().partition(" ")
        coarse = classes.partition(":")[0]
        if coarse not in TREC_CLASSES or ":" not in classes:
            raise InputError(
                f"{path}, line {number}: {classes[:20]!r} is not a class; "
                f"it must start with one of {', '.join(TREC_CLASSES)} and a colon."
            )
        yield (question.split(),), TREC_CLASSES.index(coarse)


def _read_sst2(folder: Path) -> dict[str, Examples]:
    return {
        part: _ordered(_sst2_lines(folder / f"sentiment-{part}"))
        for part in ("train", "dev", "test")
    }


def _sst2_lines(path: Path) -> Iterator[Example]:
    for number, line in _lines(path, "utf-8"):
        sentence, label = _columns(line, 2, path, number)
        yield (sentence.split(),), _label(label, path, number)


def _read_mrpc(folder: Path) -> dict[str, Examples]:
    return {
        part: _ordered(_mrpc_lines(folder / f"msr_paraphrase_{part}.txt"))
        for part in ("train", "test")
    }


def _mrpc_lines(path: Path) -> Iterator[Example]:
    """A header, then label, two numbers and two sentences, in which quotes are text."""
    for number, line in list(_lines(path, "utf-8"))[1:]:
        label, _, _, first, second = _columns(line, 5, path, number)
        yield (first.split(), second.split()), _label(label, path, number)


_READERS: dict[str, Callable[[Path], dict[str, Examples]]] = {
    **dict.fromkeys(_BINARY, _read_binary),
    "SST2": _read_sst2,
    "TREC": _read_trec,
    "MRPC": _read_mrpc,
}
TRANSFER_TASKS = tuple(_READERS)
# Each task's folder in `downstream`.
TRANSFER_FOLDERS = {task: "SST/binary" if task == "SST2" else task for task in TRANSFER_TASKS}


def _ordered(examples: Iterable[Example]) -> Examples:
    """Sorted as SentEval does before it makes folds: by the numbers of tokens, then the label."""
    ordered = sorted(examples, key=lambda one: ([len(tokens) for tokens in one[0]], one[1]))
    sentences = zip(*(sample for sample, _ in ordered), strict=True)
    return Examples(
        sentences=tuple(tuple(" ".join(tokens or ["."]) for tokens in side) for side in sentences),
        labels=np.array([label for _, label in ordered], dtype=np.int64),
    )


def _lines(path: Path, encoding: str) -> Iterator[tuple[int, str]]:
    try:
        text = path.read_bytes().decode(encoding)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: byte {error.start} is not UTF-8; restore the file as SentEval has it."
        ) from None
    yield from enumerate(text.removesuffix("\n").split("\n"), start=1)


def _columns(line: str, count: int, path: Path, number: int) -> list[str]:
    columns = line.strip().split("\t")
    if len(columns) < count:
        raise InputError(
            f"{path}, line {number}: {len(columns)} tab-separated columns, expected {count}; "
            "restore the file as SentEval has it."
        )
    return columns[:count]


def _label(text: str, path: Path, number: int) -> int:
    if text not in {"0", "1"}:
        raise InputError(f"{path}, line {number}: the label {text!r} must be 0 or 1.")
    return int(text)
