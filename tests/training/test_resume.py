"""A run that was stopped ends with the bytes of one that was not, however it computes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
import torch

from pipeline.training.dev import DevSet
from tests.tiny import (
    ROOT,
)
from tests.training.torchrun import torchrun

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from pipeline.training.display import Report

from tests.training.lab import EVERY, STEPS, Changes, Lab, one_line, record, written

COMPILES = [
    pytest.mark.verify,
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated"),
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
]


@pytest.fixture(autouse=True)
def at_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that a run of seconds would not have."""
    monkeypatch.setattr("pipeline.training.checkpoint.INTERVAL", 0)


class Interrupted:
    """A report that stops the run at a step and remembers where calls began."""

    def __init__(self, at: int | None) -> None:
        self.at = at
        self.steps: list[int] = []

    def __call__(self, step: int, steps: int, row: Mapping[str, float] | None) -> None:
        self.steps.append(step)
        assert steps == STEPS
        if step == self.at:
            raise KeyboardInterrupt


def resumed_equals(lab: Lab, finished: Path, folder: Path) -> int:
    """Go on to the end; the step that it went on from."""
    torch.manual_seed(99)
    report = Interrupted(at=None)
    lab.train(folder, report=report)
    assert written(folder) == written(finished)
    assert report.steps == list(range(report.steps[0], STEPS + 1))
    return report.steps[0]


