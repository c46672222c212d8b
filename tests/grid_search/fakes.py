"""Grids, a search and experiments in memory."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pipeline.grid import START, VALUES
from pipeline.grid_search.cells import Grids, Search
from pipeline.grid_search.outcomes import Outcome, State
from pipeline.objectives import OBJECTIVES

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence

    from pipeline.grid_search.outcomes import Outcomes


def grids(objective: str) -> Grids:
    """The paper's, for an objective."""
    has = set(OBJECTIVES[objective].hyperparameters.model_fields)
    return Grids(
        rate={key: VALUES[key] for key in ("batch_size", "learning_rate")},
        start={key: START[key] for key in START if key in has},
        components={key: VALUES[key] for key in START if key in has},
    )


def search(**changes: object) -> Search:
    plain = Search(
        objective="vicreg_modified",
        profile="paper-bert",
        seed=42,
        given=(),
        commit="5932ef1be702fc1f5562730f1952a93b21dd9497",
        uncommitted=None,
        composed="12345678",
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


SMALL = Grids(
    rate={"batch_size": (8, 16), "learning_rate": (1e-5,)},
    start={"margin": 0.3, "temperature": 0.05, "ratio": 1.0},
    components={"margin": (0.3,), "temperature": (0.05,), "ratio": (1.0, 1.5)},
)


def finished(dev: float) -> Outcome:
    return Outcome(State.FINISHED, dev=dev, step=50)


class Fake:
    """Experiments in memory: each cell that is worked on ends as `result` says."""

    def __init__(self, result: Callable[[str], Outcome]) -> None:
        self.result = result
        self.outcomes: dict[str, Outcome] = {}
        self.queued: list[str] = []
        self.overrides: dict[str, Sequence[str]] = {}
        self.removed: list[str] = []
        self.stopped: list[str] = []

    def read(self, names: Collection[str]) -> Outcomes:
        return {name: self.outcomes.get(name, Outcome(State.MISSING)) for name in names}

    def queue(self, name: str, overrides: Sequence[str]) -> None:
        assert self.outcomes.get(name, Outcome(State.MISSING)).state is State.MISSING
        self.queued.append(name)
        self.overrides[name] = overrides
        self.outcomes[name] = Outcome(State.QUEUED)

    def remove(self, name: str) -> None:
        self.removed.append(name)
        del self.outcomes[name]

    def work(self) -> None:
        """One cell ends."""
        waiting = [n for n, o in self.outcomes.items() if o.state in (State.QUEUED, State.RUNNING)]
        self.outcomes[waiting[0]] = self.result(waiting[0])

    def wait(self) -> None:
        """Needs no time."""

    def stop(self, names: Collection[str]) -> None:
        self.stopped.extend(names)


def by_size(name: str) -> Outcome:
    """The larger batch and the larger ratio are better."""
    return finished(70.0 + 5 * ("-b16-" in name) + ("-r1.5-" in name))
