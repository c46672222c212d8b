"""Wall time and memory of work that a device does by itself."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable


def synchronise(device: torch.device) -> None:
    """Wait until the device has done all it was given."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def seconds(work: Callable[[], object], times: int, device: torch.device) -> float:
    """Wall time of so many calls, one after the other; what the device still does is waited for."""
    synchronise(device)
    start = time.perf_counter()
    for _ in range(times):
        work()
    synchronise(device)
    return time.perf_counter() - start


class Memory:
    """How much more of a CUDA device's memory is in use at most than when this was made."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        if device.type == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats(device)
            self._before = torch.cuda.memory_allocated(device)

    def peak_mib(self) -> float | None:
        """In MiB; None where there is no such device."""
        if self._device.type != "cuda":
            return None
        return (torch.cuda.max_memory_allocated(self._device) - self._before) / 2**20
