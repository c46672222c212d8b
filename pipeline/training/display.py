"""The training stage on a terminal: a bar, a line for each evaluation, and the time left."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, Mapping[str, float] | None], None]

FIRST = 10  # steps after which the time that a run takes is told


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Report]:
    """A bar that is told step, steps in all, and the curve's row where there is one."""
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=not shown) as bar:
        task = bar.add_task(name)
        begun: list[tuple[int, float]] = []  # the first step that is told of, and when

        def report(step: int, steps: int, row: Mapping[str, float] | None) -> None:
            bar.update(task, completed=step, total=steps)
            begun.append((step, time.monotonic()))
            del begun[1:]
            lines = [] if row is None else [f"{name} step {step}/{steps}: {_scores(step, row)}"]
            done = step - begun[0][0]
            if done == FIRST:
                left = (time.monotonic() - begun[0][1]) / done * (steps - step)
                lines.append(f"{name}: {_duration(left)} left, as fast as its first {FIRST} steps")
            for line in lines if shown else ():
                bar.console.print(line, highlight=False)

        yield report


def _scores(step: int, row: Mapping[str, float]) -> str:
    dev = f"dev Spearman {row['dev_spearman']:.2f}"
    if step == 0:
        return f"{dev}, untrained"
    return (
        f"{dev}, loss {row['loss']:.4f}, dissipation {row['dissipation']:.3f}, "
        f"hardest share {row['hardest_share']:.3f}, ratio {row['ratio']:.3f}"
    )


def _duration(seconds: float) -> str:
    minutes = seconds / 60
    if minutes < 1:
        return "less than a minute"
    return f"{minutes:.0f} min" if minutes < 60 else f"{minutes / 60:.1f} hours"
