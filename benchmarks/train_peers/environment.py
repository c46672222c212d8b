"""Which machine, device and versions a report is about."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any

import torch

from benchmarks.serve_peers import machine
from pipeline.machine.device import describe

if TYPE_CHECKING:
    from collections.abc import Iterator

_PACKAGES = (
    "torch",
    "triton",
    "transformers",
    "tokenizers",
    "numpy",
    "sentence-transformers",
    "datasets",
    "accelerate",
)


def described(device: torch.device) -> dict[str, Any]:
    """The processor as other benchmarks describe it, the device, and what training uses."""
    # torch names its build, +cpu or +cu130, which its package may not.
    versions = dict(_versions()) | {"torch": torch.__version__, "cuda": torch.version.cuda}
    return machine.described() | {
        "versions": versions,
        "device": describe(device),
        "threads": torch.get_num_threads(),
    }


def _versions() -> Iterator[tuple[str, str | None]]:
    for name in _PACKAGES:
        try:
            yield name, metadata.version(name)
        except metadata.PackageNotFoundError:
            yield name, None
