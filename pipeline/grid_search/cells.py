"""Cells of a grid search: which there are, and what each is called and sets. Runs nothing."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Mapping
from dataclasses import dataclass

Settings = Mapping[str, float]

RATE = ("batch_size", "learning_rate")
COMPONENTS = ("margin", "temperature", "ratio")
SHORT = {
    "batch_size": "b",
    "learning_rate": "lr",
    "margin": "m",
    "temperature": "t",
    "ratio": "r",
}
# STS-B's folder holds the dev pairs too, so where training runs this task can be measured.
TASKS = "STS-B"


@dataclass(frozen=True, kw_only=True)
class Grids:
    """What is tried.

    Attributes:
        rate: stage one's values of batch size and learning rate.
        start: margin, temperature and ratio in stage one, of those that the objective has.
        components: stage two's values of them.
    """

    rate: Mapping[str, tuple[float, ...]]
    start: Settings
    components: Mapping[str, tuple[float, ...]]

    def first(self) -> list[Settings]:
        """Stage one's cells."""
        return [{**cell, **self.start} for cell in product(self.rate)]

    def second(self, best: Settings) -> list[Settings]:
        """Stage two's cells at stage one's best; none for an objective without components."""
        rate = {key: best[key] for key in RATE}
        return [{**rate, **cell} for cell in product(self.components)] if self.components else []


@dataclass(frozen=True, kw_only=True)
class Search:
    """What all cells have in common.

    Attributes:
        objective: a name of OBJECTIVES.
        profile: a name of conf/profile.
        seed: of every run.
        given: more overrides, `key=value`.
        commit: the baseline of the experiments.
        uncommitted: hash of the changes that are not in it and decide results; None without any.
        composed: hash of the settings that conf/ composes for the run.
        own: settings of `train` that the objective's own `train` mapping holds.
    """

    objective: str
    profile: str
    seed: int
    given: tuple[str, ...]
    commit: str
    uncommitted: str | None
    composed: str
    own: frozenset[str] = frozenset()

    def base(self) -> list[str]:
        """Overrides of every cell."""
        tasks = () if keys(self.given) & {"evaluate.tasks"} else (f"evaluate.tasks={TASKS}",)
        run = (f"runs.objectives=[{self.objective}]", f"runs.seeds=[{self.seed}]")
        return [f"profile={self.profile}", *self.given, *run, *tasks]

    def changes(self, cell: Settings) -> list[str]:
        """Overrides that make the cell."""
        return [f"{self._path(key)}={shown(value)}" for key, value in cell.items()]

    def overrides(self, cell: Settings) -> list[str]:
        """All of a cell's overrides."""
        return [*self.base(), *self.changes(cell)]

    def name(self, cell: Settings) -> str:
        """The experiment's name: the cell in words, and a hash of all that its result depends on.

        A cell of another commit, other code or other settings therefore has another name.
        """
        words = "-".join(f"{SHORT[key]}{shown(value)}" for key, value in cell.items())
        parts = (self.commit, self.uncommitted, self.composed, *self.overrides(cell))
        return f"grid-{self.objective}-{self.seed}-{words}-{digest(repr(parts).encode())}"

    def _path(self, key: str) -> str:
        if key in COMPONENTS:
            return f"objectives.{self.objective}.{key}"
        # An objective's own `train` mapping would win over `train`.
        return f"objectives.{self.objective}.train.{key}" if key in self.own else f"train.{key}"


def product(values: Mapping[str, tuple[float, ...]]) -> list[dict[str, float]]:
    """All combinations; the last key's value changes fastest."""
    return [
        dict(zip(values, combination, strict=True))
        for combination in itertools.product(*values.values())
    ]


def shown(value: float) -> str:
    """A number as short as it can be: 0.3, 5e-06, 1."""
    return str(value) if isinstance(value, int) else repr(value).removesuffix(".0")


def keys(overrides: tuple[str, ...]) -> set[str]:
    """The keys of overrides `key=value`, without Hydra's `+` and `~`."""
    return {override.partition("=")[0].lstrip("+~") for override in overrides}


def digest(content: bytes) -> str:
    """Eight hexadecimal digits."""
    return hashlib.sha256(content).hexdigest()[:8]
