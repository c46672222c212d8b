"""The four steps of docs/objectives.md: an objective of one's own goes through every analysis."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from pipeline.config import load as config
from pipeline.objectives import OBJECTIVES, Objective, Recipe
from pipeline.paper.simulation.numbers import at_means, mean_dissipation
from pipeline.training.dynamics import dynamics, named
from serve.components import take_apart
from tests.tiny import ROOT, SETTINGS, write_params

PAGE = (ROOT / "docs/objectives.md").read_text(encoding="utf-8")
STEPS = PAGE.split("## An objective of your own")[1]
CODE, ENTRY = re.findall(r"```python\n(.*?)```", STEPS, re.DOTALL)


@pytest.fixture
def name(monkeypatch: pytest.MonkeyPatch) -> str:
    """Steps 1 and 2; the name that step 2 gives."""
    written: dict[str, Any] = {}
    exec(CODE, written)
    table: dict[str, Recipe] = {}
    exec(ENTRY, written | {"OBJECTIVES": table, "Recipe": Recipe})
    ((name, recipe),) = table.items()
    monkeypatch.setitem(OBJECTIVES, name, recipe)
    return name


def test_it_is_a_dozen_lines() -> None:
    lines = [
        line
        for line in (CODE + ENTRY).splitlines()
        if line and not line.startswith(('"""', "from"))
    ]
    assert len(lines) <= 12


def test_it_is_found_by_name_with_its_hyperparameters(name: str, tmp_path: Path) -> None:
    settings = {"temperature": 0.05, "ratio": 1.25}
    objectives = SETTINGS["objectives"] | {name: settings}
    params = config.load(write_params(tmp_path / "params.yaml", {"objectives": objectives}))
    assert isinstance(params.objective(name), Objective)


def test_it_is_simulated_as_its_pieces_say(name: str) -> None:
    """Dissipation as InfoNCE's, ratio 1.25 everywhere."""
    params = config.load(ROOT / "params.yaml").analysis.simulation
    small = params.model_copy(update={"grid": 3, "batches": 128})
    both = {"info_nce": OBJECTIVES["info_nce"](temperature=0.05), name: OBJECTIVES[name]()}
    found = mean_dissipation(both, small)
    assert (found[name].mean == found["info_nce"].mean).all()
    assert at_means(name, both[name], small).is_constant


def test_it_is_trained_and_recorded(name: str) -> None:
    anchor, positive = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(1))
    anchor.requires_grad_()
    torch.autograd.backward(OBJECTIVES[name]()(anchor, positive))
    assert anchor.grad is not None
    numbers = named(dynamics(OBJECTIVES[name](), anchor, positive))
    assert numbers["hardest_share"] == 1.0
    assert numbers["ratio"] == pytest.approx(1.25)


def test_the_service_and_so_the_page_take_it_apart(name: str) -> None:
    anchor, positive = torch.randn(2, 8, 4, generator=torch.Generator().manual_seed(2))
    content = take_apart(OBJECTIVES[name](ratio=1.5), anchor, positive, 0.1)
    assert content["hyperparameters"].items() >= {"temperature": 0.05, "ratio": 1.5}.items()
    assert content["ratio"] == pytest.approx(1.5)
    assert (content["weight"].sum(axis=1) == 1).all()
