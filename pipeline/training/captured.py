"""A whole step as one CUDA graph: its kernels are launched once together, and not one by one.

It has never run on a GPU, so `train.capture` is off by default.
Source: "Whole-network capture" in PyTorch's notes on CUDA graphs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar

import torch
from torch import Tensor

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from pipeline.config.schema import TrainParams
    from pipeline.training.processes import Processes

T = TypeVar("T")
_Shapes = tuple[torch.Size, torch.Size]
_Recording = tuple[torch.cuda.CUDAGraph, Tensor, Tensor, T]  # what it reads, and what it writes


def check_captures(settings: TrainParams, device: torch.device, processes: Processes) -> None:
    """Refuse what `train.capture` does not suit.

    Raises:
        InputError: no CUDA graphs, or a step of several parts or processes.
    """
    reasons = {
        f"train.device is {device.type}, and CUDA graphs need cuda": device.type != "cuda",
        "train.chunk_size is set, and a step of several parts is no graph": settings.chunk_size,
        "several processes train together, and a graph has no exchange": processes.count > 1,
    }
    for reason, holds in reasons.items():
        if holds:
            raise InputError(f"train.capture: true, but {reason}; set it to false.")


class CapturedStep(Generic[T]):
    """Takes steps whose kernels are captured, one graph for each shape of a batch.

    The first batch of a shape is an ordinary step, in which libraries set themselves up. The second
    one is captured. From then on a batch is copied to where the graph reads it. What a step returns
    is overwritten by the next one.
    """

    def __init__(self, step: Callable[[Tensor, Tensor], T], device: torch.device) -> None:
        """Prepare.

        Args:
            step: ids and mask -> what it saw. It must not wait for the device, nor take a number
                from the host that changes between steps.
            device: a CUDA GPU.
        """
        self._step = step
        self._stream: torch.cuda.Stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
        self._memory = torch.cuda.graph_pool_handle()  # graphs take turns, and share it
        self._seen: set[_Shapes] = set()
        self._graphs: dict[_Shapes, _Recording[T]] = {}

    def __call__(self, ids: Tensor, mask: Tensor) -> T:
        """Take a step with a batch."""
        shapes = ids.shape, mask.shape
        if shapes not in self._seen:
            self._seen.add(shapes)
            return self._ordinary(ids, mask)
        if shapes not in self._graphs:
            self._graphs[shapes] = self._captured(ids.clone(), mask.clone())
        graph, own_ids, own_mask, outcome = self._graphs[shapes]
        own_ids.copy_(ids)
        own_mask.copy_(mask)
        graph.replay()
        return outcome

    def _ordinary(self, ids: Tensor, mask: Tensor) -> T:
        """On the stream that the capture will be on, since autograd remembers streams."""
        current = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            outcome = self._step(ids, mask)
        current.wait_stream(self._stream)
        return outcome

    def _captured(self, ids: Tensor, mask: Tensor) -> _Recording[T]:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._memory, stream=self._stream):
            outcome = self._step(ids, mask)
        return graph, ids, mask, outcome
