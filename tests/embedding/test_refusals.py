"""What cannot be embedded is one sentence, and nothing is written or lost."""

from __future__ import annotations

import re
import shutil
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pytest
import torch

from tests.embedding.lab import (
    FakeEncoder,
    embed,
    one_line,
    table,
    write_parquet,
    write_text,
)
from tests.tiny import contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Said = pytest.CaptureFixture[str]


def refused(said: Said, source: Path, output: Path, encoder: Path, *more: str) -> str:
    """The sentence; the folders of input and output are as they were."""
    places = [path.parent for path in (source, output) if path.parent.is_dir()]
    before = [contents(place) for place in places]
    said.readouterr()
    assert embed(source, output, encoder, *more) == 1
    assert [contents(place) for place in places] == before
    return one_line(said.readouterr().err)


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
    tiny_bert: Path, tmp_path: Path, capsys: Said, fake: FakeEncoder, case: Case
) -> None:
    case.write(tmp_path / case.name)
    said = refused(capsys, tmp_path / case.name, tmp_path / "out.npy", tiny_bert, *case.more)
    assert re.match(case.expected, said)


class TestParquetOutput:
    def test_a_column_of_the_embeddings_name_is_refused(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said, fake: FakeEncoder
    ) -> None:
        rows = table().append_column("embedding", table()["id"])
        source = write_parquet(tmp_path / "in.parquet", rows)
        said = refused(capsys, source, tmp_path / "out.parquet", tiny_bert)
        assert said.startswith("INPUT: a column is called 'embedding' already")
        assert embed(source, tmp_path / "out.npy", tiny_bert) == 0

    def test_files_of_other_columns_are_refused(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said, fake: FakeEncoder
    ) -> None:
        (tmp_path / "in").mkdir()
        write_parquet(tmp_path / "in" / "a.parquet")
        write_parquet(tmp_path / "in" / "b.parquet", table().drop_columns("id"))
        said = refused(capsys, tmp_path / "in", tmp_path / "out.parquet", tiny_bert)
        assert re.match(r"INPUT: \S+b.parquet has other columns or types than \S+a.parquet", said)
        assert embed(tmp_path / "in", tmp_path / "out.npy", tiny_bert) == 0


class TestOutput:
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return write_text(tmp_path / "in.txt")

    def test_an_unknown_format(
        self, tiny_bert: Path, tmp_path: Path, source: Path, capsys: Said
    ) -> None:
        said = refused(capsys, source, tmp_path / "out.csv", tiny_bert)
        assert said.endswith("is of an unknown format; give a name in .npy or .parquet.")

    def test_one_that_exists_is_kept(
        self, tiny_bert: Path, tmp_path: Path, source: Path, capsys: Said
    ) -> None:
        (tmp_path / "out.npy").write_text("something else")
        said = refused(capsys, source, tmp_path / "out.npy", tiny_bert)
        assert said == f"OUTPUT: {tmp_path / 'out.npy'} exists; remove it, or name another."

    def test_a_folder(self, tiny_bert: Path, tmp_path: Path, source: Path, capsys: Said) -> None:
        (tmp_path / "out.npy").mkdir()
        said = refused(capsys, source, tmp_path / "out.npy", tiny_bert)
        assert said.endswith("out.npy is a folder; name a file.")

    def test_a_folder_of_parts_that_is_something_else(
        self, tiny_bert: Path, tmp_path: Path, source: Path, capsys: Said
    ) -> None:
        (tmp_path / "out.npy.parts").mkdir()
        (tmp_path / "out.npy.parts" / "diary").touch()
        said = refused(capsys, source, tmp_path / "out.npy", tiny_bert)
        assert said.endswith("out.npy.parts is not of an unfinished run; move it, or name another.")

    def test_the_input_itself_and_its_folder(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said
    ) -> None:
        folder = tmp_path / "in"
        folder.mkdir()
        source = write_parquet(folder / "in.parquet")
        for given in (source, folder):
            said = refused(capsys, given, source, tiny_bert)
            assert said == f"OUTPUT: {source} lies in INPUT, {given}; write elsewhere."

    def test_the_encoders_folder(self, own: Path, source: Path, capsys: Said) -> None:
        said = refused(capsys, source, own / "out.npy", own)
        assert said == f"OUTPUT: {own / 'out.npy'} lies in --encoder, {own}; write elsewhere."

    @pytest.mark.parametrize(("output", "needed"), [("out.npy", "5.6"), ("out.parquet", "11.3")])
    def test_a_disk_without_room_is_told_before_the_work(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        source: Path,
        capsys: Said,
        monkeypatch: pytest.MonkeyPatch,
        output: str,
        needed: str,
    ) -> None:
        fake.dimension = 64_000_000
        monkeypatch.setattr(shutil, "disk_usage", lambda place: shutil._ntuple_diskusage(9, 9, 9))
        said = refused(capsys, source, tmp_path / output, tiny_bert)
        assert re.search(rf"needs {needed} GB more and \S+ has 0.0 GB; make room", said)


class TestEncoder:
    def test_a_text_or_a_missing_folder(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said
    ) -> None:
        source = write_text(tmp_path / "in.txt")
        for given in (source, tmp_path / "nowhere", tmp_path):
            said = refused(capsys, source, tmp_path / "out.npy", given)
            assert said.startswith(f"--encoder: {given} is no encoder's folder (it has no")

    @pytest.mark.parametrize(("value", "dtype"), [(1e5, "float16"), (float("nan"), "float32")])
    def test_numbers_that_the_type_cannot_hold(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        capsys: Said,
        value: float,
        dtype: str,
    ) -> None:
        fake.value = value
        source = write_text(tmp_path / "in.txt", ["", "", "a"] if dtype == "float16" else ["a"])
        assert embed(source, tmp_path / "out.npy", tiny_bert, "--dtype", dtype) == 1
        row = 3 if dtype == "float16" else 1
        said = one_line(capsys.readouterr().err)
        assert said.startswith(f"--dtype: {dtype} cannot hold the embedding of row {row}, which")

    def test_a_batch_that_the_device_has_no_memory_for(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, capsys: Said
    ) -> None:
        def exhausted() -> None:
            raise torch.OutOfMemoryError("CUDA out of memory.")

        fake.watch = exhausted
        assert embed(write_text(tmp_path / "in.txt"), tmp_path / "out.npy", tiny_bert) == 1
        said = one_line(capsys.readouterr().err)
        assert said.startswith("--batch-size: 4 sentences at a time do not fit the device's memory")


class TestOptions:
    @pytest.mark.parametrize("address", ["ray://host:1", "host:port"])
    def test_what_is_no_address(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said, address: str
    ) -> None:
        source = write_text(tmp_path / "in.txt")
        said = refused(capsys, source, tmp_path / "out.npy", tiny_bert, "--ray", address)
        assert said.startswith(f"--ray: {address!r} is no address; give local, auto or HOST:PORT")

    @pytest.mark.parametrize(("option", "value"), [("--workers", "2"), ("--gpus-per-worker", "0")])
    def test_workers_without_a_cluster(
        self, tiny_bert: Path, tmp_path: Path, capsys: Said, option: str, value: str
    ) -> None:
        source = write_text(tmp_path / "in.txt")
        said = refused(capsys, source, tmp_path / "out.npy", tiny_bert, option, value)
        assert said == f"{option}: it is for a cluster's workers; give --ray ADDRESS too."
