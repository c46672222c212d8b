"""Exports: named by version, made once, complete, or refused in one sentence.

And what `python -m serve.encoders.export` says, with its exit status.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import pad
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from serve.encoders.backends import choose
from serve.encoders.export import declared_dimensions, export, main
from serve.encoders.exported import FORMAT, Exported, ExportError
from serve.encoders.reference_texts import TEXTS
from tests.tiny import LONGEST, change_json, halve_weights

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # float32, other order of sums


def test_the_folder_is_named_by_the_version_and_holds_what_serving_needs(each: Tiny) -> None:
    folder = each.exported.folder
    assert folder.name == folder_version(each.folder)
    assert {path.name for path in folder.iterdir()} == {
        "export.json",
        "reference.npz",
        "graph.onnx",
        "tokenizer.json",
    }


def test_the_padding_id_is_the_tokenizers(reader: Tiny) -> None:
    expected = {"bert": 0, "roberta": 1}[reader.folder.name]
    assert reader.exported.description.padding_id == expected


def test_reference_vectors_are_the_encoders_embeddings(each: Tiny) -> None:
    reference = each.exported.reference_vectors
    assert np.abs(reference.embeddings - each.reference.encode(TEXTS)).max() < CLOSE
    lengths = {len(row) for row in reference.ids}
    assert max(lengths) == LONGEST
    assert min(lengths) < 8


def test_weights_in_float16_are_exported_as_the_same_weights_in_float32(
    encoder: Path, tmp_path: Path
) -> None:
    halve_weights(encoder)
    SentenceEncoder.load(encoder, "cpu").save(tmp_path / "whole")
    half, whole = (
        Exported.load(export(folder, tmp_path / "out")) for folder in (encoder, tmp_path / "whole")
    )
    assert half.folder != whole.folder
    assert np.array_equal(half.reference_vectors.embeddings, whole.reference_vectors.embeddings)
    ids, mask = pad(half.reference_vectors.ids, half.description.padding_id)
    for name in ("openvino-f32", "onnxruntime-f32", "torch-f32"):
        first, second = (
            choose(one, folder, name, 1).embed(ids, mask)
            for one, folder in ((half, encoder), (whole, tmp_path / "whole"))
        )
        assert np.array_equal(first, second), name


@pytest.mark.parametrize(
    ("listed", "dimensions"),
    [([], (32,)), ([8], (8, 32)), ([16, 8, 16], (8, 16, 32)), ([32], (32,))],
)
def test_declared_dimensions_are_the_configs_and_the_whole(
    encoder: Path, listed: list[int], dimensions: tuple[int, ...]
) -> None:
    change_json(encoder / "config.json", matryoshka_dimensions=listed)
    assert declared_dimensions(encoder, 32) == dimensions


@pytest.mark.parametrize("listed", [[0], [33], [-1], [True], [8.0], ["8"], 8, "8", None, {}])
def test_wrong_declared_dimensions_are_refused(encoder: Path, listed: object) -> None:
    change_json(encoder / "config.json", matryoshka_dimensions=listed)
    with pytest.raises(InputError, match="matryoshka_dimensions must be a list of whole numbers"):
        declared_dimensions(encoder, 32)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "holds no usable export"),
        ("[]", "holds no usable export"),
        ("{}", "holds no usable export"),
        ('{"format": 0}', "was exported by another version of Triad"),
        (f'{{"format": {FORMAT}, "dimensions": []}}', "holds no usable export"),
        (f'{{"format": {FORMAT}, "dimensions": 8}}', "holds no usable export"),
    ],
)
def test_a_damaged_description_is_no_export(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "export.json").write_text(content, encoding="utf-8")
    with pytest.raises(ExportError, match=message):
        Exported.load(tmp_path)


def test_an_export_of_another_format_is_made_again(bert: Tiny, tmp_path: Path) -> None:
    old = tmp_path / bert.exported.folder.name
    old.mkdir()
    (old / "export.json").write_text('{"format": 0}', encoding="utf-8")
    again = Exported.load(export(bert.folder, tmp_path))
    assert again.description == bert.exported.description
    expected = bert.exported.reference_vectors.embeddings
    assert np.array_equal(again.reference_vectors.embeddings, expected)


def test_the_command_says_where_an_export_is_and_writes_nothing_that_is_there(
    bert: Tiny, exports: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = [(path, path.stat().st_mtime_ns) for path in sorted(exports.rglob("*"))]
    assert main([str(bert.folder), "--out", str(exports)]) == 0
    assert capsys.readouterr() == (f"{bert.folder}: {bert.exported.folder}\n", "")
    assert before == [(path, path.stat().st_mtime_ns) for path in sorted(exports.rglob("*"))]


def fail_in_torch(encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Failed to export the model with torch.export.\n\nSummary")

    monkeypatch.setattr("torch.onnx.export", fails)
    (encoder / "README.md").write_text("another version", encoding="utf-8")


DAMAGES: dict[str, Callable[[Path, pytest.MonkeyPatch], object]] = {
    "nothing there": lambda encoder, _: shutil.rmtree(encoder),
    "other modules": lambda encoder, _: (encoder / "modules.json").write_text("[]"),
    "no weights": lambda encoder, _: (encoder / "model.safetensors").unlink(),
    "what torch cannot export": fail_in_torch,
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_cannot_be_exported_is_one_sentence_and_status_1_and_the_others_are_exported(
    bert: Tiny,
    encoder: Path,
    exports: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    damage: Callable[[Path, pytest.MonkeyPatch], object],
) -> None:
    damage(encoder, monkeypatch)
    assert main([str(encoder), str(bert.folder), "--out", str(exports)]) == 1
    said, complaint = capsys.readouterr()
    assert said == f"{bert.folder}: {bert.exported.folder}\n"
    assert complaint.startswith(f"{encoder}: ")
    assert complaint.endswith(".\n")
    assert complaint.count("\n") == 1


def test_a_place_that_cannot_be_written_is_one_sentence_and_status_1(
    bert: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert main([str(bert.folder), "--out", str(tmp_path / "file")]) == 1
    assert capsys.readouterr().err.startswith(f"{bert.folder}: ")
