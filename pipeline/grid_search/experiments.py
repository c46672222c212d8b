"""DVC's experiment queue behind the protocol of `completion`, by its command line.

Not here: what its output means (`dvc_output`), which cells there are.
"""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.grid_search.dvc_output import Entry, best_step, entries, failure
from pipeline.grid_search.outcomes import Outcome, Outcomes, State
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

# As dvc.yaml names them. `compare` is not run: a cell has nothing that it could be compared with.
# DVC cannot apply an experiment that lacks another stage's output.
TARGETS = ("untrained", "evaluate")
METRICS = "metrics/{objective}/{seed}.json"
CURVE = "curves/{objective}/{seed}.csv"
# A worker takes some seconds until `dvc queue start` sees it, and would start another one.
START_SECONDS = 60.0
LOCKED_TRIES = 10
RETRY_SECONDS = 3.0
READ_TRIES = 3
READ_SECONDS = 30.0  # of the first try; the two after it may take twice and four times as long
IDLE = "Worker status: 0 active"


@dataclass
class DvcExperiments:
    """The experiments of one objective and seed on one commit.

    Attributes:
        objective: whose metrics are read.
        seed: likewise.
        commit: the baseline; experiments of others are not seen.
        jobs: workers.
        copy_paths: untracked paths that each run's copy of the repository gets.
        poll_seconds: between two looks at the queue.
    """

    objective: str
    seed: int
    commit: str
    jobs: int
    copy_paths: tuple[str, ...]
    poll_seconds: float
    _started: float | None = None
    _vanished: dict[str, int] = field(default_factory=dict)
    _known: dict[str, Outcome] = field(default_factory=dict)

    def read(self, names: Collection[str]) -> Outcomes:
        """Where each of these stands."""
        found = self._entries(names)
        return {name: self._outcome(name, found[name]) for name in names}

    def queue(self, name: str, overrides: Sequence[str]) -> None:
        """Put a cell at the end of the queue."""
        options = [f"--copy-paths={path}" for path in self.copy_paths]
        changes = [word for override in overrides for word in ("-S", override)]
        call(dvc("exp", "run", "--queue", "--name", name, *options, *changes, *TARGETS))
        self._started = None  # workers may have ended, as there was nothing to do

    def remove(self, name: str) -> None:
        """Take a cell that failed or was cut off out of the queue.

        An entry that DVC still takes for running stays there, and is passed over by `read`.
        """
        call(dvc("queue", "remove", name), may_fail=True)

    def work(self) -> None:
        """Start the workers that are not there; they end by themselves when nothing is queued."""
        now = time.monotonic()
        if self._started is None or now - self._started > START_SECONDS:
            call(dvc("queue", "start", f"--jobs={self.jobs}"))
            self._started = now

    def wait(self) -> None:
        """Wait until the next look."""
        time.sleep(self.poll_seconds)

    def stop(self, names: Collection[str]) -> None:
        """Workers take nothing more, and those of these that run are interrupted."""
        call(dvc("queue", "stop"))
        for name, several in self._entries(names).items():
            if any(entry.state == "running" and _alive(entry) for entry in several):
                call(dvc("queue", "kill", name), may_fail=True)

    def _entries(self, names: Collection[str]) -> dict[str, list[Entry]]:
        # While a run is being set up, DVC may not find what it is about to show; when its copy of
        # the repository is removed meanwhile, DVC waits forever for a file of it (in pygit2's
        # _BlobIO, whose writing thread has failed).
        shown = call(dvc("exp", "show", "--json", "--hide-workspace"), only_reads=True)
        return entries(shown, self.commit, names)

    def _outcome(self, name: str, several: list[Entry]) -> Outcome:
        for entry in several:
            if entry.state == "running" and self._has_vanished(name, entry):
                continue
            if entry.state in ("success", "failed"):
                if entry.rev not in self._known:
                    ended = self._finished if entry.state == "success" else self._failed
                    self._known[entry.rev] = ended(name, entry)
                return self._known[entry.rev]
            return Outcome(State(entry.state))
        return Outcome(State.CUT_OFF if several else State.MISSING)

    def _finished(self, name: str, entry: Entry) -> Outcome:
        where = {"objective": self.objective, "seed": self.seed}
        dev = entry.metrics.get(METRICS.format(**where), {}).get("dev_spearman")
        if dev is None:
            reason = f"the experiment {name} holds no dev score"
            return Outcome(State.FAILED, reason=reason)
        curve = call(["git", "show", f"{entry.rev}:{CURVE.format(**where)}"])
        return Outcome(State.FINISHED, dev=dev, step=best_step(curve))

    def _failed(self, name: str, entry: Entry) -> Outcome:
        if entry.pid is None:
            return Outcome(State.FAILED, reason=f"it did not start: see `dvc queue logs {name}`")
        reason = failure(call(dvc("queue", "logs", name), may_fail=True))
        return Outcome(State.CUT_OFF if reason is None else State.FAILED, reason=reason)

    def _has_vanished(self, name: str, entry: Entry) -> bool:
        """Whether a run was cut off with its worker, by a crash or reboot.

        A process is gone a moment before its result is there, so it must be gone at two looks.
        """
        gone = not _alive(entry)
        self._vanished[entry.rev] = self._vanished.get(entry.rev, 0) + 1 if gone else 0
        if self._vanished[entry.rev] < 2:
            return False
        if _psutil().pid_exists(entry.pid):
            # Something else has the id by now, and DVC would interrupt that.
            return IDLE in call(dvc("queue", "status"), only_reads=True)
        # DVC marks it as failed if no worker has it; the next look sees that.
        call(dvc("queue", "kill", name), may_fail=True)
        return False


