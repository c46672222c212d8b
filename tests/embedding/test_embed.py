"""Embeddings are those of SentenceEncoder.encode, row by row, whatever is read and written."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from pipeline.encoder.encoder import SentenceEncoder
from tests.embedding.lab import (
    SENTENCES,
    FakeEncoder,
    Run,
    embed,
    embeddings,
    reference,
    table,
    write_folder,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT, WIDTH


def write(path: Path) -> Path:
    """SENTENCES in the format that the name asks for."""
    if not path.suffix:
        return write_folder(path)
    if path.suffix == ".jsonl":
        return write_text(path, [json.dumps({"text": sentence}) for sentence in SENTENCES])
    return write_parquet(path) if path.suffix == ".parquet" else write_text(path)


@pytest.mark.parametrize(
    ("source", "output"),
    [
        ("in.txt", "out.npy"),
        ("in.jsonl", "out.parquet"),
        ("in.parquet", "out.parquet"),
        ("folder", "out.npy"),
    ],
)
def test_they_are_the_encoders_in_the_order_of_the_rows(
    tiny_bert: Path, tmp_path: Path, source: str, output: str
) -> None:
    assert embed(write(tmp_path / source), tmp_path / output, tiny_bert) == 0
    found = embeddings(tmp_path / output)
    assert found.dtype == np.float32
    assert np.abs(found - reference(tiny_bert)).max() < 1e-6
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source, output])
    if output.endswith("parquet"):
        assert parquet.read_table(tmp_path / output)["text"].to_pylist() == SENTENCES


def test_an_array_has_the_bytes_that_numpy_would_write(fake: FakeEncoder, run: Run) -> None:
    assert run() == 0
    np.save(run.folder / "again.npy", np.load(run.output))
    assert (run.folder / "again.npy").read_bytes() == run.output.read_bytes()


@pytest.mark.parametrize("output", ["out.npy", "out.parquet"])
def test_half_precision_is_the_rounded_single_of_length_one(
    tiny_bert: Path, tmp_path: Path, output: str
) -> None:
    source = write_text(tmp_path / "in.txt")
    assert embed(source, tmp_path / "single.npy", tiny_bert, "--normalize") == 0
    half = ["--normalize", "--dtype", "float16"]
    assert embed(source, tmp_path / output, tiny_bert, *half) == 0
    single, halved = np.load(tmp_path / "single.npy"), embeddings(tmp_path / output)
    assert np.abs(np.linalg.norm(single, axis=1) - 1).max() < 1e-6
    assert halved.dtype == np.float16
    assert np.array_equal(halved, single.astype(np.float16))


def test_a_plain_folder_is_pooled_as_asked_and_another_decides_itself(
    tiny_bert: Path, tmp_path: Path
) -> None:
    source, own = write_text(tmp_path / "in.txt"), tmp_path / "encoder"
    SentenceEncoder.load(tiny_bert, "cpu", "max").save(own)
    for encoder, pooling in ((tiny_bert, "mean"), (own, "max")):
        output = tmp_path / f"{pooling}.npy"
        assert embed(source, output, encoder, "--pooling", "mean") == 0
        expected = SentenceEncoder.load(tiny_bert, "cpu", pooling).encode(SENTENCES)
        assert np.abs(np.load(output) - expected).max() < 1e-5


def test_equal_sentences_of_a_chunk_are_encoded_once(fake: FakeEncoder, run: Run) -> None:
    write_text(run.source, ["a", "bb", "a", "a", "ccc"])
    assert run() == 0
    assert fake.seen == [3]
    assert np.load(run.output)[:, 0].tolist() == [1, 2, 1, 1, 3]


def test_a_text_files_lines_are_a_column_of_parquet(fake: FakeEncoder, run: Run) -> None:
    run.source.write_bytes("\ufeffone\r\n\r\ntwo".encode())
    run.output = run.folder / "out.parquet"
    assert run("--column", "sentence") == 0
    assert parquet.read_table(run.output)["sentence"].to_pylist() == ["one", "", "two"]


@pytest.mark.parametrize("source", ["in.parquet", "folder"])
def test_other_columns_of_parquet_are_carried_over(
    fake: FakeEncoder, run: Run, source: str
) -> None:
    run.source, run.output = write(run.folder / source), run.folder / "out.parquet"
    assert run() == 0
    written = parquet.read_table(run.output)
    assert written.schema.field("embedding").type == pa.list_(pa.float32(), fake.dimension)
    assert written.drop_columns("embedding").equals(table())


def test_it_says_what_was_written_and_nothing_else(run: Run) -> None:
    assert run() == 0
    said = run.said.readouterr()
    assert said.out == f"{run.output}: {len(SENTENCES)} embeddings of {WIDTH} numbers, float32.\n"
    assert not said.err


def test_a_terminal_sees_sentences_done_and_their_rate(
    fake: FakeEncoder, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run() == 0
    said = run.said.readouterr().err
    assert f"{len(SENTENCES)}/{len(SENTENCES)}" in said
    assert "sentences/s" in said


# A bare GPU image has none of these; PyArrow and Ray are needed only by who asks for them.
ABSENT = ("bentoml", "datasets", "dvc", "gradio", "hydra", "matplotlib", "pandas", "pyarrow", "ray")
BARE = f"""
import sys

sys.modules.update(dict.fromkeys({ABSENT!r}))  # None: as if not installed
import pipeline.evaluate, pipeline.train
from pipeline.embed import main

encoder = sys.argv[1]
for line in sys.stdin.read().splitlines():
    main([*line.split(), "--encoder", encoder, "--device", "cpu"])
"""


def test_training_evaluation_and_embedding_run_on_a_bare_gpu_image(
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
        [sys.executable, "-c", BARE, str(tiny_bert)],
        input="\n".join(commands),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    pyarrow = "needs the library `pyarrow`; install it with: pip install -e '.[pipeline]'."
    expected = [
        f"embed: OUTPUT: out.parquet {pyarrow}",
        f"embed: INPUT: in.parquet {pyarrow}",
        "embed: --ray: needs the library `ray`",
    ]
    told = run.stderr.splitlines()
    assert all(line.startswith(start) for line, start in zip(told, expected, strict=True)), told
    assert {path.name for path in tmp_path.glob("o*")} == {"out.npy"}
