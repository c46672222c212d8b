"""The tables of a run: what is kept of steps, and how it is written."""

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
INFO_NCE = OBJECTIVES["info_nce"]()


def outcome(step: int) -> Outcome:
    """Of a batch and with a loss of the step's own."""
    generator = torch.Generator().manual_seed(step)
    anchor, positive = torch.randn(2, 4, 3, generator=generator)
    return Outcome(anchor, positive, torch.tensor(float(step)))


def numbers(step: int) -> dict[str, float]:
    return named(dynamics(INFO_NCE, *outcome(step)[:2]))


def monitor() -> Monitor:
    return Monitor(INFO_NCE, SETTINGS, STEPS, torch.device("cpu"))


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
    assert progress.dynamics == [{"step": step, **numbers(step)} for step in (2, 4, 6, 7)]
    assert {name: rows[3][name] for name in BATCH} == {name: numbers(6)[name] for name in BATCH}


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_not_finite_is_told_with_the_steps_it_may_be_of(value: float) -> None:
    watched, progress = monitor(), Progress(step=3, rows=[{"step": 1}])
    for step in (2, 3):
        seen = outcome(step)
        watched.see(step, seen._replace(loss=torch.tensor(value)) if step == 2 else seen)
    with pytest.raises(CollapseError, match="NaN or infinite between steps 1 and 3"):
        watched.read(progress)


def test_both_files_have_a_heading_and_empty_fields_for_undefined_numbers() -> None:
    row = dict.fromkeys(COLUMNS, 0.123456789) | {"step": 20, "ratio": math.nan, "loss": -math.inf}
    heading, line, end = as_csv([row]).decode().split("\n")
    assert heading == ",".join(COLUMNS)
    assert line == "20,0.123457,,0.123457,0.123457,,0.123457,0.123457,0.123457,0.123457"
    assert end == ""
    heading, line, _ = as_csv([dict.fromkeys(DYNAMICS, 0.5)], DYNAMICS).decode().split("\n")
    assert heading.startswith("step,dissipation,hardest_share,ratio,")
    assert heading.endswith("negative_angle,negative_angle_deviation")
    assert line == ",".join(["0.5"] * len(DYNAMICS))
