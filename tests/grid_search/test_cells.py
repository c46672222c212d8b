"""Which cells a grid has, what each is called and sets, and which is the best."""

from __future__ import annotations

import pytest

from pipeline.grid_search.experiments import call
from pipeline.grid_search.outcomes import Outcome, State, best
from tests.grid_search.fakes import SMALL, finished, grids, search


@pytest.mark.parametrize(
    ("objective", "second"),
    [
        ("vicreg_modified", 4 * 3 * 5),
        ("mhs_modified", 4 * 5),
        ("info_nce", 3),
        ("mpt", 4),
        ("vicreg", 0),
    ],
)
def test_the_grids_are_the_papers_over_what_the_objective_has(objective: str, second: int) -> None:
    tried = grids(objective)
    first = tried.first()
    assert len(first) == 16
    assert first[0] == {"batch_size": 64, "learning_rate": 5e-6, **tried.start}
    assert first[1]["learning_rate"] == 1e-5
    assert len(tried.second(first[5])) == second
    assert all(cell["batch_size"] == 128 for cell in tried.second(first[5]))


def test_a_name_says_the_cell_and_is_a_git_reference() -> None:
    name = search().name(grids("vicreg_modified").first()[0])
    assert name.startswith("grid-vicreg_modified-42-b64-lr5e-06-m0.3-t0.05-r1-")
    call(["git", "check-ref-format", f"refs/exps/{name}"])


@pytest.mark.parametrize(
    "changes",
    [
        {"commit": "0" * 40},
        {"uncommitted": "abcdef01"},
        {"composed": "87654321"},
        {"given": ("train.steps=2",)},
        {"profile": "wiki"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_a_result_depends_on_makes_another_name(changes: dict[str, object]) -> None:
    cell = SMALL.first()[0]
    assert search(**changes).name(cell) != search().name(cell)


def test_a_cell_is_one_run_with_its_settings_and_the_cheapest_task() -> None:
    overrides = search(given=("train.steps=2",)).overrides(SMALL.first()[0])
    assert overrides == [
        "profile=paper-bert",
        "train.steps=2",
        "runs.objectives=[vicreg_modified]",
        "runs.seeds=[42]",
        "evaluate.tasks=STS-B",
        "train.batch_size=8",
        "train.learning_rate=1e-05",
        "objectives.vicreg_modified.margin=0.3",
        "objectives.vicreg_modified.temperature=0.05",
        "objectives.vicreg_modified.ratio=1",
    ]


def test_the_best_is_the_first_of_equal_finished_cells() -> None:
    outcomes = {"a": finished(70.0), "b": finished(71.0), "c": finished(71.0)}
    assert best(outcomes, outcomes) == "b"


def test_what_failed_is_never_the_best() -> None:
    failed = Outcome(State.FAILED, reason="it collapsed")
    assert best(["a", "b"], {"a": failed, "b": finished(-3.0)}) == "b"
    assert best(["a"], {"a": failed}) is None


def test_an_objectives_own_learning_rate_is_what_is_replaced() -> None:
    changes = search(own=frozenset({"learning_rate"})).changes(SMALL.first()[0])
    assert "objectives.vicreg_modified.train.learning_rate=1e-05" in changes
    assert "train.batch_size=8" in changes
