"""Both halves of the benchmark: tasks are chosen by name, read, and then scored.

How a task is scored stands in `sts` and `transfer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, get_args

from pipeline.machine.errors import InputError
from pipeline.senteval.classifier import SETTINGS, ClassifierName, Method, SettingName
from pipeline.senteval.graded_pairs import read_table
from pipeline.senteval.selection import select
from pipeline.senteval.sts import StsResult, score_sts
from pipeline.senteval.sts_tasks import STS_FOLDERS, STS_TASKS, StsData, read_sts
from pipeline.senteval.transfer import TransferResult, score_transfer
from pipeline.senteval.transfer_readers import (
    TRANSFER_FOLDERS,
    TRANSFER_TASKS,
    TransferData,
    read_transfer,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipeline.senteval.similarity import Encode
    from pipeline.senteval.sts import TaskScore
    from pipeline.senteval.transfer import TransferScore

FOLDERS = STS_FOLDERS | TRANSFER_FOLDERS
HALVES = {"sts": STS_TASKS, "transfer": TRANSFER_TASKS}


@dataclass(frozen=True)
class Tasks:
    """Data of the tasks that can run, and the names of those that were asked for in vain."""

    sts: tuple[StsData, ...]
    transfer: tuple[TransferData, ...]
    missing: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sts) + len(self.transfer)


@dataclass(frozen=True)
class Result:
    """Both halves; one that was not asked for, or has no data, holds no scores.

    Attributes:
        sts: Correlations x 100.
        transfer: Accuracies in percent.
        setting: With which transfer tasks were scored.
        classifier: Likewise.
    """

    sts: StsResult
    transfer: TransferResult
    setting: SettingName
    classifier: ClassifierName

    @property
    def scores(self) -> tuple[TaskScore | TransferScore, ...]:
        """Of all tasks that ran."""
        return (*self.sts.scores, *self.transfer.scores)

    @property
    def missing(self) -> tuple[str, ...]:
        """Tasks that were asked for and have no data."""
        return self.sts.missing + self.transfer.missing


def evaluate(
    encode: Encode,
    data: Path | str,
    tasks: str | Sequence[str] = "sts,transfer",
    setting: SettingName = "test",
    classifier: ClassifierName = "mlp",
) -> Result:
    """Measures any model on the tasks whose data is there.

        from sentence_transformers import SentenceTransformer
        result = evaluate(SentenceTransformer("folder").encode, "SentEval/data/downstream")
        print(result.sts.average, result.transfer.average, result.transfer["MR"].accuracy)

    Args:
        encode: Gives a (number of sentences, D) array for a list of sentences.
        data: The folder that holds STS/ and its like: SentEval's `downstream`; or a table of graded
            pairs, a .csv or .tsv file with the columns sentence1, sentence2 and score.
        tasks: `sts`, `transfer` and names of tasks, in a list or with commas between; a table has
            `sts` only.
        setting: Of the transfer tasks: `test` is slower, and what papers report; or `fast`.
        classifier: Of the transfer tasks: `mlp`, as papers report, or scikit-learn's `logistic`.

    Raises:
        InputError: No task has data, the data of one is incomplete or malformed, or embeddings are
            useless: not finite, zero or all alike.
        ValueError: Setting or classifier is unknown.
    """
    _check_method(setting, classifier)
    return measure(encode, read(Path(data), tasks), setting, classifier)


def read(data: Path, tasks: str | Sequence[str]) -> Tasks:
    """Checks and reads all files, so that bad data fails before anything is encoded.

    A table of graded pairs is one task of the name of its file.

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
    present, missing = select(data, names, FOLDERS, HALVES)
    return Tasks(
        sts=tuple(read_sts(data, task) for task in present if task in STS_TASKS),
        transfer=tuple(read_transfer(data, task) for task in present if task in TRANSFER_TASKS),
        missing=missing,
    )


def measure(  # noqa: PLR0913 - three say what is measured and how, two who watches
    encode: Encode,
    tasks: Tasks,
    setting: SettingName,
    classifier: ClassifierName,
    *,
    begin: Callable[[str], None] = lambda _: None,
    advance: Callable[[float], None] | None = None,
) -> Result:
    """Scores what was read.

    Args:
        encode: Gives a (number of sentences, D) array for a list of sentences.
        tasks: From `read`.
        setting: Of the transfer tasks.
        classifier: Likewise.
        begin: Told each task's name before its sentences are encoded.
        advance: Told the share of a transfer task's classifiers whenever some are done.
    """
    method = Method(SETTINGS[setting], classifier)
    sts, transfer = [], []
    for one in tasks.sts:
        begin(one.task)
        sts.append(score_sts(encode, one))
    for other in tasks.transfer:
        begin(other.task)
        transfer.append(score_transfer(encode, other, method, advance))
    missing = [tuple(task for task in tasks.missing if task in half) for half in HALVES.values()]
    return Result(
        sts=StsResult(tuple(sts), missing[0]),
        transfer=TransferResult(tuple(transfer), missing[1]),
        setting=setting,
        classifier=classifier,
    )


def _check_method(setting: str, classifier: str) -> None:
    for what, given, known in (
        ("setting", setting, tuple(SETTINGS)),
        ("classifier", classifier, get_args(ClassifierName)),
    ):
        if given not in known:
            raise ValueError(f"{what}: unknown {what} {given!r}; known: {', '.join(known)}.")
