"""A search as JSON and Markdown: every cell with what became of it, and each stage's best."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.grid_search.cells import COMPONENTS, RATE, Search, Settings, shown
from pipeline.grid_search.outcomes import Outcome, Outcomes, State, best
from pipeline.results.layout import markdown_table

if TYPE_CHECKING:
    from collections.abc import Sequence

PICKED_BY = "STS-B dev Spearman x 100 of the best step"
TITLES = {"batch_size": "batch", "learning_rate": "learning rate"}


@dataclass(frozen=True)
class Stage:
    """Cells of one stage, by experiment name in the grid's order, and how they stand."""

    title: str
    cells: dict[str, Settings]
    outcomes: Outcomes

    @property
    def best(self) -> str | None:
        """The name of its best cell."""
        return best(self.cells, self.outcomes)


def as_json(search: Search, stages: Sequence[Stage]) -> bytes:
    """All of it; equal results give equal bytes."""
    content = {
        "objective": search.objective,
        "profile": search.profile,
        "seed": search.seed,
        "set": list(search.given),
        "commit": search.commit,
        "uncommitted": search.uncommitted,
        "picked_by": PICKED_BY,
        "stages": [_stage_json(search, stage) for stage in stages],
    }
    return f"{json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False)}\n".encode()


def as_markdown(search: Search, stages: Sequence[Stage]) -> bytes:
    """A table a stage, its best cell in bold."""
    changes = "" if search.uncommitted is None else f" with changes {search.uncommitted}"
    given = "".join(f", `{override}`" for override in search.given)
    caption = (
        f"Profile `{search.profile}`{given}; commit `{search.commit[:10]}`{changes}. Picked by "
        "STS-B dev Spearman x 100 only (each cell's best step, and of equal cells the first), "
        f"never by a test score. One seed ({search.seed}) a cell: differences that another seed "
        "would make too mean nothing. The best cells are bold."
    )
    lines = [f"# Grid search: `{search.objective}`", "", caption]
    for number, stage in enumerate(stages, 1):
        lines += ["", f"## Stage {number}: {stage.title}", "", _table(stage)]
    return ("\n".join(lines) + "\n").encode()


def _stage_json(search: Search, stage: Stage) -> dict[str, Any]:
    cells = {
        name: {
            "settings": dict(cell),
            **_outcome_json(stage.outcomes.get(name, Outcome(State.MISSING))),
            "experiment": name,
            "seed": search.seed,
            "profile": search.profile,
            "commit": search.commit,
        }
        for name, cell in stage.cells.items()
    }
    found = None if stage.best is None else cells[stage.best]
    return {"title": stage.title, "best": found, "cells": list(cells.values())}


def _outcome_json(outcome: Outcome) -> dict[str, Any]:
    return {
        "dev_spearman": outcome.dev,
        "step": outcome.step,
        "state": outcome.state.value,
        "reason": outcome.reason,
    }


def _table(stage: Stage) -> str:
    first = next(iter(stage.cells.values()))
    columns = [key for key in (*RATE, *COMPONENTS) if key in first]
    header = [TITLES.get(key, key) for key in columns]
    lines = [["experiment", "state", *header, "dev", "step"]]
    for name, cell in stage.cells.items():
        outcome = stage.outcomes.get(name, Outcome(State.MISSING))
        reason = "" if outcome.reason is None else f": {outcome.reason}".replace("|", r"\|")
        dev = "" if outcome.dev is None else f"{outcome.dev:.2f}"
        step = "" if outcome.step is None else str(outcome.step)
        numbers = [*(shown(cell[key]) for key in columns), dev, step]
        if name == stage.best:
            numbers = [f"**{number}**" if number else "" for number in numbers]
        lines.append([f"`{name}`", f"{outcome.state}{reason}", *numbers])
    return markdown_table(lines, left=2)
