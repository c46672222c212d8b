"""A run that was stopped, wherever it was, resumes and ends as one that was not."""

import fcntl
import os
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pipeline.embedding.source import Source
from pipeline.embedding.unfinished import Unfinished
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


@pytest.mark.parametrize("output", ["out.npy", "out.parquet"])
def test_a_run_that_was_stopped_behind_its_last_chunk_encodes_none_again(
    fake: FakeEncoder, run: Run, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    run.output = run.folder / output
    with monkeypatch.context() as patch:
        patch.setattr(Unfinished, "finish", interrupt)
        assert run() == 130
    fake.seen.clear()
    assert run() == 0
    assert not fake.seen
    assert not run.parts.exists()


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("kept", [0, 50, 1000, 2200, 4000])
def test_what_a_kill_or_a_power_cut_has_left_of_a_chunk_is_encoded_again(
    fake: FakeEncoder, run: Run, kept: int
) -> None:
    """A chunk has 2,048 bytes, and a header of 128 is before the first."""
    run.stopped(fake, 2)
    os.truncate(run.parts / "embeddings", kept)
    assert run() == 0
    assert len(fake.seen) == (2 if kept > 128 + 2048 else 3)
    assert np.load(run.output)[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]


KILLED = """
import os, signal, sys

from pipeline import embed
from pipeline.embedding.unfinished import Unfinished

append = Unfinished.append

def killed(unfinished, embeddings):
    if unfinished.done == 16:
        os.kill(os.getpid(), signal.SIGKILL)
    append(unfinished, embeddings)

Unfinished.append = killed
sys.exit(embed.main(sys.argv[1:]))
"""


@pytest.mark.verify
def test_a_killed_process_is_resumed(tiny_bert: Path, tmp_path: Path) -> None:
    source, output = write_parquet(tmp_path / "in.parquet"), tmp_path / "out.parquet"
    command = [sys.executable, "-c", KILLED, str(source), str(output), *options(tiny_bert)]
    killed = subprocess.run(command, cwd=ROOT, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not output.exists()
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

    def test_changed_settings_or_another_input_or_encoder(
        self, own: Path, fake: FakeEncoder, run: Run
    ) -> None:
        run.encoder = own
        run.stopped(fake)
        self.of_another(run, "--column", "--column", "other")
        self.of_another(run, "--dtype, --chunk", "--chunk", "5", "--dtype", "float16")
        write_text(run.source, [*SENTENCES[:-1], "other words"])
        self.of_another(run, "INPUT")
        (own / "note").touch()
        self.of_another(run, "INPUT, --encoder")

    def test_changed_pooling(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(Unfinished, "finish", interrupt)
            assert run() == 130
        self.of_another(run, "--pooling, --normalize", "--pooling", "mean", "--normalize")

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

    def test_a_disk_that_is_full_within_a_chunk_keeps_those_before_it(
        self, fake: FakeEncoder, run: Run
    ) -> None:
        """The system allows files of 5,000 bytes, which is two chunks and a part of the third."""
        usual = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (5000, usual[1]))
        try:
            said = run.refused()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, usual)
        assert re.search(r"out.npy: cannot be written \(.*\); make room, or name another pl", said)
        fake.seen.clear()
        assert run() == 0
        assert len(fake.seen) == 1
        assert np.load(run.output)[:, 0].tolist() == [len(sentence) for sentence in SENTENCES]

    def test_what_others_put_beside_its_parts_is_left_there(
        self, fake: FakeEncoder, run: Run
    ) -> None:
        run.parts.mkdir()
        (run.parts / "diary").touch()
        assert run() == 0
        assert [path.name for path in run.parts.iterdir()] == ["diary"]

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
