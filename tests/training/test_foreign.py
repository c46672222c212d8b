"""Losses of others, as they are and repaired, are trained with, resumed and recorded by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import torch

from tests.tiny import SETTINGS, contents
from tests.training.lab import Lab, one_line, record

if TYPE_CHECKING:
    from pathlib import Path

SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}
REPAIR = {"margin": 0.3, "ratio": 1.5, "temperature": None}
RANKING = {
    "loss": "sentence_transformers.sentence_transformer.losses:MultipleNegativesRankingLoss",
    "scale": 20.0,
}


def changes(settings: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"objectives": SETTINGS["objectives"] | {"mine": settings}} | more


@pytest.mark.parametrize("repair", [{}, {"repair": REPAIR}], ids=["as it is", "repaired"])
def test_it_trains_and_its_record_names_loss_values_and_repair(
    lab: Lab, tmp_path: Path, repair: dict[str, Any]
) -> None:
    assert lab.main(tmp_path, "mine", changes=changes(SIGMOID | repair)) == 0
    written = record(tmp_path)
    assert written["objective"] == "mine"
    assert written["hyperparameters"] == SIGMOID | {"repair": None} | repair
    assert written["curve"][-1]["ratio"] is None or written["curve"][-1]["ratio"] > 0
    card = (tmp_path / "models/model/README.md").read_text(encoding="utf-8")
    assert "| loss | pipeline.objectives.sigmoid:sigmoid_loss |" in card


def test_the_version_of_its_library_is_recorded(lab: Lab, tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers")
    assert lab.main(tmp_path, "mine", changes=changes(RANKING)) == 0
    assert set(record(tmp_path)["versions"]) == {"torch", "transformers", "sentence-transformers"}


def test_equal_runs_and_a_resumed_run_are_equal_bytes(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = changes(SIGMOID | {"repair": REPAIR})
    assert lab.main(tmp_path / "whole", "mine", changes=mine) == 0
    step, steps = torch.optim.AdamW.step, iter(range(100))

    def stopping(*arguments: Any, **more: Any) -> Any:
        if next(steps) == 3:
            raise KeyboardInterrupt
        return step(*arguments, **more)

    monkeypatch.setattr(torch.optim.AdamW, "step", stopping)
    assert lab.main(tmp_path / "resumed", "mine", changes=mine) == 130
    assert lab.main(tmp_path / "resumed", "mine", changes=mine) == 0
    whole, resumed = (contents(tmp_path / name / "models/model") for name in ("whole", "resumed"))
    assert resumed == whole


def test_a_loss_that_is_not_there_is_one_sentence(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lab.main(tmp_path, "mine", changes=changes({"loss": "nowhere:Loss"})) == 1
    assert one_line(capsys).startswith("train: objectives.mine.loss: nowhere:Loss cannot be imp")
