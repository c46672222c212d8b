"""The study's runs read back: what is there, what is missing, what is refused."""

from pathlib import Path

import pytest

from pipeline.machine.errors import InputError
from pipeline.results.spread import Spread
from tests.paper.report.written_study import OBJECTIVES, WrittenStudy, measured


def test_every_cell_that_was_run_is_read(tmp_path: Path) -> None:
    study = WrittenStudy(tmp_path).add_all().read()
    assert study.seeds == dict.fromkeys(OBJECTIVES, (1, 2))
    assert study.missing == []
    assert study.tasks == ("STS-B",)
    assert "the files of STS-B are not the benchmark's" in study.warning[0]
    assert [len(rows) for rows in study.dynamics["vicreg"].values()] == [4, 4]


@pytest.mark.parametrize(
    "path", ["held_out/vicreg/1.json", "dynamics/vicreg/1.csv", "untrained.json"]
)
def test_a_damaged_file_is_named(tmp_path: Path, path: str) -> None:
    written = WrittenStudy(tmp_path).add_all()
    (tmp_path / path).write_bytes(b"\xff\xfe{")
    with pytest.raises(InputError, match=rf"{path} cannot be read .*again"):
        written.read()


def test_averages_are_of_objectives_whose_runs_were_all_scored(tmp_path: Path) -> None:
    written = WrittenStudy(tmp_path).add_all()
    (tmp_path / "metrics/vicreg/2.json").unlink()
    scores = written.read().scores
    assert scores["vicreg"].average is None
    assert scores["arccon"].average == Spread(50.0, 0.0)


def test_a_seed_that_is_not_asked_for_is_in_no_average(tmp_path: Path) -> None:
    """DVC leaves the files of runs that the settings named once."""
    written = WrittenStudy(tmp_path).add_all()
    written.add("arccon", 3, sts=80.0)
    assert written.read().scores["arccon"].average == Spread(50.0, 0.0)


@pytest.mark.parametrize(
    ("part", "key"), [("data", "batches"), ("data", "hash"), ("settings", "margin")]
)
def test_encoders_that_were_measured_in_another_way_are_refused(
    tmp_path: Path, part: str, key: str
) -> None:
    written = WrittenStudy(tmp_path).add_all()
    content = measured("vicreg-1", None, 0.9, 0.2)
    content[part][key] = "9"
    written.json("held_out/vicreg/1.json", content)
    with pytest.raises(InputError, match=rf"backbone and vicreg-1 differ in {part}\.{key}"):
        written.read()