def _alive(entry: Entry) -> bool:
    """Whether the run's own process is there: after a reboot its id may be another's."""
    if entry.pid is None:
        return True  # it is being set up
    psutil = _psutil()
    try:
        process = psutil.Process(entry.pid)
        words = process.cmdline()
        return process.status() != psutil.STATUS_ZOMBIE and any(entry.rev in w for w in words)
    except psutil.Error:
        return False


def _psutil() -> Any:
    """It has no types, and is there where DVC is."""
    return importlib.import_module("psutil")


def dvc(*words: str) -> list[str]:
    """A command line of the DVC that is installed beside this Python."""
    return [sys.executable, "-m", "dvc", *words]


def call(command: Sequence[str], *, may_fail: bool = False, only_reads: bool = False) -> str:
    """What a command writes to stdout.

    It gets no Ctrl-C from the terminal. One that writes is waited for in any case: DVC changes the
    workspace while it queues, and changes it back.

    Args:
        command: the command line.
        may_fail: whether its failure is passed over.
        only_reads: whether it changes nothing; it is then ended when it takes too long, and tried
            several times. One that finds DVC locked is tried again in any case.

    Raises:
        InputError: it failed, and must not.
    """
    tries = READ_TRIES if only_reads else 1
    for attempt in range(max(tries, LOCKED_TRIES)):
        limit = READ_SECONDS * 2 ** min(attempt, READ_TRIES - 1) if only_reads else None
        code, out, err = _run(command, limit)
        if code == 0 or may_fail:
            return out
        if attempt >= tries - 1 and "lock" not in err.lower():
            break
        time.sleep(RETRY_SECONDS)
    words = " ".join(["dvc", *command[3:]] if command[1:3] == ["-m", "dvc"] else command)
    lines = err.strip().splitlines() or ["it said nothing"]
    reason = next((line for line in lines if line.startswith(("ERROR", "fatal"))), lines[-1])
    raise InputError(
        f"`{words}` failed ({reason.rstrip('.')}); mend that and give the command again."
    )


def _run(command: Sequence[str], limit: float | None) -> tuple[int, str, str]:
    """Exit status, stdout and stderr; without a limit (seconds) the command is never ended."""
    # DVC's workers look for `dvc`, and its stages for `python`, on the path.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    # Files and no pipes: workers hold what `dvc queue start` writes to until they end.
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(  # noqa: S603 - DVC and git, without a shell
            command,
            env=os.environ | {"PATH": path},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )
        try:
            process.wait(limit)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait(), "", f"it gave no answer within {limit:g} seconds"
        except KeyboardInterrupt:
            if limit is not None:
                process.kill()
            process.wait()
            raise
        out.seek(0)
        err.seek(0)
        return process.returncode, out.read(), err.read()
