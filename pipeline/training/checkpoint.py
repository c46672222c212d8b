"""Checkpoints: a run that is stopped anywhere goes on from an evaluation of the last minute.

The folder holds one file, everything that the next step depends on and the best step's
transformer; it is replaced in one move. A checkpoint of other settings or other data is not used:
its key says what it belongs to. A damaged one stops the run: whether to give up the steps before
it is not for a program to decide.
"""

import hashlib
import io
import json
import time
import zipfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils._pytree import tree_map_only

from pipeline.machine.device import RandomState, set_random_state
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_atomically

NAME = "last.pt"
# Seconds between two checkpoints, at least: a large encoder's takes seconds to write, and a GPU
# may evaluate it more often than that.
INTERVAL = 60.0


@dataclass
class Progress:
    """How far a run has come."""

    step: int = 0  # optimizer steps done
    best_step: int = 0  # with the best dev score; 0 before the first
    best_score: float = float("-inf")
    rows: list[dict[str, float]] = field(default_factory=list)  # of the curve
    dynamics: list[dict[str, float]] = field(default_factory=list)  # the batches' numbers

    @property
    def evaluated_step(self) -> int:
        """The last step that was evaluated; 0 before the first."""
        return int(self.rows[-1]["step"]) if self.rows else 0

    @property
    def last_score(self) -> float:
        """The dev score of the last evaluation."""
        return self.rows[-1]["dev_spearman"]

    def add(self, row: dict[str, float]) -> bool:
        """Add an evaluation to the curve; True if it is the best so far (the first of equals).

        The backbone's, at step 0, is none: a run gives an encoder that it trained.
        """
        self.rows.append(row)
        if self.step == 0 or row["dev_spearman"] <= self.best_score:
            return False
        self.best_step, self.best_score = self.step, row["dev_spearman"]
        return True


def run_key(identity: Mapping[str, Any]) -> str:
    """A hash of all that decides a run's result."""
    return hashlib.sha256(json.dumps(identity, sort_keys=True).encode()).hexdigest()


class Checkpoints:
    """The checkpoints of one run; a context, which ends when what was to be written is."""

    def __init__(self, folder: Path, key: str) -> None:
        """Nothing is read or written yet.

        Args:
            folder: outside DVC's outputs, which DVC deletes when a stage starts.
            key: see `run_key`.
        """
        self._folder, self._path, self._key = folder, folder / NAME, key
        self._writer = ThreadPoolExecutor(1)
        self._written: Future[None] | None = None
        self._saved = time.monotonic()
        self._best: dict[str, Tensor] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.shutdown()

    def keep_best(self, transformer: nn.Module) -> None:
        """Copy the weights of the best step so far, where they are."""
        self._best = {name: tensor.clone() for name, tensor in transformer.state_dict().items()}

    def save(
        self,
        progress: Progress,
        network: nn.Module,
        optimizer: Optimizer,
        random: Sequence[RandomState],
    ) -> None:
        """Write the state after an evaluation, if none was written for INTERVAL seconds.

        A thread writes a copy of it, and training goes on. `random` is each process's, by rank.

        Raises:
            WriteError: the last one could not be written.
        """
        if time.monotonic() - self._saved < INTERVAL or not self._best:
            return
        self._saved = time.monotonic()
        if self._written is not None:
            self._written.result()
        state = {
            "key": self._key,
            "progress": vars(progress),
            "network": network.state_dict(),
            "optimizer": optimizer.state_dict(),
            "random": list(random),
            "best": self._best,
        }
        # From a GPU into pinned memory; the device copies before it goes on, the host does not
        # wait.
        copy = tree_map_only(Tensor, _on_host, state)
        copied = None
        if next(network.parameters()).is_cuda:
            copied = torch.cuda.Event()  # type: ignore[no-untyped-call]
            copied.record()
        self._written = self._writer.submit(self._write, copy, copied)

    def last(self) -> dict[str, Any] | None:
        """What the last `save` wrote, for `resume`; None if there is nothing of this run.

        Raises:
            InputError: the checkpoint is damaged.
        """
        state = self._read()
        if state is not None:
            self._best = state.pop("best")
        return state

    def load_best(self, transformer: nn.Module) -> None:
        """Put the best step's weights into the transformer."""
        transformer.load_state_dict(self._best)

    def remove(self) -> None:
        """Delete what was written here, once the encoder is; the folder too if nothing is left."""
        self._writer.shutdown()
        for path in (self._path, *self._folder.glob(f".{NAME}.*.unfinished")):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()

    def _write(self, state: Mapping[str, Any], copied: torch.cuda.Event | None) -> None:
        if copied is not None:
            copied.synchronize()
        # By way of memory: torch does not say that the disk is full.
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomically(self._path, buffer.getbuffer())

    def _read(self) -> dict[str, Any] | None:
        """The file's content, or None if it is missing or belongs to another run."""
        path = self._path
        if not path.is_file():
            return None
        try:
            with zipfile.ZipFile(path) as archive:  # torch compares no checksums
                damaged = archive.testzip()
            if damaged is not None:
                raise zipfile.BadZipFile(damaged)  # noqa: TRY301
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
            return state if state["key"] == self._key else None
        except Exception as error:  # torch.load raises a dozen kinds
            raise InputError(
                f"{path}: damaged ({type(error).__name__}); delete {self._folder} to start the "
                "run anew."
            ) from error


def _on_host(tensor: Tensor) -> Tensor:
    """A copy that later steps do not change."""
    return tensor.detach().to("cpu", non_blocking=tensor.is_cuda, copy=True)


def resume(
    state: Mapping[str, Any] | None, network: nn.Module, optimizer: Optimizer, rank: int
) -> Progress:
    """Load a saved state into network, optimizer and this process's random generators."""
    if state is None:
        return Progress()
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimizer"])
    set_random_state(state["random"][rank], next(network.parameters()).device)
    return Progress(**state["progress"])
