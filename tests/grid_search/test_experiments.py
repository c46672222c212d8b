"""What DVC says of experiments, and what it is told to do."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING

import pytest

from pipeline.grid_search import experiments
from pipeline.grid_search.dvc_output import failure
from pipeline.grid_search.experiments import DvcExperiments, call
from pipeline.grid_search.outcomes import Outcome, State

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


from tests.grid_search.fakes import finished

COMMIT = "a" * 40


NO_PROCESS = 2**22 + 1  # above Linux's largest id


def listed(
    name: str,
    state: str | None,
    dev: float = 60.0,
    rev: str = "b" * 40,
    pid: int = NO_PROCESS,
) -> dict[str, object]:
    local = {"pid": pid, "task_id": rev}
    metrics = {"metrics/vicreg_modified/42.json": {"data": {"dev_spearman": dev}}}
    return {
        "name": name,
        "revs": [{"rev": rev, "data": {"metrics": metrics}}],
        "executor": None if state is None else {"state": state, "local": local},
    }


def shown(*listing: dict[str, object], commit: str = COMMIT) -> str:
    return json.dumps([{"rev": commit, "experiments": list(listing) or None}])


END = (
    "ERROR: failed to reproduce 'train@a-42': failed to run: python -m pipeline.train, exited with"
)


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        (
            f"Running stage\ntrain: a collapsed: NaN.\n{END} 1\n{END} 1\n",
            "train: a collapsed: NaN.",
        ),
        (f"prepare: 2 problems:\n  one.\n  two.\n{END} 1", "prepare: 2 problems: one. two."),
        (f"Traceback:\n  File\nRuntimeError: a bug\n{END} 1", "RuntimeError: a bug"),
        (f"train: /a/.dvc/tmp/exps/tmpx1/data/b: gone.\n{END} 1", "train: data/b: gone."),
        (f"train: interrupted; the same command resumes.\n{END} 130", None),
        (f"step 3\n{END} -9", None),
        ("step 3", None),
        ("", None),
    ],
)
def test_a_log_tells_a_failure_from_a_cut(log: str, reason: str | None) -> None:
    assert failure(log) == reason


class Dvc:
    """Stands for DVC and git: answers by the words of a command."""

    def __init__(self, listing: str) -> None:
        self.listing = listing
        self.log = ""
        self.status = "Worker status: 0 active, 0 idle"
        self.called: list[str] = []

    def __call__(
        self, command: Sequence[str], *, may_fail: bool = False, only_reads: bool = False
    ) -> str:
        words = " ".join(command)
        self.called.append(words)
        answers = {
            "exp show": self.listing,
            "queue logs": self.log,
            "queue status": self.status,
            "git show": "step,dev_spearman\n50,60.0\n",
        }
        return next((answer for part, answer in answers.items() if part in words), "")

    def has(self, words: str) -> bool:
        return any(words in called for called in self.called)


def layer(monkeypatch: pytest.MonkeyPatch, fake: Dvc) -> DvcExperiments:
    monkeypatch.setattr(experiments, "call", fake)
    return DvcExperiments(
        objective="vicreg_modified",
        seed=42,
        commit=COMMIT,
        jobs=2,
        copy_paths=("data/external",),
        poll_seconds=0.0,
    )


def test_only_a_finished_experiments_score_is_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """DVC shows a failed one with the metrics that its commit held before."""
    fake = Dvc(shown(listed("a", "success"), listed("b", "failed", 99.0, "d" * 40)))
    fake.log = f"train: b collapsed.\n{END} 1"
    outcomes = layer(monkeypatch, fake).read(["a", "b", "c"])
    assert outcomes == {
        "a": finished(60.0),
        "b": Outcome(State.FAILED, reason="train: b collapsed."),
        "c": Outcome(State.MISSING),
    }


def test_a_run_that_vanished_is_marked_as_failed_and_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its process is gone a moment before its result is there, so one look is not enough."""
    fake = Dvc(shown(listed("a", "running")))
    looking = layer(monkeypatch, fake)
    assert looking.read(["a"])["a"].state is State.RUNNING
    assert not fake.has("queue kill")
    assert looking.read(["a"])["a"].state is State.RUNNING
    assert fake.has("queue kill a")
    fake.listing = shown(listed("a", "failed"))
    fake.log = "step 3"
    assert looking.read(["a"])["a"].state is State.CUT_OFF


def test_stopping_ends_the_workers_and_interrupts_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiments, "_alive", lambda entry: True)
    fake = Dvc(shown(listed("a", "running"), listed("b", "queued"), listed("other", "running")))
    layer(monkeypatch, fake).stop(["a", "b"])
    assert fake.has("queue stop")
    assert [words.split()[-1] for words in fake.called if "queue kill" in words] == ["a"]


def test_a_command_that_fails_is_told_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"`git -C .* rev-parse` failed \(fatal: .*\); mend that"):
        call(["git", "-C", str(tmp_path / "absent"), "rev-parse"])


@pytest.mark.parametrize(("active", "state"), [(0, State.CUT_OFF), (1, State.RUNNING)])
def test_a_run_whose_process_id_is_anothers_is_passed_over(
    active: int, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = Dvc(shown(listed("a", "running", pid=os.getpid())))
    fake.status = f"Worker status: {active} active, 0 idle"
    looking = layer(monkeypatch, fake)
    assert looking.read(["a"])["a"].state is State.RUNNING
    assert looking.read(["a"])["a"].state is state
    assert not fake.has("queue kill")  # it would interrupt the other process
    again = listed("a", "queued", rev="e" * 40)
    fake.listing = shown(listed("a", "running", pid=os.getpid()), again)
    assert looking.read(["a"])["a"].state is State.QUEUED


def test_a_cell_is_queued_with_its_data_and_without_compare(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Dvc("")
    layer(monkeypatch, fake).queue("a", ["x=1", "y=2"])
    assert fake.called[0].endswith(
        "exp run --queue --name a --copy-paths=data/external -S x=1 -S y=2 untrained evaluate"
    )


def stuck_until(marker: Path) -> list[str]:
    """A command that never ends, but for when it finds what an earlier try left."""
    script = (
        "import pathlib, sys, time; marker = pathlib.Path(sys.argv[1])\n"
        "if not marker.exists(): marker.touch(); time.sleep(3600)\n"
        "print('answer')"
    )
    return [sys.executable, "-c", script, str(marker)]


def test_a_look_that_never_ends_is_taken_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `dvc exp show` does when the copy of the repository that it reads is removed."""
    monkeypatch.setattr(experiments, "READ_SECONDS", 2.0)
    monkeypatch.setattr(experiments, "RETRY_SECONDS", 0.0)
    assert call(stuck_until(tmp_path / "marker"), only_reads=True) == "answer\n"
