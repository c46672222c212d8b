"""A stage's cells are brought to an end: those that have no result are queued and waited for.

What runs them is behind the protocol `Experiments`; DVC's is in `experiments`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol

from pipeline.grid_search.outcomes import PENDING, Outcomes, State
from pipeline.machine.errors import InputError

Report = Callable[[Outcomes], None]


class Experiments(Protocol):
    """What runs cells, by name."""

    def read(self, names: Collection[str]) -> Outcomes:
        """Where each of these stands."""

    def queue(self, name: str, overrides: Sequence[str]) -> None:
        """Put a cell at the end of the queue."""

    def remove(self, name: str) -> None:
        """Take a cell that failed or was cut off out of the queue."""

    def work(self) -> None:
        """See to it that what is queued gets run."""

    def wait(self) -> None:
        """Wait a while."""

    def stop(self, names: Collection[str]) -> None:
        """Cut off those of these that run; leave the queued ones in the queue, unworked."""


def complete(
    cells: Mapping[str, Sequence[str]],
    experiments: Experiments,
    report: Report,
    *,
    keep_failed: bool = False,
) -> Outcomes:
    """Run what has no result until nothing is queued or running.

    Args:
        cells: overrides by experiment name.
        experiments: what runs them.
        report: told where the cells stand whenever it has changed.
        keep_failed: whether cells that failed before stay as they are.

    Raises:
        InputError: a cell was cut off, queued again and cut off again.
        KeyboardInterrupt: passed on, after what runs was stopped.
    """
    try:
        return _complete(cells, experiments, report, keep_failed=keep_failed)
    except KeyboardInterrupt:
        experiments.stop(list(cells))
        raise


def _complete(
    cells: Mapping[str, Sequence[str]],
    experiments: Experiments,
    report: Report,
    *,
    keep_failed: bool,
) -> Outcomes:
    again = {State.MISSING, State.CUT_OFF} | (set() if keep_failed else {State.FAILED})
    outcomes = _queue(cells, experiments, again)
    repeated: set[str] = set()
    shown: Outcomes = {}
    while True:
        cut_off = {name for name in cells if outcomes[name].state is State.CUT_OFF} - repeated
        if cut_off:
            repeated |= cut_off
            some = {name: cells[name] for name in cells if name in cut_off}
            outcomes = {**outcomes, **_queue(some, experiments, {State.CUT_OFF})}
        if outcomes != shown:
            report(outcomes)
            shown = outcomes
        if not any(outcome.state in PENDING for outcome in outcomes.values()):
            break
        experiments.work()
        experiments.wait()
        outcomes = experiments.read(list(cells))
    _refuse_cut_off(outcomes)
    return outcomes


def _queue(
    cells: Mapping[str, Sequence[str]], experiments: Experiments, again: set[State]
) -> Outcomes:
    """Queue those cells that are in one of these states; where all of them stand then."""
    outcomes = experiments.read(list(cells))
    wanted = [name for name in cells if outcomes[name].state in again]
    for name in wanted:
        if outcomes[name].state is not State.MISSING:
            experiments.remove(name)
        experiments.queue(name, cells[name])
    return experiments.read(list(cells)) if wanted else outcomes


def _refuse_cut_off(outcomes: Outcomes) -> None:
    names = [name for name, outcome in outcomes.items() if outcome.state is State.CUT_OFF]
    if names:
        raise InputError(
            f"{len(names)} of {len(outcomes)} cells were cut off twice, first {names[0]} (see "
            f"`dvc queue logs {names[0]}`); the same command queues them again."
        )
