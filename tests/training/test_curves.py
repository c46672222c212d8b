"""The tables of a run: what is kept of steps, and how it is written."""

from __future__ import annotations

import math

import pytest
import torch

from pipeline.machine.errors import CollapseError
from pipeline.objectives import OBJECTIVES
from pipeline.training.checkpoint import Progress
from pipeline.training.curves import COLUMNS, DYNAMICS, Monitor, as_csv
from pipeline.training.dynamics import BATCH, dynamics, named
from pipeline.training.step import Outcome
from tests.training.stub import train_settings

STEPS = 7
SETTINGS = train_settings(record_every=2, evaluate_every=3)
CPU = torch.device("cpu")


def outcome(step: int) -> Outcome:
    """Of a batch and with a loss of the step's own."""
    generator = torch.Generator().manual_seed(step)
    anchor, positive = torch.randn(2, 4, 3, generator=generator)
    return Outcome(anchor, positive, torch.tensor(float(step)))


def monitor() -> Monitor:
    return Monitor(OBJECTIVES["info_nce"](), SETTINGS, STEPS, CPU)


def test_a_reading_has_the_mean_loss_since_the_last_and_what_was_to_be_recorded() -> None:
    watched, progress = monitor(), Progress()
    rows = []
    for step in range(1, STEPS + 1):
        progress.step = step
        watched.see(step, outcome(step))
        if watched.evaluates(step):
            rows.append(watched.read(progress))
            progress.add(rows[-1] | {"dev_spearman": 1.0})
    assert [row["loss"] for row in rows] == [1, 2, 3, (4 + 5 + 6) / 3, 7]
    assert [row["step"] for row in progress.dynamics] == [2, 4, 6, 7]
    for row in progress.dynamics:
        seen = outcome(int(row["step"]))
        assert row == {"step": row["step"], **named(dynamics(OBJECTIVES["info_nce"](), *seen[:2]))}
    last = named(dynamics(OBJECTIVES["info_nce"](), *outcome(6)[:2]))
    assert {name: rows[3][name] for name in BATCH} == {name: last[name] for name in BATCH}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_told_with_the_steps_it_may_be_of(value: float) -> None:
    watched, progress = monitor(), Progress(step=3, rows=[{"step": 1}])
    for step in (2, 3):
        seen = outcome(step)
        watched.see(step, seen._replace(loss=torch.tensor(value)) if step == 2 else seen)
    with pytest.raises(CollapseError, match="NaN or infinite between steps 1 and 3"):
        watched.read(progress)


ROW = dict.fromkeys(COLUMNS, 0.123456789) | {"step": 20, "ratio": math.nan, "loss": -math.inf}


def test_the_file_has_a_heading_and_empty_fields_for_undefined_numbers() -> None:
    heading, line, end = as_csv([ROW]).decode().split("\n")
    assert heading == ",".join(COLUMNS)
    assert line == "20,0.123457,,0.123457,0.123457,,0.123457,0.123457,0.123457,0.123457"
    assert end == ""


def test_the_dynamics_have_angles_and_no_score() -> None:
    row = dict.fromkeys(DYNAMICS, 0.5) | {"step": 10, "ratio": math.nan}
    heading, line, _ = as_csv([row], DYNAMICS).decode().split("\n")
    assert "dev_spearman" not in heading
    assert heading.endswith("negative_angle,negative_angle_deviation")
    assert line.startswith("10,0.5,0.5,,0.5")
