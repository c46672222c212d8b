"""A run that was stopped, wherever it was, resumes and ends as one that was not."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.embedding.source import Source
from tests.embedding.lab import (
    SENTENCES,
    FakeEncoder,
    Run,
    embed,
    options,
    write_parquet,
    write_text,
)
from tests.tiny import ROOT, contents

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RESUME = "embed: interrupted; the same command resumes after the last finished chunk.\n"


@pytest.mark.parametrize("output", ["out.npy", "out.parquet"])
@pytest.mark.parametrize("done", [0, 1, 2])
def test_an_interrupted_run_resumes_to_the_same_bytes_and_encodes_no_chunk_again(
    fake: FakeEncoder, run: Run, output: str, done: int
) -> None:
    whole = run.folder / f"whole-{output}"
    assert embed(run.source, whole, run.encoder) == 0
    fake.seen.clear()
    run.output = run.folder / output
    run.said.readouterr()
    run.stopped(fake, done)
    assert run.said.readouterr().err == RESUME
    assert not run.output.exists()
    assert run("--batch-size", "2") == 0  # another one may resume
    assert len(fake.seen) == 3 - done
    assert run.output.read_bytes() == whole.read_bytes()
    assert not run.parts.exists()


def test_a_run_that_was_stopped_while_it_joined_its_chunks_encodes_none_again(
    fake: FakeEncoder, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("shutil.rmtree", interrupt)
        patch.setattr("pathlib.Path.replace", interrupted_at("whole"))
        assert run() == 130
    assert (run.parts / "whole").exists()
    fake.seen.clear()
    assert run() == 0
    assert not fake.seen
    assert not run.parts.exists()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def interrupted_at(name: str) -> Callable[[Path, Path], None]:
    def replace(path: Path, target: Path) -> None:
        if path.name == name:
            raise KeyboardInterrupt
        os.replace(path, target)  # noqa: PTH105 - it stands for the method

    return replace


def test_a_chunk_that_a_power_cut_has_shortened_is_encoded_again(
    fake: FakeEncoder, run: Run
) -> None:
    run.stopped(fake, 2)
    os.truncate(run.parts / "00000001", 100)
    assert run() == 0
    assert np.load(run.output)[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]


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
    source, output = write_parquet(tmp_path / "in.parquet"), tmp_path / "out.parquet"
    command = [sys.executable, "-c", KILLED, str(source), str(output), *options(tiny_bert)]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
    assert len(list((tmp_path / "out.parquet.parts").glob("0*"))) == 2
    assert embed(source, output, tiny_bert) == 0
    assert embed(source, tmp_path / "whole.parquet", tiny_bert) == 0
    assert output.read_bytes() == (tmp_path / "whole.parquet").read_bytes()


class TestRefusals:
    def of_another(self, run: Run, named: str, *more: str) -> None:
        before = contents(run.folder)
        assert run.refused(*more) == (
            f"OUTPUT: {run.parts} holds finished chunks of another {named}; give what was "
            "given then to resume, or remove that folder to begin anew."
        )
        assert contents(run.folder) == before

    def test_changed_settings(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        self.of_another(run, "--column", "--column", "other")
        self.of_another(run, "--dtype, --chunk", "--chunk", "5", "--dtype", "float16")

    def test_changed_pooling(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.replace", interrupted_at("whole"))
            assert run() == 130
        self.of_another(run, "--pooling, --normalize", "--pooling", "mean", "--normalize")

    def test_a_changed_input(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        write_text(run.source, [*SENTENCES[:-1], "other words"])
        self.of_another(run, "INPUT")

    def test_a_changed_encoder(self, own: Path, fake: FakeEncoder, run: Run) -> None:
        run.encoder = own
        run.stopped(fake)
        (own / "note").touch()
        self.of_another(run, "--encoder")

    def test_a_damaged_plan(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        (run.parts / "plan.json").write_text("{", encoding="utf-8")
        assert "plan.json is damaged; remove the folder" in run.refused()

    def test_two_runs_at_once(self, fake: FakeEncoder, run: Run) -> None:
        run.stopped(fake)
        with (run.parts / "plan.json").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            assert "another process is writing" in run.refused()
        assert run() == 0

    def test_a_full_disk_keeps_what_is_finished(
        self, fake: FakeEncoder, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(path: Path, content: bytes) -> int:
            if "00000002" in path.name:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            with path.open("wb") as file:
                return file.write(content)

        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.write_bytes", full)
            said = run.refused()
        assert said.endswith("MB are needed); make room, or name another place.")
        fake.seen.clear()
        assert run() == 0
        assert len(fake.seen) == 1

    @pytest.mark.parametrize(
        ("change", "output"),
        [
            (SENTENCES[:-1], "out.npy"),
            (SENTENCES[:3], "out.parquet"),
            ([*SENTENCES, "one more"], "out.npy"),
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
        monkeypatch.setattr(Source, "digest", lambda source: write_text(source.path, change).name)
        assert "INPUT: it had other rows when it was read again" in run.refused()
        assert not run.output.exists()
