"""A run that was stopped ends with the bytes of one that was not, however it computes."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from pipeline.training.dev import DevSet
from pipeline.training.display import Report
from tests.tiny import ROOT
from tests.training.lab import EVERY, STEPS, Changes, Interrupted, Lab, one_line, record, written
from tests.training.stub import torchrun

COMPILES = [
    pytest.mark.verify,
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated"),
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
]
REPAIRED = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "repair": {}}


@pytest.fixture(autouse=True)
def at_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints that a run of seconds would not have."""
    monkeypatch.setattr("pipeline.training.checkpoint.INTERVAL", 0)


def resumed_equals(lab: Lab, finished: Path, folder: Path) -> int:
    """Go on to the end; the step that it went on from."""
    torch.manual_seed(99)
    report = Interrupted()
    lab.train(folder, report=report)
    assert written(folder) == written(finished)
    assert report.steps == list(range(report.steps[0], STEPS + 1))
    return report.steps[0]


@pytest.mark.parametrize("step", range(STEPS + 1))
def test_a_run_stopped_at_any_step_ends_as_if_it_had_not_been(
    lab: Lab, finished: Path, tmp_path: Path, step: int
) -> None:
    lab.interrupt(tmp_path, step)
    assert not (tmp_path / "models").exists()
    assert not (tmp_path / "curve.csv").exists()
    assert resumed_equals(lab, finished, tmp_path) == (1 if step == 1 else step - step % EVERY)


def test_it_may_be_stopped_again_and_again(lab: Lab, finished: Path, tmp_path: Path) -> None:
    for step in (1, 3, 3, 5):
        lab.interrupt(tmp_path, step)
    assert resumed_equals(lab, finished, tmp_path) == 4


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        pytest.param("info_nce", {"train.chunk_size": 3}, id="cached"),
        pytest.param("info_nce", {"train.precision": "bf16"}, id="bf16"),
        pytest.param("info_nce", {"train.packed": True, "train.chunk_size": 3}, id="packed"),
        pytest.param("mine", {"objectives.mine": REPAIRED}, id="repaired"),
        pytest.param("info_nce", {"train.compile": "on"}, id="compiled", marks=COMPILES),
    ],
)
def test_every_way_to_compute_a_step_resumes(
    lab: Lab, tmp_path: Path, name: str, changes: Changes
) -> None:
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    lab.train(whole, name, changes=changes)
    lab.interrupt(stopped, 3, name, changes)
    torch.manual_seed(99)
    report = Interrupted()
    lab.train(stopped, name, report=report, changes=changes)
    assert report.steps[0] == EVERY
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
    lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    def stop(*arguments: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(place, stop)
        with pytest.raises(KeyboardInterrupt):
            lab.train(tmp_path)
    resumed_equals(lab, finished, tmp_path)


@pytest.mark.parametrize("key", ["learning_rate", "precision", "packed"])
def test_other_settings_start_anew(lab: Lab, finished: Path, tmp_path: Path, key: str) -> None:
    """Packed tokens draw other dropout."""
    others = {"learning_rate": 2e-3, "precision": "bf16", "packed": True}
    lab.interrupt(tmp_path, 5, changes={f"train.{key}": others[key]})
    assert resumed_equals(lab, finished, tmp_path) == 0


def test_another_dev_set_starts_anew(
    lab: Lab, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(DevSet, "version", "of other pairs")
        lab.interrupt(tmp_path, 5)
    assert resumed_equals(lab, finished, tmp_path) == 0


def test_a_damaged_checkpoint_is_one_sentence(
    lab: Lab, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints/last.pt").write_bytes(b"half of i")
    assert lab.main(tmp_path) == 1
    assert "last.pt: damaged" in one_line(capsys)


def test_ctrl_c_says_how_to_go_on(
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


@pytest.mark.verify
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_a_killed_process_is_resumed(lab: Lab, tmp_path: Path, step: int) -> None:
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
    command = [sys.executable, "-c", code, *lab.arguments(folder)]
    threads = {"OMP_NUM_THREADS": str(torch.get_num_threads())}
    killed = subprocess.run(command, cwd=ROOT, env=os.environ | threads, check=False)
    assert killed.returncode == -signal.SIGKILL
    # The thread that writes the first one may die with the process.
    assert step == 1 or (folder / "checkpoints/last.pt").is_file()
    assert not (folder / "models").exists()
    assert lab.main(folder) == lab.main(whole) == 0
    assert written(folder) == written(whole)


def under_torchrun(
    lab: Lab, folder: Path, changes: Changes, code: str = "sys.exit(main(sys.argv[1:]))"
) -> subprocess.CompletedProcess[str]:
    """Two processes; what they compute is checked in tests/training/test_processes.py."""
    folder.mkdir(exist_ok=True)
    program = folder / "program.py"
    text = (
        "import os, sys\nfrom pipeline.train import main\n"
        f"from pipeline.training import checkpoint\ncheckpoint.INTERVAL = 0\n{code}\n"
    )
    program.write_text(text, encoding="utf-8")
    done = torchrun(str(program), *lab.arguments(folder, "vicreg_modified", 1, changes))
    program.unlink()
    return done


@pytest.mark.verify
def test_several_processes_write_one_encoder_and_resume_as_one_does(
    lab: Lab, tmp_path: Path
) -> None:
    changes = {"train.chunk_size": 2}
    whole = under_torchrun(lab, tmp_path / "whole", changes)
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
    killed = under_torchrun(lab, tmp_path / "killed", changes, dies)
    assert killed.returncode != 0
    assert not (tmp_path / "killed/models").exists()
    resumed = under_torchrun(lab, tmp_path / "killed", changes)
    assert "step 2/" not in resumed.stdout
    assert written(tmp_path / "killed") == written(tmp_path / "whole")


@pytest.mark.verify
@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train.batch_size": 9}, "train: train.batch_size: must be a multiple of the 2 "),
        ({"train.epochs": 0}, "  train.epochs: 0 is out of range; it must be at least 1 "),
    ],
)
def test_several_processes_say_a_mistake_in_the_settings_once(
    lab: Lab, tmp_path: Path, changes: Changes, sentence: str
) -> None:
    done = under_torchrun(lab, tmp_path, changes)
    assert done.returncode != 0
    assert done.stderr.count(sentence) == 1
