"""Captured steps are the steps that they stand for, as far as a machine without a GPU can tell."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pipeline.machine.errors import InputError
from pipeline.training import step as step_module
from pipeline.training.captured import CapturedStep, check_captures
from pipeline.training.processes import ALONE
from pipeline.training.step import Outcome
from tests.tiny import WIDTH
from tests.training.lab import STEPS, Interrupted, Lab, record, rows
from tests.training.stub import train_settings

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


class Graph:
    """A CUDA graph as one sees it from outside: where it reads and writes is fixed."""

    replays = 0  # of all graphs

    def __init__(
        self, step: Callable[[Tensor, Tensor], Outcome], ids: Tensor, mask: Tensor
    ) -> None:
        self.step, self.reads = step, (ids, mask)
        views = torch.empty(2, len(ids) // 2, WIDTH)
        self.outcome = Outcome(views[0], views[1], torch.empty(()))

    def replay(self) -> None:
        Graph.replays += 1
        for kept, new in zip(self.outcome, self.step(*self.reads), strict=True):
            kept.copy_(new)


class Captured(CapturedStep[Outcome]):
    """Captured steps with such graphs; streams are CUDA's."""

    def __init__(self, step: Callable[[Tensor, Tensor], Outcome], _device: torch.device) -> None:
        self._step, self._seen, self._graphs = step, set(), {}

    def _ordinary(self, ids: Tensor, mask: Tensor) -> Outcome:
        return self._step(ids, mask)

    def _captured(self, ids: Tensor, mask: Tensor) -> Any:
        graph = Graph(self._step, ids, mask)
        return graph, ids, mask, graph.outcome


@pytest.fixture
def capturing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Graph, "replays", 0)
    monkeypatch.setattr(step_module, "CapturedStep", Captured)
    monkeypatch.setattr(step_module, "check_captures", lambda *_: None)


@pytest.mark.usefixtures("capturing")
def test_a_run_is_that_of_ordinary_steps(lab: Lab, tmp_path: Path) -> None:
    """But for the learning rate, which the device holds in single precision."""
    seen = {}
    for capture in (False, True):
        folder = tmp_path / str(capture)
        lab.train(folder, changes={"train.capture": capture, "train.compile": "off"})
        seen[capture] = [[float(value or 0) for value in row.values()] for row in rows(folder)]
        graphs = record(folder)["training"]["cuda_graphs"]
        assert graphs == ("whole step" if capture else False)
    assert Graph.replays > 1
    np.testing.assert_allclose(seen[True], seen[False], rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("device", "count", "changes", "reason"),
    [
        (CPU, 1, {}, "train.device is cpu, and CUDA graphs need cuda"),
        (CUDA, 1, {"chunk_size": 3}, "train.chunk_size is set, .* several parts"),
        (CUDA, 2, {}, "several processes train together"),
    ],
)
def test_what_does_not_suit_is_refused(
    device: torch.device, count: int, changes: dict[str, Any], reason: str
) -> None:
    settings = train_settings(capture=True, **changes)
    with pytest.raises(InputError, match=f"train.capture: true, but {reason}.*; set it to false."):
        check_captures(settings, device, replace(ALONE, count=count))


@pytest.mark.usefixtures("capturing")
def test_a_checkpoint_of_ordinary_steps_is_not_resumed(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its optimizer's state is another one."""
    monkeypatch.setattr("pipeline.training.checkpoint.INTERVAL", 0)
    lab.interrupt(tmp_path, 4)
    assert (tmp_path / "checkpoints/last.pt").is_file()
    report = Interrupted()
    lab.train(tmp_path, report=report, changes={"train.capture": True})
    assert report.steps == list(range(STEPS + 1))
