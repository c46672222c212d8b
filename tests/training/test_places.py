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


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dynamics": "curve"}, "^--dynamics: .* lies in what --curve writes; keep them apart"),
        ({"best": "model"}, "^--best: .* lies in what --model writes; keep them apart"),
        ({"curve": "model/curve.csv"}, "^--curve: .* lies in what --model writes"),
        ({"model": "file"}, "^--model: .* is a file; name a folder"),
        ({"checkpoints": "file"}, "^--checkpoints: .* cannot be written, as .* is a file"),
        ({"curve": ""}, "^--curve: .* is a folder; name a file"),
    ],
)
def test_places_that_cannot_be_written_or_lie_in_one_another_are_refused(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=message):
        places(tmp_path, **{name: tmp_path / place for name, place in changes.items()}).check()
