"""Who may take part, by name, and why one may not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, cast

import torch

from benchmarks.train_peers.ours import Ours
from benchmarks.train_peers.plain import Plain
from benchmarks.train_peers.precision import Precision, lacking
from benchmarks.train_peers.trainer import Trainer, missing

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.train_peers.task import Contestant, Task

Way = Literal["eager", "compile", "trainer"]

OURS = "ours"
PEERS: dict[str, tuple[Way, Precision]] = {
    "eager-fp32": ("eager", "fp32"),
    "eager-tf32": ("eager", "tf32"),
    "eager-bf16": ("eager", "bf16"),
    "compile-fp32": ("compile", "fp32"),
    "compile-bf16": ("compile", "bf16"),
    "trainer-fp32": ("trainer", "fp32"),
    "trainer-bf16": ("trainer", "bf16"),
}
_IN_WORDS = {
    "eager": "plain loop",
    "compile": "plain loop, torch.compile",
    "trainer": "sentence-transformers trainer",
}


def by_default(device: torch.device) -> list[str]:
    """All of them; on CUDA, compiling in fp32 costs a minute and is nobody's choice."""
    return [name for name in PEERS if device.type != "cuda" or name != "compile-fp32"]


def in_words(name: str) -> str:
    """For tables."""
    if name == OURS:
        return "ours"
    way, precision = PEERS[name]
    return f"{_IN_WORDS[way]}, {precision}"


def obstacle(name: str, device: torch.device) -> str:
    """Why a peer cannot take part; empty if it can."""
    way, precision = PEERS[name]
    if reason := lacking(precision, device):
        return reason
    if way == "trainer" and device.type == "cuda" and torch.cuda.device_count() > 1:
        return "the trainer takes all GPUs that it sees; set CUDA_VISIBLE_DEVICES=0"
    return missing() if way == "trainer" else ""


def build(name: str, task: Task, folder: Path) -> Contestant:
    """A contestant with all that it keeps on the device."""
    if name == OURS:
        return Ours(task)
    way, precision = PEERS[name]
    if way == "trainer":
        return Trainer(task, bf16=precision == "bf16", folder=folder)
    return cast("Contestant", Plain(task, precision, compiled=way == "compile"))