class TestInterruption:
    @pytest.mark.parametrize("step", range(STEPS + 1))
    def test_a_run_stopped_at_any_step_ends_as_if_it_had_not_been(
        self, lab: Lab, finished: Path, tmp_path: Path, step: int
    ) -> None:
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=Interrupted(at=step))
        assert not (tmp_path / "models").exists()
        assert not (tmp_path / "curve.csv").exists()
        assert resumed_equals(lab, finished, tmp_path) == (1 if step == 1 else step - step % EVERY)

    def test_it_may_be_stopped_again_and_again(
        self, lab: Lab, finished: Path, tmp_path: Path
    ) -> None:
        for step in (1, 3, 3, 5):
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path, report=Interrupted(at=step))
        assert resumed_equals(lab, finished, tmp_path) == 4

    @pytest.mark.parametrize(
        "changes",
        [
            {"train.chunk_size": 3},
            {"train.precision": "bf16"},
            {"train.packed": True, "train.chunk_size": 3},
            pytest.param({"train.compile": "on"}, marks=COMPILES),
        ],
        ids=["cached", "bf16", "packed", "compiled"],
    )
    def test_every_way_to_compute_a_step_resumes(
        self, lab: Lab, tmp_path: Path, changes: Changes
    ) -> None:
        whole, stopped = tmp_path / "whole", tmp_path / "stopped"
        lab.train(whole, changes=changes)
        with pytest.raises(KeyboardInterrupt):
            lab.train(stopped, report=Interrupted(at=3), changes=changes)
        torch.manual_seed(99)
        lab.train(stopped, changes=changes)
        assert written(stopped) == written(whole)

    @pytest.mark.parametrize(
        "place",
        [
            "pipeline.training.checkpoint.Checkpoints.keep_best",
            "pipeline.training.checkpoint.Checkpoints.save",
            "pipeline.training.checkpoint.Checkpoints.load_best",
            "pipeline.encoder.encoder.SentenceEncoder.save",
            "pipeline.train.write_record",
            "pipeline.training.checkpoint.Checkpoints.remove",
        ],
    )
    def test_it_may_be_stopped_while_it_writes(
        self,
        lab: Lab,
        finished: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        place: str,
    ) -> None:
        def stop(*arguments: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(place, stop)
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path)
        resumed_equals(lab, finished, tmp_path)

    def test_a_run_of_less_than_a_minute_starts_anew(
        self, lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("pipeline.training.checkpoint.INTERVAL", 60)
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=Interrupted(at=5))
        assert resumed_equals(lab, finished, tmp_path) == 0

    def test_other_settings_start_anew(self, lab: Lab, finished: Path, tmp_path: Path) -> None:
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path, report=Interrupted(at=5), changes={"train.learning_rate": 2e-3})
        assert resumed_equals(lab, finished, tmp_path) == 0

    def test_another_dev_set_starts_anew(
        self, lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(DevSet, "version", "of other pairs")
            with pytest.raises(KeyboardInterrupt):
                lab.train(tmp_path, report=Interrupted(at=5))
        assert resumed_equals(lab, finished, tmp_path) == 0

    def test_a_damaged_checkpoint_is_one_sentence(
        self, lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "checkpoints").mkdir()
        (tmp_path / "checkpoints/last.pt").write_bytes(b"half of i")
        assert lab.main(tmp_path) == 1
        assert "last.pt: damaged" in one_line(capsys)

    def test_ctrl_c_says_how_to_go_on(
        self,
        lab: Lab,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        @contextmanager
        def interrupted(name: str) -> Iterator[Report]:
            yield Interrupted(at=3)

        monkeypatch.setattr("pipeline.train.progress_bar", interrupted)
        assert lab.main(tmp_path) == 130
        assert "interrupted; the same command resumes from its checkpoint in" in one_line(capsys)

    @pytest.mark.parametrize(
        "step",
        [
            pytest.param(step, marks=() if step == 5 else pytest.mark.verify)
            for step in range(1, STEPS + 1)
        ],
    )
    def test_a_killed_process_is_resumed(self, lab: Lab, tmp_path: Path, step: int) -> None:
        """SIGKILL in the middle of a step; the rest in another process."""
        folder, whole = tmp_path / "killed", tmp_path / "whole"
        code = (
            "import contextlib, os, signal, sys\n"
            "from pipeline import train\n"
            "from pipeline.training import checkpoint\n"
            "checkpoint.INTERVAL = 0\n"
            "def report(step, steps, row):\n"
            f"    if step == {step}: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
            "train.progress_bar = lambda name: contextlib.nullcontext(report)\n"
            "sys.exit(train.main(sys.argv[1:]))\n"
        )
        command = [sys.executable, "-c", code, *lab.arguments(folder, "info_nce", 1)]
        threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
        killed = subprocess.run(command, cwd=ROOT, env=os.environ | threads, check=False)
        assert killed.returncode == -signal.SIGKILL
        # The thread that writes the first one may die with the process.
        assert step == 1 or (folder / "checkpoints/last.pt").is_file()
        assert not (folder / "models").exists()
        assert lab.main(folder) == lab.main(whole) == 0
        assert written(folder) == written(whole)


@pytest.mark.verify
class TestSeveralProcesses:
    """Two under torchrun; what they compute is checked in tests/training/test_processes.py."""

    def test_they_write_one_encoder_and_resume_as_one_process_does(
        self, lab: Lab, tmp_path: Path
    ) -> None:
        changes = {"train.chunk_size": 2}
        for name in ("whole", "killed"):
            (tmp_path / name).mkdir()
        whole = self.run(lab, tmp_path / "whole", changes, "main(sys.argv[1:])")
        assert whole.returncode == 0, whole.stderr
        assert whole.stdout.count("dev Spearman") == 3 + STEPS // EVERY
        assert record(tmp_path / "whole")["hardware"].startswith("2 x cpu")
        dies = (
            "from pipeline.training.curves import Monitor\n"
            "see = Monitor.see\n"
            "def dying(self, step, outcome):\n"
            f"    if step == 5: os.kill(os.getpid(), {int(signal.SIGKILL)})\n"
            "    see(self, step, outcome)\n"
            "Monitor.see = dying\n"
            "main(sys.argv[1:])"
        )
        killed = self.run(lab, tmp_path / "killed", changes, dies)
        assert killed.returncode != 0
        assert not (tmp_path / "killed/models").exists()
        resumed = self.run(lab, tmp_path / "killed", changes, "main(sys.argv[1:])")
        assert "step 2/" not in resumed.stdout
        assert written(tmp_path / "killed") == written(tmp_path / "whole")

    @pytest.mark.parametrize(
        ("changes", "sentence"),
        [
            ({"train.batch_size": 9}, "train: train.batch_size: must be a multiple of the 2 "),
            ({"train.epochs": 0}, "  train.epochs: 0 is out of range; it must be at least 1 "),
        ],
    )
    def test_a_mistake_in_the_settings_is_said_once(
        self, lab: Lab, tmp_path: Path, changes: Changes, sentence: str
    ) -> None:
        done = self.run(lab, tmp_path, changes, "sys.exit(main(sys.argv[1:]))")
        assert done.returncode != 0
        assert done.stderr.count(sentence) == 1

    def run(
        self, lab: Lab, folder: Path, changes: Changes, code: str
    ) -> subprocess.CompletedProcess[str]:
        program = folder / "program.py"
        text = (
            "import os, sys\nfrom pipeline.train import main\n"
            f"from pipeline.training import checkpoint\ncheckpoint.INTERVAL = 0\n{code}\n"
        )
        program.write_text(text, encoding="utf-8")
        done = torchrun(str(program), *lab.arguments(folder, "vicreg_modified", 1, changes))
        program.unlink()
        return done
