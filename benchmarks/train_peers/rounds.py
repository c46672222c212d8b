"""One size's contest: everybody is warmed up, and then takes turns."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from benchmarks.spread import spread
from benchmarks.train_peers.arithmetic import Shape, padded
from benchmarks.train_peers.clock import Memory
from benchmarks.train_peers.contestants import OURS, build, obstacle
from benchmarks.train_peers.ours import Ours
from benchmarks.train_peers.peak import peaks

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.train_peers.task import Contestant, Task

_COUNTED = 20  # batches whose padded lengths are averaged
# What a library raises where it cannot do what is asked; the others still take part.
_FAILURES = (AttributeError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)


class Contest:
    """Ours and its peers on one task.

    Attributes:
        not_run: peers that took no part, and why.
        seconds: a step's wall time in each round, by contestant.
        peaks: the device's matmul peaks in each round.
        warm_up: wall time of each one's first steps, and how long a step took right after.
        peak_mib: the most memory that each one's first steps took; None without CUDA.
    """

    def __init__(self, task: Task, peers: Sequence[str], folder: Path) -> None:
        self._task, self._peers, self._folder = task, peers, folder
        self._contestants: dict[str, Contestant] = {}
        self.not_run: dict[str, str] = {}
        self.seconds: dict[str, list[float]] = {}
        self.peaks: list[dict[str, float]] = []
        self.warm_up: dict[str, tuple[float, float]] = {}
        self.peak_mib: dict[str, float | None] = {}

    def run(self, rounds: int, steps: int) -> None:
        """Warm up, then time so many steps of each contestant in each round.

        Raises:
            ValueError: ours cannot be run; a peer that cannot is noted.
        """
        self._task.cut(self._task.timed_batches()[0])  # before memory is counted
        self._admit(OURS)
        for name in self._peers:
            if reason := obstacle(name, self._task.device):
                self.not_run[name] = reason
                continue
            try:
                self._admit(name)
            except _FAILURES as error:
                self._leave_out(name, error)
        expected = rounds * steps * sum(step for _, step in self.warm_up.values())
        say(f"  {rounds} rounds of {steps} steps each: about {expected:.0f} s")
        for number in range(rounds):
            self._round(number, steps)

    def _admit(self, name: str) -> None:
        start = time.perf_counter()
        memory = Memory(self._task.device)
        contestant = build(name, self._task, self._folder)
        first = contestant.warm_up()
        self.warm_up[name] = first, contestant.seconds(1)
        self.peak_mib[name] = memory.peak_mib()
        self._contestants[name] = contestant
        say(f"  {name}: warm after {time.perf_counter() - start:.1f} s")

    def _round(self, number: int, steps: int) -> None:
        self.peaks.append(peaks(self._task.device))
        names = list(self._contestants)
        first = number % len(names)
        for name in names[first:] + names[:first]:
            try:
                a_step = self._contestants[name].seconds(steps) / steps
            except _FAILURES as error:
                if name == OURS:
                    raise
                self._leave_out(name, error)
                continue
            self.seconds.setdefault(name, []).append(a_step)
            say(f"  round {number + 1}, {name}: {1000 * a_step:.1f} ms a step")

    def _leave_out(self, name: str, error: Exception) -> None:
        reason = (str(error).strip().splitlines() or [""])[0].rstrip(".")
        self.not_run[name] = f"{type(error).__name__}: {reason}"
        for kept in (self._contestants, self.seconds, self.warm_up, self.peak_mib):
            kept.pop(name, None)
        say(f"  {name}: not run, {self.not_run[name]}")

    def compile_seconds(self, name: str) -> float | None:
        """What a contestant's first steps took beyond as many later ones, if it compiles."""
        if not self._contestants[name].compiles:
            return None
        first, _ = self.warm_up[name]
        usual = spread(self.seconds[name])["median"] * len(self._task.first_batches())
        return max(0.0, first - float(usual))

    def arithmetic(self) -> dict[str, Any]:
        """Our model's shape, and the mean work of a step of the first timed batches."""
        ours = self._contestants[OURS]
        assert isinstance(ours, Ours)  # noqa: S101 - it was built as such
        shape, cut = Shape.of(ours.network), self._task.cut
        batches = self._task.timed_batches()[:_COUNTED]
        passes = [padded(ours.network, *cut(rows)) for rows in batches]
        tokens = sum(rows * length for one in passes for rows, length in one)
        return {
            "layers": shape.layers,
            "width": shape.width,
            "inner": shape.inner,
            "padded_tokens_per_step": tokens / len(batches),
            "flops_per_step": sum(shape.step(one) for one in passes) / len(batches),
        }


def say(line: str) -> None:
    """Progress, beside the report."""
    print(line, file=sys.stderr, flush=True)
