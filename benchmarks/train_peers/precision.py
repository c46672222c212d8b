"""The precisions that plain loops are run in, and where there are none."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal

import torch

from pipeline.machine.device import autocast_dtype

if TYPE_CHECKING:
    from collections.abc import Iterator

Precision = Literal["fp32", "tf32", "bf16"]


def lacking(precision: Precision, device: torch.device) -> str:
    """Why a device does without a precision; empty if it has it."""
    if precision == "tf32" and device.type != "cuda":
        return "TF32 is a format of CUDA devices"
    if precision == "tf32" and torch.cuda.get_device_capability(device) < (8, 0):
        return "this GPU has no TF32"
    if precision == "bf16" and autocast_dtype("auto", device) is None:
        what = "CPU has no avx512_bf16" if device.type == "cpu" else "GPU has no bf16"
        return f"this {what}, and emulated it is slower than fp32"
    return ""


@contextmanager
def multiplying(precision: Precision) -> Iterator[None]:
    """Float32 matrices are multiplied in TF32 if that is asked for, and else exactly."""
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high" if precision == "tf32" else "highest")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)
