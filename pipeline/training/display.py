"""The training stage on a terminal: a progress bar, and a line for each evaluation."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Report = Callable[[int, int, Mapping[str, float] | None], None]


@contextmanager
def progress_bar(name: str, *, shown: bool) -> Iterator[Report]:
    """A bar that is told step, steps in all, and the curve's row where there is one."""
    columns = (TextColumn(name), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, disable=not shown) as bar:
        task = bar.add_task(name)

        def report(step: int, steps: int, row: Mapping[str, float] | None) -> None:
            bar.update(task, completed=step, total=steps)
            if row is not None and shown:
                bar.console.print(
                    f"{name} step {step}/{steps}: dev Spearman {row['dev_spearman']:.2f}, "
                    f"loss {row['loss']:.4f}, dissipation {row['dissipation']:.3f}, "
                    f"hardest share {row['hardest_share']:.3f}, ratio {row['ratio']:.3f}",
                    highlight=False,
                )

        yield report
