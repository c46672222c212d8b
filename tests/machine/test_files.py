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


class TestChecks:
    def test_what_can_be_written_passes_and_nothing_is_made(self, tmp_path: Path) -> None:
        (tmp_path / "old.json").touch()
        check_writable("--out", tmp_path / "old.json")
        check_writable("--out", tmp_path / "new" / "folder" / "new.json")
        check_writable("--model", tmp_path, folder=True)
        check_writable("--model", tmp_path / "new" / "model", folder=True)
        assert list(contents(tmp_path)) == ["old.json"]
        assert not (tmp_path / "new").exists()

    def test_a_folder_in_the_place_of_a_file_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(WriteError, match=r"^--out: .* is a folder; name a file\.$"):
            check_writable("--out", tmp_path)

    def test_a_file_in_the_place_of_a_folder_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(WriteError, match=r"^--model: .*file is a file; name a folder\.$"):
            check_writable("--model", tmp_path / "file", folder=True)

    @pytest.mark.parametrize("folder", [True, False])
    def test_a_file_above_it_is_refused(self, tmp_path: Path, folder: bool) -> None:
        (tmp_path / "file").touch()
        with pytest.raises(WriteError, match=r"^--out: .* cannot be written, as .*file is a file"):
            check_writable("--out", tmp_path / "file" / "below" / "out", folder=folder)

    def test_a_folder_that_must_not_be_written_to_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(os, "access", lambda place, _: place != tmp_path)
        with pytest.raises(WriteError, match="no right to write in"):
            check_writable("--out", tmp_path / "new" / "out.json")

    @pytest.mark.parametrize(("first", "second"), [("a", "a"), ("a", "a/b"), ("a/b", "a/c/..")])
    def test_outputs_in_one_another_are_refused(
        self, tmp_path: Path, first: str, second: str
    ) -> None:
        with pytest.raises(WriteError, match=r"lies in what --\w+ writes; keep them apart"):
            check_apart({"--out": tmp_path / first, "--scores": tmp_path / second})

    def test_outputs_beside_one_another_pass(self, tmp_path: Path) -> None:
        check_apart({"--out": tmp_path / "a", "--scores": tmp_path / "ab"})


class TestWriting:
    def test_any_failure_becomes_one_sentence_that_names_the_place(self, tmp_path: Path) -> None:
        expected = r"model: cannot be written \(broken\); make room, or name another place"
        for error in (OSError("broken."), RuntimeError("broken\nat line 7")):
            with pytest.raises(WriteError, match=expected), writing(Path("model"), RuntimeError):
                raise error

    @pytest.mark.parametrize(
        "error",
        [
            OSError(errno.ENOSPC, "No space left on device"),
            OSError("Not enough free space to write 24000000 bytes after offset 128"),  # NumPy's
            RuntimeError("I/O error: No space left on device (os error 28)"),
        ],
    )
    def test_a_full_disk_is_told_with_what_is_needed(self, error: Exception) -> None:
        expected = r"^model: the disk is full \(24\.0 MB are needed\); make room, or name another"
        with (
            pytest.raises(WriteError, match=expected),
            writing(Path("model"), RuntimeError, size=24_000_000),
        ):
            raise error

    def test_what_was_not_named_passes(self) -> None:
        with pytest.raises(RuntimeError, match="other"), writing(Path("model")):
            raise RuntimeError("other")

    def test_a_sentence_is_not_put_into_another(self) -> None:
        with (
            pytest.raises(WriteError, match=r"^curve: cannot"),
            writing(Path("model")),
            writing(Path("curve")),
        ):
            raise OSError("disk full")


class TestFiles:
    def test_of_several_none_is_written_if_one_cannot_be(self, tmp_path: Path) -> None:
        write_atomically(tmp_path / "a", b"old")
        (tmp_path / "file").touch()
        with pytest.raises(WriteError, match="b: cannot be written"):
            write_together({tmp_path / "a": b"new", tmp_path / "file" / "b": b"new"})
        assert contents(tmp_path) == {"a": b"old", "file": b""}

    def test_a_folder_in_the_place_of_one_costs_none_of_the_others(self, tmp_path: Path) -> None:
        write_atomically(tmp_path / "a", b"old")
        (tmp_path / "b").mkdir()
        with pytest.raises(WriteError, match=r"b is a folder; name a file\.$"):
            write_together({tmp_path / "a": b"new", tmp_path / "b": b"new"})
        assert contents(tmp_path) == {"a": b"old"}

    def test_several_are_written_with_their_folders(self, tmp_path: Path) -> None:
        write_together({tmp_path / "a": b"1", tmp_path / "new" / "b": b"2"})
        assert contents(tmp_path) == {"a": b"1", "new/b": b"2"}


class TestFolders:
    def test_the_new_one_replaces_all_of_the_old(self, tmp_path: Path) -> None:
        write_atomically(tmp_path / "model" / "old", b"old")
        with replacing(tmp_path / "model") as folder:
            (folder / "new").write_bytes(b"new")
        assert contents(tmp_path) == {"model/new": b"new"}

    def test_an_error_keeps_the_old(self, tmp_path: Path) -> None:
        write_atomically(tmp_path / "model" / "old", b"old")
        with (
            pytest.raises(WriteError, match="model: cannot be written"),
            replacing(tmp_path / "model") as folder,
        ):
            folder.write_bytes(b"a folder, as if the disk were full")
        assert contents(tmp_path) == {"model/old": b"old"}
