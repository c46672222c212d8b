"""Where it runs: device, precision and random generators, and the device's name for records."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal, cast

import torch
from torch import Tensor

from pipeline.machine.cores import usable_cores
from pipeline.machine.errors import InputError, first_line

RandomState = Mapping[str, Tensor]
Precision = Literal["bf16", "tf32", "fp32"]
PRECISIONS = ("fp32", "bf16", "fp16")  # of encoding
NAMES = re.compile(r"auto|cpu|cuda(:[0-9]+)?|mps")


def resolve(device: str) -> torch.device:
    """`auto` takes CUDA, then Apple's MPS, then the CPU; anything else is taken at its word.

    On a CPU, torch is kept from starting more threads than a container's quota has cores for. A GPU
    with a number becomes the current one: Triton and CUDA graphs run there.

    Raises:
        InputError: the device is unknown or not there.
    """
    place = _chosen(device)
    if place.type == "cpu" and "OMP_NUM_THREADS" not in os.environ:
        torch.set_num_threads(min(torch.get_num_threads(), usable_cores()))
    if place.type == "cuda" and place.index is not None:
        torch.cuda.set_device(place)
    return place


def _chosen(device: str) -> torch.device:
    if not NAMES.fullmatch(device):
        raise _refusal(device, "no such name")
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        place = torch.device(device)
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError, NotImplementedError) as error:
        raise _refusal(device, first_line(error)) from error
    return place


def _refusal(device: str, reason: str) -> InputError:
    return InputError(
        f"device: {device!r} cannot be used here ({reason}); give auto, cpu, cuda, cuda:N or mps "
        "as --device or train.device."
    )


def taken_precision(precision: str, device: torch.device) -> Precision:
    """The precision of matrix products: `auto` takes bf16 where the hardware has it, else fp32.

    Raises:
        InputError: `tf32`, but the device has none.
    """
    if precision == "auto":
        return "bf16" if _has_bf16(device) else "fp32"
    if precision == "tf32" and not _has_tf32(device):
        raise InputError(
            f"train.precision: tf32, but {describe(device)} has none (NVIDIA GPUs have it from "
            "Ampere on); set auto, bf16 or fp32."
        )
    return cast("Precision", precision)


def autocast_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """The dtype for autocast, or None for float32 (tf32 is float32 with shorter products)."""
    return torch.bfloat16 if taken_precision(precision, device) == "bf16" else None


def encoding_dtype(precision: str, device: torch.device) -> torch.dtype | None:
    """The dtype for autocast while encoding, of fp32, bf16 and fp16; None is float32.

    Raises:
        InputError: the device has none of that kind.
    """
    if precision == "fp32":
        return None
    half = precision == "fp16"
    if not (device.type == "cuda" if half else _has_bf16(device)):
        raise InputError(
            f"--precision: {precision}, but {describe(device)} does not multiply in it; give fp32."
        )
    return torch.float16 if half else torch.bfloat16


def multiply_in(precision: Precision, device: torch.device) -> None:
    """Let a GPU multiply float32 matrices in tf32, or in full float32 whatever was set before."""
    if device.type == "cuda":
        products = "tf32" if precision == "tf32" else "ieee"
        torch.backends.cuda.matmul.fp32_precision = products


def _has_tf32(device: torch.device) -> bool:
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (8, 0)


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
