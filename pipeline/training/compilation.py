"""Whether and how a training step is compiled."""

from __future__ import annotations

import os
import shutil
import sysconfig
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from pipeline.machine.errors import InputError, first_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor

    from pipeline.config.schema import Compile


# More than there are: seven lengths up to 512 tokens, and two numbers of rows.
_SHAPES = 32
_EAGER = "train.compile: auto trains without compiling, which is slower on a GPU:"


def compiles(choice: Compile, device: torch.device) -> bool:
    """Whether to compile: `auto` does on CUDA, where launching kernels one by one is what costs.

    Where `auto` would, but what compiles for the device is missing, a warning says so.

    Raises:
        InputError: `on`, but what compiles for the device is missing.
    """
    if choice == "off" or (choice == "auto" and device.type != "cuda"):
        return False
    missing = _missing(device)
    if missing and choice == "on":
        raise InputError(
            f"train.compile: on, but {missing}; install it, or set auto, which goes without."
        )
    if missing:
        warnings.warn(f"{_EAGER} {missing}.", stacklevel=2)
    return not missing


def failed_to_compile(error: Exception) -> bool:
    """Whether it is the compiler's error, and not one of what was compiled."""
    from torch._dynamo.exc import TorchDynamoException  # noqa: PLC0415 - takes a second to import

    return isinstance(error, TorchDynamoException)


def warn_eager(error: Exception) -> None:
    """Say that a step which could not be compiled is taken eagerly, and why."""
    warnings.warn(f"{_EAGER} the compiler failed ({first_line(error)}).", stacklevel=2)


def _missing(device: torch.device) -> str:
    """What torch.compile lacks here; empty if nothing."""
    if device.type != "cuda":
        has_compiler = any(shutil.which(name) for name in ("g++", "clang++", "c++"))
        return "" if has_compiler else "there is no C++ compiler on the PATH"
    from torch.utils._triton import has_triton  # noqa: PLC0415 - has no public name

    if not has_triton():
        return "Triton is not installed"
    # Triton builds the part of its launcher that Python calls.
    compilers = (os.environ.get("CC"), "cc", "gcc", "clang")
    if not any(name and shutil.which(name) for name in compilers):
        return "there is no C compiler on the PATH"
    header = Path(sysconfig.get_path("include")) / "Python.h"
    return "" if header.is_file() else f"{header} is not there (Debian's python3-dev has it)"


def compiled(function: Callable[..., Tensor], *, graphs: bool) -> Callable[..., Tensor]:
    """The function as one program for each shape that it is called with.

    Args:
        function: takes and returns tensors.
        graphs: replay its kernels as one CUDA graph; what it returns is then overwritten by the
            next step.
    """
    from torch import _dynamo as dynamo  # noqa: PLC0415 - takes a second to import

    # A shape is a program. Beyond the limit torch would go on without compiling, and not fail.
    dynamo.config.recompile_limit = max(dynamo.config.recompile_limit, _SHAPES)
    mode = "reduce-overhead" if graphs else None
    program: Callable[..., Tensor] = torch.compile(function, dynamic=False, mode=mode)
    return program
