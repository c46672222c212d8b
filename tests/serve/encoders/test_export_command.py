"""`python -m serve.encoders.export`: what it says, and its exit status."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from serve.encoders.export import main

if TYPE_CHECKING:
    from tests.serve.conftest import Tiny


def test_it_says_where_each_export_is(
    bert: Tiny, exports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(bert.folder), "--out", str(exports)]) == 0
    assert capsys.readouterr() == (f"{bert.folder}: {bert.exported.folder}\n", "")


@pytest.mark.parametrize("damage", ["nothing there", "empty", "no weights", "other modules"])
def test_a_folder_that_is_no_encoder_is_one_sentence_and_status_1(
    encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: str
) -> None:
    if damage == "other modules":
        (encoder / "modules.json").write_text("[]", encoding="utf-8")
    elif damage == "no weights":
        (encoder / "model.safetensors").unlink()
    else:
        shutil.rmtree(encoder)
    if damage == "empty":
        encoder.mkdir()
    assert main([str(encoder), "--out", str(tmp_path / "out")]) == 1
    said, complaint = capsys.readouterr()
    assert said == ""
    assert complaint.startswith(f"{encoder}: ")
    assert complaint.endswith(".\n")
    assert complaint.count("\n") == 1




def test_so_they_are_where_torch_cannot_export_one(
    bert: Tiny,
    encoder: Path,
    exports: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Failed to export the model with torch.export.\n\nSummary")

    monkeypatch.setattr("torch.onnx.export", fails)
    (encoder / "README.md").write_text("another version", encoding="utf-8")
    assert main([str(encoder), str(bert.folder), "--out", str(exports)]) == 1
    said, complaint = capsys.readouterr()
    assert said == f"{bert.folder}: {bert.exported.folder}\n"
    assert complaint.startswith(f"{encoder}: ")
    assert complaint.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_sentence_and_status_1(
    bert: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([str(bert.folder), "--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith(f"{bert.folder}: ")
