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
from tests.embedding.lab import CHUNK, SENTENCES, FakeEncoder, Run, embed, write_parquet, write_text
from tests.tiny import ROOT, contents

if TYPE_CHECKING:
    from collections.abc import Callable


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


@pytest.mark.parametrize("output", ["out.npy", "out.parquet"])
def test_stopped_before_any_step_it_goes_on_to_the_same_bytes(
    fake: FakeEncoder, run: Run, output: str
) -> None:
    def embedding(folder: Path) -> int:
        return embed(run.source, folder / output, run.encoder)

    (run.folder / "whole").mkdir()
    assert embedding(run.folder / "whole") == 0
    whole = contents(run.folder / "whole")
    stopped = set()
    for at in range(1000):
        stop, folder = Stop(at), run.folder / str(at)
        folder.mkdir()
        with pytest.MonkeyPatch.context() as patch:
            stop.install(patch)
            code = embedding(folder)
        if not stop.where:
            break
        stopped.add(stop.where)
        assert code == 130
        # Before the folder of parts is removed, nothing is left to do but that.
        assert embedding(folder) == (stop.where == "rmdir")
        assert contents(folder) == whole
    assert {name for _, name in Stop.STEPS} == stopped


def test_an_interrupted_run_says_how_to_go_on_and_encodes_no_chunk_again(
    fake: FakeEncoder, run: Run
) -> None:
    run.stopped(fake)
    assert run.said.readouterr().err == (
        "embed: interrupted; the same command goes on after the last finished chunk.\n"
    )
    assert not run.output.exists()
    assert run("--batch-size", "2") == 0  # another one may go on
    assert len(fake.seen) == 2  # of three chunks


def end_in_half_a_line(parts: Path) -> None:
    with (parts / "finished").open("ab") as listing:
        listing.write(b"1")


@pytest.mark.parametrize(
    ("done", "spoil"),
    [(1, end_in_half_a_line), (2, lambda parts: os.truncate(parts / "embeddings", 1000))],
    ids=["half a line of the list does not count", "what is listed but not there is not done"],
)
def test_damaged_parts_are_encoded_again(
    fake: FakeEncoder, run: Run, done: int, spoil: Callable[[Path], object]
) -> None:
    run.stopped(fake, done)
    spoil(run.parts)
    assert run() == 0
    assert np.load(run.output)[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]


class TestRefusals:
    def of_another(self, run: Run, named: str, *more: str) -> None:
        before = contents(run.folder)
        assert run.refused(*more) == (
            f"OUTPUT: {run.parts} holds finished chunks of another {named}; give what was "
            "given then to go on with them, or remove that folder to begin anew."
        )
        assert contents(run.folder) == before

    def test_changed_settings(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        self.of_another(run, "--column", "--column", "other")
        self.of_another(run, "--dtype, --chunk", "--chunk", "5", "--dtype", "float16")

    def test_changed_pooling_and_length(self, run: Run) -> None:
        with pytest.MonkeyPatch.context() as patch:
            Stop(at=20).install(patch)
            assert run() == 130
        self.of_another(run, "--pooling, --normalise", "--pooling", "mean", "--normalise")

    def test_a_changed_input(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        write_text(run.source, [*SENTENCES[:-1], "other words"])
        self.of_another(run, "INPUT")

    def test_a_changed_encoder(self, own: Path, fake: FakeEncoder, run: Run) -> None:
        run.encoder = own
        run.stopped(fake)
        (own / "note").touch()
        self.of_another(run, "--encoder")

    def test_a_damaged_record(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        record = run.parts / "run.json"
        assert json.loads(record.read_text(encoding="utf-8"))["sentences"] == len(SENTENCES)
        record.write_text("{", encoding="utf-8")
        assert "run.json is damaged; remove the folder" in run.refused()

    def test_two_runs_at_once(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        with (run.parts / "finished").open("rb") as listing:
            fcntl.flock(listing, fcntl.LOCK_EX)
            assert "another process is writing" in run.refused()
        assert run() == 0

    def test_a_full_disk_keeps_what_is_finished(self, fake: FakeEncoder, run: Run) -> None:
        def full(parts: Parts, start: int, embeddings: np.ndarray) -> None:
            if start > CHUNK * fake.dimension * 4 * 2:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            put(parts, start, embeddings)

        put = Parts._put
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Parts, "_put", full)
            said = run.refused()
        assert "No space left on device" in said
        assert said.endswith("make room, or name another place.")
        fake.seen.clear()
        assert run() == 0
        assert len(fake.seen) == 1

    @pytest.mark.parametrize(
        ("change", "output"),
        [
            (SENTENCES[:-1], "out.npy"),
            ([*SENTENCES, "one more"], "out.npy"),
            (SENTENCES[:3], "out.parquet"),
        ],
    )
    def test_an_input_that_changes_under_the_run(
        self,
        fake: FakeEncoder,
        run: Run,
        monkeypatch: pytest.MonkeyPatch,
        change: list[str],
        output: str,
    ) -> None:
        run.output = run.folder / output
        monkeypatch.setattr(
            "pipeline.embed.digest", lambda path: "hash" * bool(write_text(path, change))
        )
        assert "INPUT: it had other rows when it was read again" in run.refused()
        assert not run.output.exists()


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
