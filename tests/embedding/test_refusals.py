"""What cannot be embedded is one sentence, and nothing is written or lost."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
import torch

from tests.embedding.lab import FakeEncoder, Run, table, write_parquet, write_text
from tests.tiny import contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def refused(run: Run, *more: str) -> str:
    """The sentence; the folder of input and output is as it was."""
    before = contents(run.folder)
    said = run.refused(*more)
    assert contents(run.folder) == before
    return said


def bad_bytes(*values: bytes) -> pa.Array:
    """A column of strings that are not UTF-8."""
    return pa.array(values, pa.binary()).view(pa.string())


class Case(NamedTuple):
    name: str
    write: Callable[[Path], object]
    expected: str
    more: tuple[str, ...] = ()


CASES = [
    Case(
        "missing.txt",
        lambda path: write_text(path.with_name("misssing.txt")),
        r"INPUT: \S+/missing.txt does not exist; did you mean \S+/misssing.txt\?",
    ),
    Case("else.txt", lambda path: None, r"INPUT: \S+/else.txt does not exist; check the path\."),
    Case(
        "no/such.txt",
        lambda path: None,
        r"INPUT: \S+such.txt does not exist, nor does its folder \S+/no; check the path\.",
    ),
    Case(
        "in.csv",
        lambda path: path.write_text("a,b"),
        r"INPUT: \S+in.csv is of an unknown format; allowed are .txt, .txt.gz, .txt.xz, .parquet "
        r"and a folder of .parquet files\.",
    ),
    Case("in.txt", lambda path: path.touch(), r"INPUT: \S+in.txt is empty; give a file with a"),
    Case("in.txt.gz", lambda path: path.touch(), r"INPUT: \S+in.txt.gz is empty; give"),
    Case("in.txt.xz", lambda path: write_text(path, []), r"INPUT: \S+in.txt.xz is empty; give"),
    Case(
        "in.parquet",
        lambda path: write_parquet(path, table().slice(0, 0)),
        r"INPUT: \S+in.parquet is empty; give",
    ),
    Case(
        "folder",
        lambda path: path.mkdir(),
        r"INPUT: \S+folder is a folder without .parquet files; name a file in it\.",
    ),
    Case(
        "in.txt",
        lambda path: path.write_bytes(b"one\ntwo\nthr\xff\n"),
        r"INPUT: \S+in.txt holds a byte that is not UTF-8 \(line 3, byte 11\); only UTF-8 text is "
        r"read, so convert the file or choose another\.",
    ),
    Case(
        "in.txt",
        lambda path: path.write_bytes("two\nlines".encode("utf-16-le")),
        r"INPUT: \S+in.txt holds a NUL byte \(line 1, byte 1\); only UTF-8",
    ),
    Case(
        "in.txt.gz",
        lambda path: path.write_bytes(b"no gzip"),
        r"INPUT: \S+in.txt.gz is damaged or cut short \(Not a gzipped file \(b'no'\)\); fetch",
    ),
    Case(
        "in.txt.xz",
        lambda path: path.write_bytes(write_text(path).read_bytes()[:-20]),
        r"INPUT: \S+in.txt.xz is damaged or cut short \(.+\); fetch it again\.",
    ),
    Case(
        "in.parquet",
        lambda path: path.write_bytes(b"no Parquet"),
        r"INPUT: \S+in.parquet is no readable Parquet file \(.+\); fetch it again\.",
    ),
    Case(
        "in.parquet",
        lambda path: write_parquet(path, table(column="sentence")),
        r"--column, in \S+in.parquet: unknown column 'sentense'; did you mean 'sentence'\? Known: "
        r"id, sentence\.",
        ("--column", "sentense"),
    ),
    Case(
        "in.parquet",
        write_parquet,
        r"--column, in \S+in.parquet: 'id' is of type int64, not text; columns of text are: text\.",
        ("--column", "id"),
    ),
    Case(
        "in.parquet",
        lambda path: write_parquet(path, pa.table({"text": ["a", "b", None, "d"]})),
        r"INPUT: \S+in.parquet, row 3: 'text' is null; fill it, or leave the row out\.",
    ),
    Case(
        "in.parquet",
        lambda path: write_parquet(path, pa.table({"text": bad_bytes(b"a", b"\xff")})),
        r"INPUT: \S+in.parquet, row 2: its text is not UTF-8; convert the file\.",
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_input_that_cannot_be_read_is_named_with_the_row(
    fake: FakeEncoder, run: Run, case: Case
) -> None:
    (run.folder / "given").mkdir()
    run.source = run.folder / "given" / case.name
    case.write(run.source)
    assert re.match(case.expected, refused(run, *case.more))


class TestParquetOutput:
    def test_a_column_of_the_embeddings_name(self, fake: FakeEncoder, run: Run) -> None:
        rows = table().append_column("embedding", table()["id"])
        run.source = write_parquet(run.folder / "in.parquet", rows)
        run.output = run.folder / "out.parquet"
        assert refused(run).startswith("INPUT: a column is called 'embedding' already")
        run.output = run.folder / "out.npy"
        assert run() == 0

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

    def test_a_folder(self, run: Run) -> None:
        run.output.mkdir()
        assert refused(run).endswith("out.npy is a folder; name a file.")

    def test_a_folder_of_parts_that_is_something_else(self, run: Run) -> None:
        run.parts.mkdir()
        (run.parts / "diary").touch()
        assert refused(run).endswith(
            "out.npy.parts is not of an unfinished run; move it, or name another."
        )

    def test_the_input_itself_and_its_folder(self, run: Run) -> None:
        folder = run.folder / "in"
        folder.mkdir()
        run.output = write_parquet(folder / "in.parquet")
        for given in (run.output, folder):
            run.source = given
            assert refused(run) == f"OUTPUT: {run.output} lies in INPUT, {given}; write elsewhere."

    def test_the_encoders_folder(self, own: Path, run: Run) -> None:
        run.encoder, run.output = own, own / "out.npy"
        assert refused(run) == f"OUTPUT: {run.output} lies in --encoder, {own}; write elsewhere."

    @pytest.mark.parametrize(("output", "needed"), [("out.npy", "5.6"), ("out.parquet", "11.3")])
    def test_a_disk_without_room_is_told_before_the_work(
        self,
        fake: FakeEncoder,
        run: Run,
        monkeypatch: pytest.MonkeyPatch,
        output: str,
        needed: str,
    ) -> None:
        fake.dimension, run.output = 64_000_000, run.folder / output
        monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(9, 9, 9))
        assert re.search(rf"needs {needed} GB more and \S+ has 0.0 GB; make room", refused(run))


class TestEncoder:
    def test_a_text_or_a_missing_folder(self, run: Run) -> None:
        for given in (run.source, run.folder / "nowhere", run.folder):
            run.encoder = given
            expected = f"--encoder: {given} is no encoder's folder (it has no"
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

    @pytest.mark.parametrize(("option", "value"), [("--workers", "2"), ("--gpus-per-worker", "0")])
    def test_workers_without_a_cluster(self, run: Run, option: str, value: str) -> None:
        said = refused(run, option, value)
        assert said == f"{option}: it is for a cluster's workers; give --ray ADDRESS too."
