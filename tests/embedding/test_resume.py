"""A run that was stopped, wherever it was, goes on and ends as one that was not."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipeline.embedding.parts import Parts
from tests.embedding.lab import (
    CHUNK,
    SENTENCES,
    FakeEncoder,
    embed,
    one_line,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT, contents

if TYPE_CHECKING:
    from collections.abc import Callable

OUTPUTS = ("out.npy", "out.parquet")


class Stop:
    """Ends the run before its step `at`, as if by Ctrl-C there."""

    # Whatever a run does to the disk goes through one of these.
    STEPS = (
        (os, "fsync"),
        (Path, "mkdir"),
        (Path, "touch"),
        (Path, "write_bytes"),
        (Path, "replace"),
        (Path, "unlink"),
        (Path, "rmdir"),
        (Parts, "_put"),
    )

    def __init__(self, at: int) -> None:
        self.left = at
        self.where = ""

    def install(self, patch: pytest.MonkeyPatch) -> None:
        for owner, name in self.STEPS:
            patch.setattr(owner, name, self._watched(name, getattr(owner, name)))

    def _watched(self, name: str, step: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*arguments: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left < 0 and not self.where:
                self.where = name
                raise KeyboardInterrupt
            return step(*arguments, **named)

        return watched


@pytest.mark.parametrize("output", OUTPUTS)
def test_stopped_before_any_step_it_goes_on_to_the_same_bytes(
    fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, output: str
) -> None:
    source = write_text(tmp_path / "in.txt")
    (tmp_path / "whole").mkdir()
    assert embed(source, tmp_path / "whole" / output, tiny_bert) == 0
    whole = contents(tmp_path / "whole")
    stopped = []
    for at in range(1000):
        stop, folder = Stop(at), tmp_path / str(at)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            stop.install(patch)
            code = embed(source, folder / output, tiny_bert)
        if not stop.where:
            break
        stopped.append(stop.where)
        assert code == 130
        # Before the folder of parts is removed, nothing is left to do but that.
        assert embed(source, folder / output, tiny_bert) == (stop.where == "rmdir")
        assert contents(folder) == whole
    assert {name for _, name in Stop.STEPS} == set(stopped)


def end_in_half_a_line(parts: Path) -> None:
    with (parts / "finished").open("ab") as listing:
        listing.write(b"1")


class TestChunks:
    @pytest.mark.parametrize(
        ("done", "spoil"),
        [
            (1, end_in_half_a_line),
            (2, lambda parts: os.truncate(parts / "embeddings", 1000)),
        ],
        ids=["half a line of the list does not count", "what is listed but not there is not done"],
    )
    def test_damaged_parts_are_encoded_again(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        done: int,
        spoil: Callable[[Path], object],
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        fake.watch = interrupt(fake, after=done)
        assert embed(source, output, tiny_bert) == 130
        spoil(tmp_path / "out.npy.parts")
        fake.watch = lambda: None
        assert embed(source, output, tiny_bert) == 0
        assert np.load(output)[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]

    def test_another_batch_size_may_go_on(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        fake.watch = interrupt(fake, after=1)
        assert embed(source, output, tiny_bert) == 130
        fake.watch = lambda: None
        assert embed(source, output, tiny_bert, "--batch-size", "2") == 0


def interrupt(fake: FakeEncoder, after: int) -> Callable[[], None]:
    def watch() -> None:
        if len(fake.seen) > after:
            raise KeyboardInterrupt

    return watch


class TestMessages:
    def test_an_interrupted_run_says_how_to_go_on_and_encodes_no_chunk_again(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        fake.watch = interrupt(fake, after=1)
        assert embed(write_text(tmp_path / "in.txt"), tmp_path / "out.npy", tiny_bert) == 130
        said = one_line(capsys.readouterr().err)
        assert said == "interrupted; the same command goes on after the last finished chunk."
        assert not (tmp_path / "out.npy").exists()
        fake.watch, before = (lambda: None), len(fake.seen)
        assert embed(tmp_path / "in.txt", tmp_path / "out.npy", tiny_bert) == 0
        assert len(fake.seen) - before == 2  # of three chunks

    @pytest.mark.parametrize(
        ("more", "named"),
        [
            (["--column", "other"], "--column"),
            (["--chunk", "5", "--dtype", "float16"], "--dtype, --chunk"),
        ],
    )
    def test_changed_settings_are_refused_by_name(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        more: list[str],
        named: str,
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        self.stopped(source, output, tiny_bert, fake)
        before = contents(tmp_path)
        self.refused(source, output, tiny_bert, capsys, named, *more)
        assert contents(tmp_path) == before

    def test_a_changed_input_is_refused(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        self.stopped(source, output, tiny_bert, fake)
        write_text(source, [*SENTENCES[:-1], "other words"])
        self.refused(source, output, tiny_bert, capsys, "INPUT")

    def test_a_changed_encoder_is_refused(
        self, own: Path, tmp_path: Path, fake: FakeEncoder, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        self.stopped(source, output, own, fake)
        (own / "note").touch()
        self.refused(source, output, own, capsys, "--encoder")

    def test_changed_pooling_and_length_are_refused(
        self, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        with pytest.MonkeyPatch.context() as patch:
            Stop(at=20).install(patch)
            assert embed(source, output, tiny_bert) == 130
        more = ["--pooling", "mean", "--normalise"]
        capsys.readouterr()
        self.refused(source, output, tiny_bert, capsys, "--pooling, --normalise", *more)

    def stopped(self, source: Path, output: Path, encoder: Path, fake: FakeEncoder) -> None:
        fake.watch = interrupt(fake, after=1)
        assert embed(source, output, encoder) == 130
        fake.watch = lambda: None

    def refused(
        self,
        source: Path,
        output: Path,
        encoder: Path,
        capsys: pytest.CaptureFixture[str],
        named: str,
        *more: str,
    ) -> None:
        capsys.readouterr()
        assert embed(source, output, encoder, *more) == 1
        assert one_line(capsys.readouterr().err) == (
            f"OUTPUT: {output}.parts holds finished chunks of another {named}; give what was "
            "given then to go on with them, or remove that folder to begin anew."
        )

    def test_a_damaged_record_is_named(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        self.stopped(source, output, tiny_bert, fake)
        record = tmp_path / "out.npy.parts" / "run.json"
        assert json.loads(record.read_text(encoding="utf-8"))["sentences"] == len(SENTENCES)
        record.write_text("{", encoding="utf-8")
        capsys.readouterr()
        assert embed(source, output, tiny_bert) == 1
        assert "run.json is damaged; remove the folder" in one_line(capsys.readouterr().err)

    def test_two_runs_at_once_are_refused(
        self, fake: FakeEncoder, tiny_bert: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"
        self.stopped(source, output, tiny_bert, fake)
        capsys.readouterr()
        with (tmp_path / "out.npy.parts" / "finished").open("rb") as listing:
            fcntl.flock(listing, fcntl.LOCK_EX)
            assert embed(source, output, tiny_bert) == 1
        assert "another process is writing" in one_line(capsys.readouterr().err)
        assert embed(source, output, tiny_bert) == 0

    def test_a_full_disk_is_one_sentence_and_keeps_what_is_finished(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        source, output = write_text(tmp_path / "in.txt"), tmp_path / "out.npy"

        def full(parts: Parts, start: int, embeddings: np.ndarray) -> None:
            if start > CHUNK * fake.dimension * 4 * 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            put(parts, start, embeddings)

        put = Parts._put
        monkeypatch.setattr(Parts, "_put", full)
        assert embed(source, output, tiny_bert) == 1
        said = one_line(capsys.readouterr().err)
        assert "No space left on device" in said
        assert said.endswith("make room, or name another place.")
        monkeypatch.setattr(Parts, "_put", put)
        fake.seen.clear()
        assert embed(source, output, tiny_bert) == 0
        assert len(fake.seen) == 1

    @pytest.mark.parametrize(
        ("change", "output"),
        [
            (SENTENCES[:-1], "out.npy"),
            ([*SENTENCES, "one more"], "out.npy"),
            (SENTENCES[:3], "out.parquet"),
        ],
    )
    def test_an_input_that_changes_under_the_run_is_refused(
        self,
        fake: FakeEncoder,
        tiny_bert: Path,
        tmp_path: Path,
        capsys: pytest.CaptureFixture[str],
        change: list[str],
        output: str,
    ) -> None:
        source = write_text(tmp_path / "in.txt")
        monkey = pytest.MonkeyPatch()
        monkey.setattr(
            "pipeline.embed.digest", lambda path: "hash" * bool(write_text(path, change))
        )
        assert embed(source, tmp_path / output, tiny_bert) == 1
        monkey.undo()
        assert "INPUT: it had other rows when it was read again" in capsys.readouterr().err
        assert not (tmp_path / output).exists()


KILLED = """
import os, signal, sys

from pipeline import embed
from pipeline.embedding.parts import Parts

write = Parts.write

def killed(parts, number, embeddings):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    write(parts, number, embeddings)

Parts.write = killed
sys.exit(embed.main(sys.argv[1:]))
"""


@pytest.mark.verify
def test_a_killed_process_is_resumed(tiny_bert: Path, tmp_path: Path) -> None:
    source = write_parquet(tmp_path / "in.parquet")
    options = ["--encoder", str(tiny_bert), "--chunk", str(CHUNK), "--batch-size", "4"]
    output = tmp_path / "out.parquet"
    command = [sys.executable, "-c", KILLED, str(source), str(output), *options, "--device", "cpu"]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    finished = tmp_path / "out.parquet.parts" / "finished"
    assert finished.read_text(encoding="ascii") == "0\n1\n"
    assert embed(source, output, tiny_bert) == 0
    assert embed(source, tmp_path / "whole.parquet", tiny_bert) == 0
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()
