"""Which of the tasks that were asked for a folder has. Nothing is read here."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

from pipeline.machine.errors import InputError
from pipeline.senteval.known import SIMCSE
from pipeline.senteval.sts_files import check_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


def select(
    data: Path,
    tasks: Sequence[str],
    folders: Mapping[str, str],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Tasks with and without a folder, each once and in the order of `folders`.

    Args:
        data: The folder that holds STS/ and its like: SentEval's `downstream`.
        tasks: Names of tasks or groups.
        folders: Each known task's folder in `downstream`.
        groups: Names that stand for several tasks.

    Raises:
        InputError: A name is unknown, or none of the tasks is there.
    """
    groups = groups or {}
    for task in tasks:
        if task not in groups and task not in folders:
            raise InputError(_unknown(task, [*groups, *folders]))
    named = {one for task in tasks for one in groups.get(task, (task,))}
    wanted = [task for task in folders if task in named]
    check_folder(data)
    present = tuple(task for task in wanted if (data / folders[task]).is_dir())
    if not present:
        such = ", ".join(f"{folders[task]}/" for task in wanted[:2])
        raise InputError(
            f"data: {data} holds none of {', '.join(wanted)}; "
            f"give a folder with {such}, ... in SentEval's layout, or "
            f"bring one in with python -m pipeline.fetch --source {SIMCSE}."
        )
    return present, tuple(task for task in wanted if task not in present)


def _unknown(task: str, known: list[str]) -> str:
    near = difflib.get_close_matches
    close = near(task, known, n=1) or near(task.upper(), known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else "."
    return f"tasks: unknown task {task!r}{hint} Known: {', '.join(known)}."
