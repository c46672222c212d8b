"""Outputs are whole or as they were, and one that cannot be written is refused before any work."""

import errno
import os
from pathlib import Path

import pytest

from pipeline.machine.errors import WriteError
from pipeline.machine.files import (
    check_apart,
    check_writable,
    replacing,
    write_atomically,
    write_together,
    writing,
)
from tests.tiny import contents


def test_what_can_be_written_passes_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "old.json").touch()
    check_writable("--out", tmp_path / "old.json")
    check_writable("--out", tmp_path / "new" / "folder" / "new.json")
    check_writable("--model", tmp_path, folder=True)
    check_writable("--model", tmp_path / "new" / "model", folder=True)
    check_apart({"--out": tmp_path / "a", "--scores": tmp_path / "ab"})
    assert [path.name for path in tmp_path.iterdir()] == ["old.json"]


@pytest.mark.parametrize(
    ("path", "folder", "message"),
    [
        (".", False, r"^--out: .* is a folder; name a file\.$"),
        ("file", True, r"^--out: .*file is a file; name a folder\.$"),
        ("file/below/out", False, r"^--out: .* cannot be written, as .*file is a file"),
        ("file/below/out", True, r"^--out: .* cannot be written, as .*file is a file"),
    ],
)
def test_a_file_in_the_place_of_a_folder_is_refused_and_the_other_way_round(
    tmp_path: Path, path: str, folder: bool, message: str
) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(WriteError, match=message):
        check_writable("--out", tmp_path / path, folder=folder)


def test_a_folder_that_must_not_be_written_to_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda place, _: place != tmp_path)
    with pytest.raises(WriteError, match="no right to write in"):
        check_writable("--out", tmp_path / "new" / "out.json")


@pytest.mark.parametrize(("first", "second"), [("a", "a"), ("a", "a/b"), ("a/b", "a/c/..")])
def test_outputs_in_one_another_are_refused(tmp_path: Path, first: str, second: str) -> None:
    with pytest.raises(WriteError, match=r"lies in what --\w+ writes; keep them apart"):
        check_apart({"--out": tmp_path / first, "--scores": tmp_path / second})


@pytest.mark.parametrize(
    ("error", "problem"),
    [
        (OSError("broken."), r"cannot be written \(broken\)"),
        (RuntimeError("broken\nat line 7"), r"cannot be written \(broken\)"),
        (OSError(errno.ENOSPC, "No space left on device"), r"the disk is full \(24\.0 MB are ne"),
        (OSError("Not enough free space to write 24000000 bytes"), "the disk is full"),  # NumPy's
        (RuntimeError("I/O error: No space left on device (os error 28)"), "the disk is full"),
    ],
)
def test_a_failure_becomes_one_sentence_that_names_the_place(
    error: Exception, problem: str
) -> None:
    expected = rf"^model: {problem}.*; make room, or name another place\.$"
    with (
        pytest.raises(WriteError, match=expected),
        writing(Path("model"), RuntimeError, size=24_000_000),
    ):
        raise error


def test_what_was_not_named_passes_and_a_sentence_is_not_put_into_another() -> None:
    with pytest.raises(RuntimeError, match="other"), writing(Path("model")):
        raise RuntimeError("other")
    with (
        pytest.raises(WriteError, match=r"^curve: cannot"),
        writing(Path("model")),
        writing(Path("curve")),
    ):
        raise OSError("disk full")


def test_several_are_written_with_their_folders(tmp_path: Path) -> None:
    write_together({tmp_path / "a": b"1", tmp_path / "new" / "b": b"2"})
    assert contents(tmp_path) == {"a": b"1", "new/b": b"2"}


@pytest.mark.parametrize(
    ("unusable", "message"),
    [("a/below", "below: cannot be written"), ("folder", r"folder is a folder; name a file\.$")],
)
def test_of_several_none_is_written_if_one_cannot_be(
    tmp_path: Path, unusable: str, message: str
) -> None:
    write_atomically(tmp_path / "a", b"old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(WriteError, match=message):
        write_together({tmp_path / "a": b"new", tmp_path / unusable: b"new"})
    assert contents(tmp_path) == {"a": b"old"}


def test_a_new_folder_replaces_all_of_the_old(tmp_path: Path) -> None:
    write_atomically(tmp_path / "model" / "old", b"old")
    with replacing(tmp_path / "model") as folder:
        (folder / "new").write_bytes(b"new")
    assert contents(tmp_path) == {"model/new": b"new"}


def test_an_error_keeps_the_old_folder(tmp_path: Path) -> None:
    write_atomically(tmp_path / "model" / "old", b"old")
    with (
        pytest.raises(WriteError, match="model: cannot be written"),
        replacing(tmp_path / "model") as folder,
    ):
        folder.write_bytes(b"a folder, as if the disk were full")
    assert contents(tmp_path) == {"model/old": b"old"}
