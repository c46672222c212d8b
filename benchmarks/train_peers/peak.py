"""How fast a device multiplies large square matrices: what a step's speed is held against."""

from __future__ import annotations

import torch

from benchmarks.train_peers.clock import seconds
from benchmarks.train_peers.precision import Precision, lacking, multiplying

_SIDE = {"cuda": 8192, "cpu": 2048}
_REPEATS, _CALLS = 3, {"cuda": 20, "cpu": 4}


def reference(device: torch.device) -> Precision:
    """What shares of the peak are of: bf16, or fp32 where there is none."""
    return "fp32" if lacking("bf16", device) else "bf16"


def matmul_tflops(precision: Precision, device: torch.device) -> float:
    """The best of a few tries, in 10^12 additions and multiplications a second."""
    side = _SIDE[device.type]
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    left, right = (torch.randn(side, side, device=device, dtype=dtype) for _ in range(2))
    with multiplying(precision):
        left @ right
        calls = _CALLS[device.type]
        best = min(seconds(lambda: left @ right, calls, device) for _ in range(_REPEATS))
    return float(2 * side**3 * calls / best / 1e12)


def peaks(device: torch.device) -> dict[str, float]:
    """Of every precision that the device has."""
    every: tuple[Precision, ...] = ("fp32", "tf32", "bf16")
    return {one: matmul_tflops(one, device) for one in every if not lacking(one, device)}
