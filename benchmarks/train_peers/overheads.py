"""What an objective, and recording its components, cost beside the step that they are part of.

Each is timed by itself: the objective forward and backward on leaf embeddings in the dtype that
the step has them in, compiled where the step compiles it. In a step on CUDA, launching them can
hide behind work that the device still has: shares of short steps are upper bounds.
"""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.spread import spread
from benchmarks.train_peers.clock import seconds
from benchmarks.train_peers.ours import Ours
from benchmarks.train_peers.rounds import say
from benchmarks.train_peers.task import SEED
from pipeline.machine.device import autocast_dtype
from pipeline.objectives import OBJECTIVES, Objective
from pipeline.training.compilation import compiled, compiles
from pipeline.training.dynamics import dynamics

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from torch import Tensor

    from benchmarks.train_peers.task import Task

BATCH = 512
_CALLS = {"cuda": 50, "cpu": 5}


class Overhead:
    """One objective's two costs in each round, in seconds a call."""

    def __init__(self, name: str, views: tuple[Tensor, Tensor], *, compiling: bool) -> None:
        self._objective: Objective = OBJECTIVES[name]()
        self._views, self._device = views, views[0].device
        self._loss: Callable[[Tensor, Tensor], Tensor] = self._objective.loss
        self._graphs = compiling and self._device.type == "cuda"
        if compiling:
            self._loss = compiled(self._loss, graphs=self._graphs)
        self.loss: list[float] = []
        self.recording: list[float] = []
        for _ in range(3):  # a CUDA graph is recorded in the second call
            self._backward()
        dynamics(self._objective, *self._views)

    def measure(self) -> None:
        """Add a round."""
        calls = _CALLS[self._device.type]
        record = partial(dynamics, self._objective, *self._views)
        self.loss.append(seconds(self._backward, calls, self._device) / calls)
        self.recording.append(seconds(record, calls, self._device) / calls)

    def _backward(self) -> None:
        if self._graphs:
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        for view in self._views:
            view.grad = None
        self._loss(*self._views).backward()  # type: ignore[no-untyped-call]


def overheads(task: Task, names: Sequence[str], rounds: int, steps: int) -> dict[str, Any]:
    """Costs of all named objectives, interleaved with the step of the task's batch."""
    ours = Ours(task)
    ours.warm_up()
    views = _views(ours, task)
    compiling = compiles(task.settings.compile, task.device)
    each = _warmed(names, views, compiling=compiling)
    whole = []
    for number in range(rounds):
        whole.append(ours.seconds(steps) / steps)
        for one in each.values():
            one.measure()
        say(f"  round {number + 1}: {1000 * whole[-1]:.1f} ms a step")
    every = task.settings.record_every
    return {
        "batch_size": task.settings.batch_size,
        "record_every": every,
        "compiled": compiling,
        "step_ms": spread([1000 * one for one in whole]),
        "objectives": {name: _shares(one, whole, every) for name, one in each.items()},
    }


def _warmed(
    names: Sequence[str], views: tuple[Tensor, Tensor], *, compiling: bool
) -> dict[str, Overhead]:
    each: dict[str, Overhead] = {}
    start = time.perf_counter()
    for number, name in enumerate(names, 1):
        each[name] = Overhead(name, views, compiling=compiling)
        took = time.perf_counter() - start
        if compiling:
            say(f"  {name}: warm, {took / number * (len(names) - number):.0f} s to go")
    return each


def _shares(one: Overhead, whole: Sequence[float], every: int) -> dict[str, Any]:
    pairs = zip(one.loss, one.recording, whole, strict=True)
    shares = [(loss / step, recording / every / step) for loss, recording, step in pairs]
    return {
        "loss_ms": spread([1000 * seconds for seconds in one.loss]),
        "loss_share": spread([loss for loss, _ in shares]),
        "recording_ms": spread([1000 * seconds for seconds in one.recording]),
        "recording_share": spread([recording for _, recording in shares]),
    }


def _views(ours: Ours, task: Task) -> tuple[Tensor, Tensor]:
    """Two leaves like a trained encoder's views: (N, D), the second near the first."""
    generator = torch.Generator(task.device).manual_seed(SEED)
    width = int(ours.network.transformer.config.hidden_size)
    shape = (task.settings.batch_size, width)
    draw = partial(torch.randn, shape, generator=generator, device=task.device)
    anchor = draw()
    positive = anchor + 0.5 * draw()
    dtype = autocast_dtype(task.settings.precision, task.device) or torch.float32
    first, second = (view.tanh().to(dtype).requires_grad_() for view in (anchor, positive))
    return first, second
