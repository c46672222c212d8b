"""Both stages and what they write."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from pipeline.grid import run_search
from pipeline.grid_search.outcomes import Outcome, State
from tests.grid_search.fakes import SMALL, Fake, by_size, search

if TYPE_CHECKING:
    from pathlib import Path


def test_stage_two_searches_at_stage_ones_best(tmp_path: Path) -> None:
    fake = Fake(by_size)
    name = run_search(search(), SMALL, fake, tmp_path)
    assert "-b16-" in name
    assert "-r1.5-" in name
    assert len(fake.queued) == 3  # the cell that both stages hold was run once
    content = json.loads((tmp_path / "vicreg_modified.json").read_text("utf-8"))
    assert [len(stage["cells"]) for stage in content["stages"]] == [2, 2]
    found = content["stages"][1]["best"]
    assert found == {
        "settings": {
            "batch_size": 16,
            "learning_rate": 1e-5,
            "margin": 0.3,
            "temperature": 0.05,
            "ratio": 1.5,
        },
        "dev_spearman": 76.0,
        "step": 50,
        "state": "finished",
        "reason": None,
        "experiment": name,
        "seed": 42,
        "profile": "paper-bert",
        "commit": search().commit,
    }


def test_the_tables_show_every_cell_and_mark_the_best(tmp_path: Path) -> None:
    def result(name: str) -> Outcome:
        collapsed = Outcome(State.FAILED, reason="it collapsed | NaN")
        return collapsed if "-b8-" in name else by_size(name)

    name = run_search(search(), SMALL, Fake(result), tmp_path)
    text = (tmp_path / "vicreg_modified.md").read_text("utf-8")
    assert "Picked by STS-B dev Spearman x 100 only" in text
    assert "One seed (42)" in text
    assert r"| failed: it collapsed \| NaN | 8 | 1e-05 | 0.3 | 0.05 | 1 |  |  |" in text
    bold = [line for line in text.splitlines() if "**76.00**" in line]
    assert [line.split("`")[1] for line in bold] == [name]


def test_equal_results_give_equal_bytes(tmp_path: Path) -> None:
    fake = Fake(by_size)
    written = []
    for _ in range(2):
        run_search(search(), SMALL, fake, tmp_path)
        written.append([path.read_bytes() for path in sorted(tmp_path.iterdir())])
    assert written[0] == written[1]
    assert len(written[0]) == 2


def test_without_any_finished_cell_the_reason_is_told(tmp_path: Path) -> None:
    fake = Fake(lambda name: Outcome(State.FAILED, reason="it collapsed."))
    with pytest.raises(ValueError, match=r"stage 1: none of 2 cells finished.*: it collapsed\."):
        run_search(search(), SMALL, fake, tmp_path)
    assert "failed: it collapsed" in (tmp_path / "vicreg_modified.md").read_text("utf-8")
