"""Progress on the terminal: tasks done, and the sentences or classifiers of the current one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.console import Console
from rich.progress import Progress

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    import numpy as np

    # Sentences, and what is told the number of sentences done in each batch.
    WatchedEncode = Callable[[list[str], Callable[[int], None]], np.ndarray]


class Display:
    """Two bars; to be used in a `with` statement."""

    def __init__(self, encode: WatchedEncode, tasks: int) -> None:
        self._encode = encode
        self._progress = Progress(console=Console(stderr=True))
        self._tasks = self._progress.add_task("tasks", total=tasks)
        self._current = self._progress.add_task("", total=None)
        self._name = ""
        self._training = False

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            self._progress.update(self._tasks, completed=self._progress.tasks[0].total)
        self._progress.stop()

    def begin(self, task: str) -> None:
        """Another task begins; the one before it is done."""
        if self._name:
            self._progress.advance(self._tasks)
        self._name = task

    def encode(self, sentences: list[str]) -> np.ndarray:
        """Encodes, and shows the sentences done."""
        self._show("sentences", len(sentences))
        self._training = False
        return self._encode(sentences, lambda done: self._progress.advance(self._current, done))

    def advance(self, share: float) -> None:
        """Some of the current task's classifiers are done."""
        if not self._training:
            self._show("classifiers", 1)
            self._training = True
        self._progress.advance(self._current, share)

    def _show(self, what: str, total: int) -> None:
        description = f"{self._name}: {what}"
        self._progress.reset(self._current, total=total, description=description)
