"""Progress on the terminal: sentences done, and how many a second."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TextColumn,
    TimeRemainingColumn,
)
from rich.text import Text

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class _Speed(ProgressColumn):
    """Sentences a second, lately."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:,.0f} sentences/s")


@contextmanager
def display(name: str, total: int | None, done: int = 0) -> Iterator[Callable[[int], None]]:
    """A bar that is told how many more sentences are done; none where stderr is no terminal.

    Args:
        name: what is done to them.
        total: sentences there are; None where that is not known.
        done: sentences that were done before.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn(name),
        BarColumn(),
        MofNCompleteColumn(),
        _Speed(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
        task = progress.add_task(name, total=total, completed=done)
        yield lambda more: progress.advance(task, more)
