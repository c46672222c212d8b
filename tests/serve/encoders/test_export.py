"""Exports: named by version, made once, complete, or refused in one sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import pad
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError
from serve.encoders.backends import choose
from serve.encoders.export import declared_dimensions, export
from serve.encoders.exported import FORMAT, Exported, ExportError
from serve.encoders.reference_texts import TEXTS
from tests.tiny import LONGEST, WIDTH, change_json, contents, halve_weights

if TYPE_CHECKING:
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


def test_a_second_export_writes_nothing(bert: Tiny, exports: Path) -> None:
    folder = bert.exported.folder
    before = contents(folder), [path.stat().st_mtime_ns for path in sorted(exports.rglob("*"))]
    assert export(bert.folder, exports) == folder
    after = contents(folder), [path.stat().st_mtime_ns for path in sorted(exports.rglob("*"))]
    assert before == after




def test_the_description_is_that_of_the_encoder(bert: Tiny) -> None:
    description = bert.exported.description
    assert (description.dimension, description.dimensions) == (WIDTH, (8, 16, WIDTH))
    assert (description.max_length, description.pooling) == (LONGEST, "mean")
    assert not description.normalize


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


def test_the_graph_reads_the_mask_and_not_the_ids_in_its_place(each: Tiny) -> None:
    """An exporter that is given one tensor twice takes both inputs for one."""
    embed = each.served.backend.embed
    ids, mask = pad([[2, 7, 8, 3], [2, 7, 3]], each.exported.description.padding_id)
    whole = np.ones_like(mask)
    assert np.abs(embed(ids, mask)[1] - embed(ids, whole)[1]).max() > 100 * CLOSE
    other = ids.copy()
    other[1, 3] = 9  # a place that the mask leaves out
    assert np.abs(embed(ids, mask) - embed(other, mask)).max() < CLOSE




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
def test_wrong_declared_dimensions_are_refused(
    encoder: Path, tmp_path: Path, listed: object
) -> None:
    change_json(encoder / "config.json", matryoshka_dimensions=listed)
    with pytest.raises(InputError, match="matryoshka_dimensions must be a list of whole numbers"):
        export(encoder, tmp_path / "out")
    assert not list((tmp_path / "out").iterdir())




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
    assert np.array_equal(again.reference_vectors.embeddings, bert.exported.reference_vectors.embeddings)
