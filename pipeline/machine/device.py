"""Where it runs: device, precision and random generators, and the device's name for records."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

import torch
from torch import Tensor

from pipeline.machine.cores import usable_cores
from pipeline.machine.errors import InputError

RandomState = Mapping[str, Tensor]
NAMES = re.compile(r"auto|cpu|cuda(:[0-9]+)?|mps")


def resolve(device: str) -> torch.device:
    """`auto` takes CUDA, then Apple's MPS, then the CPU; anything else is taken at its word.

    On a CPU, torch is kept from starting more threads than a container's quota has cores for.

    Raises:
        InputError: the device is unknown or not there.
    """
    chosen = _chosen(device)
    if chosen.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(torch.get_num_threads(), usable_cores()))
    return chosen


def _chosen(device: str) -> torch.device:
    if not NAMES.fullmatch(device):
        raise _refusal(device, "no such name")
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _refusal(device, str(error).splitlines()[0]) from error
    return chosen


def _refusal(device: str, reason: str) -> InputError:
    return InputError(
        f"device: {device!r} cannot be used here ({reason}); give auto, cpu, cuda, cuda:N or mps "
        "as --device or train.device."
    )


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """The dtype for autocast, or None for full float32.

    `auto` takes bf16 where the hardware multiplies it natively, `bf16` insists, `fp32` declines.
    """
    if precision == "fp32":
        return None
    return torch.bfloat16 if precision == "bf16" or _has_bf16(device) else None


def _has_bf16(device: torch.device) -> bool:
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type == "cpu":
        # Emulated bf16 is several times slower than float32, so ask for the instructions.
        return bool(torch.cpu._is_avx512_bf16_supported())  # noqa: SLF001 - no public question
    return False


def describe(device: torch.device) -> str:
    """The hardware in words, for records."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type}, {torch.get_num_threads()} threads"


def random_state(device: torch.device) -> RandomState:
    """The generators that a run on the device draws from: the CPU's and its own."""
    state = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        state["cuda"] = torch.cuda.get_rng_state(device)
    if device.type == "mps":
        state["mps"] = torch.mps.get_rng_state()
    return state


def set_random_state(state: RandomState, device: torch.device) -> None:
    """Go on from a state; one of another kind of device sets the CPU's generator alone."""
    torch.set_rng_state(state["cpu"])
    if device.type == "cuda" and "cuda" in state:
        torch.cuda.set_rng_state(state["cuda"], device)
    if device.type == "mps" and "mps" in state:
        torch.mps.set_rng_state(state["mps"])
