"""Embeddings are those of SentenceEncoder.encode, row by row, whatever is read and written."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pipeline.encoder.encoder import SentenceEncoder
from tests.embedding.lab import (
    SENTENCES,
    FakeEncoder,
    embed,
    embeddings,
    reference,
    table,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT, WIDTH

if TYPE_CHECKING:
    from pathlib import Path

OUTPUTS = ("out.npy", "out.parquet")


def write(path: Path) -> Path:
    """SENTENCES in a file, or a folder of two files, of the kind that its name asks for."""
    if not path.suffix:
        path.mkdir()
        write_parquet(path / "b.parquet", table().slice(9))
        write_parquet(path / "a.parquet", table().slice(0, 9))
        (path / "_SUCCESS").touch()
        (path / "_part.parquet").touch()
        return path
    return write_parquet(path) if path.suffix == ".parquet" else write_text(path)


class TestEmbeddings:
    @pytest.mark.parametrize(
        ("source", "output"),
        [
            ("in.txt", "out.npy"),
            ("in.txt.gz", "out.parquet"),
            ("in.txt.xz", "out.npy"),
            ("IN.TXT", "out.npy"),
            ("in.parquet", "out.parquet"),
            ("folder", "out.npy"),
        ],
    )
    def test_they_are_the_encoders_in_the_order_of_the_rows(
        self, tiny_bert: Path, tmp_path: Path, source: str, output: str
    ) -> None:
        assert embed(write(tmp_path / source), tmp_path / output, tiny_bert) == 0
        found = embeddings(tmp_path / output)
        assert found.dtype == np.float32
        assert np.abs(found - reference(tiny_bert)).max() < 1e-6
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, output])
        if output.endswith("parquet"):
            assert parquet.read_table(tmp_path / output)["text"].to_pylist() == SENTENCES

    def test_an_array_has_the_bytes_that_numpy_would_write(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path
    ) -> None:
        assert embed(write_text(tmp_path / "in.txt"), tmp_path / "out.npy", tiny_bert) == 0
        np.save(tmp_path / "again.npy", np.load(tmp_path / "out.npy"))
        assert (tmp_path / "again.npy").read_bytes() == (tmp_path / "out.npy").read_bytes()

    @pytest.mark.parametrize("output", OUTPUTS)
    def test_half_precision_is_the_rounded_single_of_length_one(
        self, tiny_bert: Path, tmp_path: Path, output: str
    ) -> None:
        source = write_text(tmp_path / "in.txt")
        assert embed(source, tmp_path / "single.npy", tiny_bert, "--normalise") == 0
        options = ["--normalise", "--dtype", "float16"]
        assert embed(source, tmp_path / output, tiny_bert, *options) == 0
        single, half = np.load(tmp_path / "single.npy"), embeddings(tmp_path / output)
        assert np.abs(np.linalg.norm(single, axis=1) - 1).max() < 1e-6
        assert half.dtype == np.float16
        assert np.array_equal(half, single.astype(np.float16))

    def test_a_plain_folder_is_pooled_as_asked(self, tiny_bert: Path, tmp_path: Path) -> None:
        source = write_text(tmp_path / "in.txt")
        assert embed(source, tmp_path / "out.npy", tiny_bert, "--pooling", "mean") == 0
        expected = SentenceEncoder.load(tiny_bert, "cpu", "mean").encode(SENTENCES)
        assert np.abs(np.load(tmp_path / "out.npy") - expected).max() < 1e-5

    def test_a_sentence_transformers_folder_decides_itself(
        self, tiny_bert: Path, tmp_path: Path
    ) -> None:
        SentenceEncoder.load(tiny_bert, "cpu", "max").save(tmp_path / "encoder")
        source = write_text(tmp_path / "in.txt")
        assert embed(source, tmp_path / "out.npy", tmp_path / "encoder") == 0
        expected = SentenceEncoder.load(tiny_bert, "cpu", "max").encode(SENTENCES)
        assert np.abs(np.load(tmp_path / "out.npy") - expected).max() < 1e-5

    def test_equal_sentences_of_a_chunk_are_encoded_once(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path
    ) -> None:
        source = write_text(tmp_path / "in.txt", ["a", "bb", "a", "a", "ccc"])
        assert embed(source, tmp_path / "out.npy", tiny_bert) == 0
        assert fake.seen == [3]
        assert np.load(tmp_path / "out.npy")[:, 0].tolist() == [1, 2, 1, 1, 3]


class TestRows:
    def test_windows_line_ends_a_mark_and_a_missing_last_end_are_no_text(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path
    ) -> None:
        (tmp_path / "in.txt").write_bytes("\ufeffone\r\n\r\ntwo".encode())
        options = ["--column", "sentence"]
        source, output = tmp_path / "in.txt", tmp_path / "out.parquet"
        assert embed(source, output, tiny_bert, *options) == 0
        assert parquet.read_table(output)["sentence"].to_pylist() == ["one", "", "two"]

    @pytest.mark.parametrize("source", ["in.parquet", "folder"])
    def test_other_columns_are_carried_over(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, source: str
    ) -> None:
        assert embed(write(tmp_path / source), tmp_path / "out.parquet", tiny_bert) == 0
        written = parquet.read_table(tmp_path / "out.parquet")
        assert written.schema.field("embedding").type == pa.list_(pa.float32(), fake.dimension)
        assert written.drop_columns("embedding").equals(table())

    @pytest.mark.parametrize("kind", [pa.large_string(), pa.dictionary(pa.int8(), pa.string())])
    def test_every_kind_of_text_column_is_read(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, kind: pa.DataType
    ) -> None:
        rows = pa.table({"words": pa.array(["a", "bb"], kind)})
        source = write_parquet(tmp_path / "in.parquet", rows)
        assert embed(source, tmp_path / "out.npy", tiny_bert, "--column", "words") == 0
        assert np.load(tmp_path / "out.npy")[:, 0].tolist() == [1, 2]


class TestTerminal:
    def test_it_says_what_was_written_and_nothing_else(
        self, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        output = tmp_path / "out.npy"
        assert embed(write_text(tmp_path / "in.txt"), output, tiny_bert) == 0
        said = capsys.readouterr()
        rows = len(SENTENCES)
        assert said.out == f"{output}: {rows} embeddings of {WIDTH} numbers, float32.\n"
        assert not said.err

    def test_a_terminal_sees_sentences_done_and_their_rate(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("COLUMNS", "120")
        assert embed(write_text(tmp_path / "in.txt"), tmp_path / "out.npy", tiny_bert) == 0
        said = capsys.readouterr().err
        assert f"{len(SENTENCES)}/{len(SENTENCES)}" in said
        assert "sentences/s" in said


# Neither is there on a bare GPU image; the second needs Parquet or --ray to be asked for.
WITHOUT = """
import sys

sys.modules.update(dict.fromkeys(("pyarrow", "ray")))
from pipeline.embed import main

encoder = sys.argv[1]
for line in sys.stdin.read().splitlines():
    main([*line.split(), "--encoder", encoder, "--device", "cpu"])
"""


def test_ray_and_pyarrow_are_needed_only_when_they_are_used(
    tiny_bert: Path, tmp_path: Path
) -> None:
    write_text(tmp_path / "in.txt")
    write_parquet(tmp_path / "in.parquet")
    commands = [
        "in.txt out.npy",
        "in.txt out.parquet",
        "in.parquet other.npy",
        "in.txt other.npy --ray local",
    ]
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT, str(tiny_bert)],
        input="\n".join(commands),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [
        "embed: OUTPUT: out.parquet needs the library `pyarrow`",
        "embed: INPUT: in.parquet needs the library `pyarrow`",
        "embed: --ray: needs the library `ray`",
    ]
    told = run.stderr.splitlines()
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True)), told
    assert {path.name for path in tmp_path.glob("o*")} == {"out.npy"}
