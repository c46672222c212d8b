"""Which pairs make up each of the seven tasks of semantic textual similarity. No scoring here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipeline.senteval.known import Label, check
from pipeline.senteval.sts_files import (
    Pairs,
    read_gold_and_input,
    read_sick,
    read_sts_benchmark,
)

if TYPE_CHECKING:
    from pathlib import Path

# SentEval's subsets; STS13 without SMT, whose sentences may not be redistributed.
SUBSETS = {
    "STS12": ("MSRpar", "MSRvid", "SMTeuroparl", "surprise.OnWN", "surprise.SMTnews"),
    "STS13": ("FNWN", "headlines", "OnWN"),
    "STS14": ("deft-forum", "deft-news", "headlines", "images", "OnWN", "tweet-news"),
    "STS15": ("answers-forums", "answers-students", "belief", "headlines", "images"),
    "STS16": ("answer-answer", "headlines", "plagiarism", "postediting", "question-question"),
}
# Each task's folder in `downstream`.
STS_FOLDERS = {
    **{task: f"STS/{task}-en-test" for task in SUBSETS},
    "STS-B": "STS/STSBenchmark",
    "SICK-R": "SICK",
}
STS_TASKS = tuple(STS_FOLDERS)


@dataclass(frozen=True)
class StsData:
    """A task's scored pairs.

    Attributes:
        task: Its name.
        label: Whether the files are the published benchmark.
        subsets: STS-B and SICK-R have one, their test split.
    """

    task: str
    label: Label
    subsets: tuple[Pairs, ...]


def read_sts(data: Path, task: str) -> StsData:
    """Checks a task's files and reads them.

    Args:
        data: The folder that holds STS/ and its like: SentEval's `downstream`.
        task: One of `STS_TASKS`.

    Raises:
        InputError: A file is missing, cut short or malformed.
    """
    label = check(data, task)
    folder = data / STS_FOLDERS[task]
    if task == "STS-B":
        subsets: tuple[Pairs, ...] = (read_sts_benchmark(data, "test"),)
    elif task == "SICK-R":
        subsets = (read_sick(folder / "SICK_test_annotated.txt"),)
    else:
        subsets = tuple(read_gold_and_input(folder, subset) for subset in SUBSETS[task])
    return StsData(task, label, subsets)
