"""A training run replaces nothing that no training wrote, and says so before it begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pipeline.machine.errors import WriteError
from pipeline.training.places import Places
from tests.tiny import contents

if TYPE_CHECKING:
    from pathlib import Path


def places(folder: Path, **changes: Path) -> Places:
    usual = {
        name: folder / name for name in ("prepared", "model", "curve", "dynamics", "checkpoints")
    }
    return Places(**(usual | changes))


def test_an_empty_folder_and_an_earlier_encoder_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    places(tmp_path).check()
    (tmp_path / "model" / "triad.json").touch()
    places(tmp_path).check()


@pytest.mark.parametrize("name", ["model", "best"])
def test_a_folder_of_something_else_is_not_replaced(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "thesis.txt").write_bytes(b"years of work")
    with pytest.raises(WriteError, match=rf"^--{name}: .* is no encoder of Triad's .*; name a new"):
        places(tmp_path, best=tmp_path / "best").check()
    assert contents(tmp_path) == {f"{name}/thesis.txt": b"years of work"}


@pytest.mark.parametrize("name", ["model", "checkpoints"])
def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(WriteError, match=rf"^--{name}: .* is a file; name a"):
        places(tmp_path).check()


@pytest.mark.parametrize("name", ["curve", "dynamics"])
def test_a_folder_in_the_place_of_a_table_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    with pytest.raises(WriteError, match=rf"^--{name}: .* is a folder; name a file"):
        places(tmp_path).check()


def test_one_table_in_the_place_of_the_other_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"keep them apart"):
        places(tmp_path, dynamics=tmp_path / "curve").check()


def test_the_best_encoder_in_the_place_of_the_other_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"keep them apart"):
        places(tmp_path, best=tmp_path / "model").check()


def test_a_curve_in_the_encoders_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=r"^--curve: .* lies in what --model writes"):
        places(tmp_path, curve=tmp_path / "model" / "curve.csv").check()
