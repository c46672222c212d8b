"""Both halves of the benchmark, for any model.

How a task is scored stands in `sts` and `transfer`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import numpy as np
from tqdm import tqdm

from pipeline.senteval.classifier import SETTINGS, SettingName
from pipeline.senteval.similarity import Encode
from pipeline.senteval.sts import TaskScore, score_sts
from pipeline.senteval.tasks import StsData, Tasks, read
from pipeline.senteval.transfer import TransferScore, score_transfer

Score = TypeVar("Score", TaskScore, TransferScore)


@dataclass(frozen=True)
class Half(Generic[Score]):
    """Scores of the tasks that ran, in the order in which they are reported."""

    scores: tuple[Score, ...]

    @property
    def average(self) -> float:
        """Of the tasks that ran; published averages are over all seven."""
        if not self.scores:
            raise ValueError(
                "average: no task ran; ask for sts or transfer, or one of their tasks."
            )
        return float(np.mean([score.score for score in self.scores]))

    def __getitem__(self, task: str) -> Score:
        return {score.task: score for score in self.scores}[task]


@dataclass(frozen=True)
class Result:
    """Both halves; one that was not asked for, or has no data, holds no scores."""

    sts: Half[TaskScore]  # correlations x 100
    transfer: Half[TransferScore]  # accuracies in percent
    setting: SettingName  # with which transfer tasks were scored
    missing: tuple[str, ...] = ()  # tasks that were asked for and have no data

    @property
    def scores(self) -> tuple[TaskScore | TransferScore, ...]:
        """Of all tasks that ran."""
        return (*self.sts.scores, *self.transfer.scores)


def evaluate(
    encode: Encode,
    data: Path | str,
    tasks: str | Sequence[str] = "sts,transfer",
    setting: SettingName = "test",
) -> Result:
    """Measures any model on the tasks whose data is there.

        from sentence_transformers import SentenceTransformer
        result = evaluate(SentenceTransformer("folder").encode, "SentEval/data/downstream")
        print(result.sts.average, result.transfer.average, result.transfer["MR"].accuracy)

    Args:
        encode: A list of N sentences -> an (N, D) array.
        data: The folder that holds STS/ and its like: SentEval's `downstream`; or a table of graded
            pairs, a .csv or .tsv file with the columns sentence1, sentence2 and score.
        tasks: `sts`, `transfer` and names of tasks, in a list or with commas between; a table has
            `sts` only.
        setting: Of the transfer tasks: `test` is slower, and what papers report; or `fast`.

    Raises:
        InputError: No task has data, the data of one is incomplete or malformed, or embeddings are
            useless: not finite, zero or all alike.
        ValueError: The setting is unknown.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting: unknown setting {setting!r}; known: {', '.join(SETTINGS)}.")
    return measure(encode, read(Path(data), tasks), setting)


def measure(encode: Encode, tasks: Tasks, setting: SettingName) -> Result:
    """Scores what `read` gave, and shows the progress on a terminal."""
    sts, transfer = [], []
    with tqdm([*tasks.sts, *tasks.transfer], unit="task", disable=None) as progress:
        for task in progress:
            progress.set_description(task.task)
            if isinstance(task, StsData):
                sts.append(score_sts(encode, task))
            else:
                transfer.append(score_transfer(encode, task, SETTINGS[setting]))
    return Result(Half(tuple(sts)), Half(tuple(transfer)), setting, tasks.missing)
