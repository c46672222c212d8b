"""What became of a cell, and which cell is the best."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """Where a cell stands; the values are what tables show."""

    MISSING = "not queued"
    QUEUED = "queued"
    RUNNING = "running"
    FINISHED = "finished"
    FAILED = "failed"
    CUT_OFF = "cut off"


PENDING = (State.QUEUED, State.RUNNING)


@dataclass(frozen=True)
class Outcome:
    """A cell's result.

    Attributes:
        state: where it stands.
        dev: STS-B dev Spearman x 100 of its best step, if it has finished.
        step: that step.
        reason: why it failed, if it has.
    """

    state: State
    dev: float | None = None
    step: int | None = None
    reason: str | None = None


Outcomes = Mapping[str, Outcome]


def best(names: Iterable[str], outcomes: Outcomes) -> str | None:
    """The finished cell with the highest dev score, of equal ones the first; None without any."""
    scores = {name: outcomes[name].dev for name in names}
    finished = {name: dev for name, dev in scores.items() if dev is not None}
    return max(finished, key=lambda name: finished[name], default=None)


def count(outcomes: Outcomes) -> str:
    """How many cells are in which state, in words."""
    states = [outcome.state for outcome in outcomes.values()]
    told = [f"{states.count(state)} {state}" for state in State if state in states]
    noun = "cell" if len(states) == 1 else "cells"
    return f"{len(states)} {noun}: {', '.join(told)}"
