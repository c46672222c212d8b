"""What cannot be embedded is one sentence, and nothing is written or lost."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
import torch
from pyarrow import parquet

from tests.embedding.lab import FakeEncoder, Run, table, write_parquet, write_text
from tests.tiny import contents


def refused(run: Run, *more: str) -> str:
    """The sentence; the folder of input and output is as it was."""
    before = contents(run.folder)
    said = run.refused(*more)
    assert contents(run.folder) == before
    return said


# What the reader refuses in a file is in tests/data/test_rows.py.
INPUTS: list[tuple[str, Callable[[Path], object], str]] = [
    ("in.txt.gz", lambda path: path.touch(), r"INPUT: \S+in.txt.gz is empty; give a file with a"),
    (
        "folder",
        lambda path: path.mkdir(),
        r"INPUT: \S+folder is a folder without .parquet files; name a file in it\.$",
    ),
    (
        "in.parquet",
        lambda path: write_parquet(path, pa.table({"text": ["a", "b", None, "d"]})),
        r"INPUT: \S+in.parquet, row 3: 'text' is null; fill it, or leave the row out\.$",
    ),
]


@pytest.mark.parametrize(("name", "write", "expected"), INPUTS, ids=[name for name, *_ in INPUTS])
def test_an_input_that_cannot_be_read_is_named_with_the_row(
    fake: FakeEncoder, run: Run, name: str, write: Callable[[Path], object], expected: str
) -> None:
    (run.folder / "given").mkdir()
    run.source = run.folder / "given" / name
    write(run.source)
    assert re.match(expected, refused(run))


class TestParquetOutput:
    def test_a_column_of_the_embeddings_name(self, fake: FakeEncoder, run: Run) -> None:
        rows = table().append_column("embedding", table()["id"])
        run.source = write_parquet(run.folder / "in.parquet", rows)
        run.output = run.folder / "out.parquet"
        assert refused(run).startswith("INPUT: a column is called 'embedding' already")
        run.output = run.folder / "out.npy"
        assert run() == 0

    def test_a_damaged_column_beside_the_text(self, fake: FakeEncoder, run: Run) -> None:
        """It is read when the embeddings are there, which the next run keeps."""
        run.source = write_parquet(run.folder / "in.parquet")
        run.output = run.folder / "out.parquet"
        whole = run.source.read_bytes()
        first_column = parquet.ParquetFile(run.source).metadata.row_group(0).column(0)
        assert first_column.path_in_schema == "id"
        start = first_column.data_page_offset
        run.source.write_bytes(whole[:start] + bytes(20) + whole[start + 20 :])
        said = run.refused()
        assert re.match(
            r"INPUT: \S+in.parquet is no readable Parquet file .*; fetch it again\.$", said
        )
        assert not run.output.exists()

    def test_files_of_other_columns(self, fake: FakeEncoder, run: Run) -> None:
        run.source, run.output = run.folder / "in", run.folder / "out.parquet"
        run.source.mkdir()
        write_parquet(run.source / "a.parquet")
        write_parquet(run.source / "b.parquet", table().drop_columns("id"))
        assert re.match(
            r"INPUT: \S+b.parquet has other columns or types than \S+a.parquet", refused(run)
        )
        run.output = run.folder / "out.npy"
        assert run() == 0


class TestOutput:
    def test_an_unknown_format(self, run: Run) -> None:
        run.output = run.folder / "out.csv"
        assert refused(run).endswith("is of an unknown format; give a name in .npy or .parquet.")

    def test_one_that_exists(self, run: Run) -> None:
        run.output.write_text("something else")
        assert refused(run) == f"OUTPUT: {run.output} exists; remove it, or name another."
        run.output.unlink()
        run.output.mkdir()
        assert refused(run).endswith("out.npy is a folder; name a file.")

    def test_in_the_inputs_or_the_encoders_folder(self, own: Path, run: Run) -> None:
        folder = run.folder / "in"
        folder.mkdir()
        run.output = write_parquet(folder / "in.parquet")
        for source in (run.output, folder):
            run.source = source
            assert refused(run) == f"OUTPUT: {run.output} lies in INPUT, {source}; write elsewhere."
        run.encoder, run.output = own, own / "out.npy"
        assert refused(run) == f"OUTPUT: {run.output} lies in --encoder, {own}; write elsewhere."

    def test_a_disk_without_room_is_told_before_the_work(
        self, fake: FakeEncoder, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        fake.dimension = 64_000_000
        monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(9, 9, 9))
        assert re.search(r"needs 5.6 GB more and \S+ has 0.0 GB; make room", refused(run))


class TestEncoder:
    def test_a_text_or_a_missing_folder(self, run: Run) -> None:
        for encoder in (run.source, run.folder / "nowhere", run.folder):
            run.encoder = encoder
            expected = f"--encoder: {encoder} is no encoder's folder (it has no"
            assert refused(run).startswith(expected)

    @pytest.mark.parametrize(
        ("value", "dtype", "row"), [(1e5, "float16", 3), (float("nan"), "float32", 1)]
    )
    def test_numbers_that_the_type_cannot_hold(
        self, fake: FakeEncoder, run: Run, value: float, dtype: str, row: int
    ) -> None:
        fake.value = value
        write_text(run.source, ["", "", "a"] if row == 3 else ["a"])
        assert run.refused("--dtype", dtype).startswith(
            f"--dtype: {dtype} cannot hold the embedding of row {row}, which"
        )

    def test_a_batch_that_the_device_has_no_memory_for(self, fake: FakeEncoder, run: Run) -> None:
        def exhausted() -> None:
            raise torch.OutOfMemoryError("CUDA out of memory.")

        fake.watch = exhausted
        assert run.refused().startswith(
            "--batch-size: 4 sentences at a time do not fit the device's memory"
        )


class TestOptions:
    @pytest.mark.parametrize("address", ["ray://host:1", "host:port"])
    def test_what_is_no_address(self, run: Run, address: str) -> None:
        said = refused(run, "--ray", address)
        assert said.startswith(f"--ray: {address!r} is no address; give local, auto or HOST:PORT")

    def test_workers_without_a_cluster(self, run: Run) -> None:
        said = refused(run, "--workers", "2")
        assert said == "--workers: it is for a cluster's workers; give --ray ADDRESS too."
