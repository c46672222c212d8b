"""The tables of a run."""

import math

from pipeline.training.curves import COLUMNS, DYNAMICS, as_csv

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
