"""The training stage on a terminal or in a log: a bar, and a line for each evaluation."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, Mapping[str, float] | None], None]

SHOWN = {
    "dev_spearman": "dev Spearman {:.2f}",
    "loss": "loss {:.4f}",
    "dissipation": "dissipation {:.3f}",
    "hardest_share": "hardest share {:.3f}",
    "ratio": "ratio {:.3f}",
}


def silent(step: int, steps: int, row: Mapping[str, float] | None) -> None:
    """The report of a process that shows nothing."""


@contextmanager
def progress_bar(name: str) -> Iterator[Report]:
    """A bar that is told step, steps in all, and the curve's row where there is one."""
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns) as bar:
        task = bar.add_task(name)

        def report(step: int, steps: int, row: Mapping[str, float] | None) -> None:
            bar.update(task, completed=step, total=steps)
            if row is not None:
                line = [text.format(row[k]) for k, text in SHOWN.items() if math.isfinite(row[k])]
                if seconds := bar.tasks[task].time_remaining:
                    line.append(f"{_duration(seconds)} left")
                message = f"{name} step {step}/{steps}: {', '.join(line)}"
                bar.console.print(message, highlight=False, soft_wrap=True)

        yield report


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return "less than a minute"
    return f"{minutes:.0f} min" if minutes < 60 else f"{minutes / 60:.1f} hours"
