"""Checkpoints: a run that is stopped anywhere goes on from its last evaluation.

A folder holds `last.pt` (everything the next step depends on) and `best.pt` (the best step's
transformer). Both are replaced in one move. A checkpoint of other settings or other data is
not used: its key says what it belongs to. A damaged one stops the run: whether to give up the
steps before it is not for a program to decide.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from pipeline.machine.device import RandomState, set_random_state
from pipeline.machine.errors import InputError
from pipeline.machine.files import write_atomically

NAMES = ("last.pt", "best.pt")


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


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run."""

    folder: Path  # outside DVC's outputs, which DVC deletes when a stage starts
    key: str  # see `run_key`

    def save(
        self,
        progress: Progress,
        network: nn.Module,
        optimizer: Optimizer,
        random: Sequence[RandomState],
    ) -> None:
        """Write the state after an evaluation; `random` is each process's, by rank."""
        state = {
            "key": self.key,
            "progress": vars(progress),
            "network": network.state_dict(),
            "optimiser": optimizer.state_dict(),
            "random": list(random),
        }
        self._write("last.pt", state)

    def save_best(self, transformer: nn.Module) -> None:
        """Keep the weights of the best step so far."""
        self._write("best.pt", {"key": self.key, "transformer": transformer.state_dict()})

    def last(self) -> dict[str, Any] | None:
        """What the last `save` wrote, if there is a best step beside it; for `resume`.

        Raises:
            InputError: the checkpoint is damaged.
        """
        state = self._read("last.pt")
        return None if self._read("best.pt") is None else state

    def load_best(self, transformer: nn.Module) -> None:
        """Put the best step's weights into the transformer."""
        state = self._read("best.pt")
        if state is None:
            raise InputError(
                f"{self.folder / 'best.pt'}: gone or of another run; train again, one run a folder."
            )
        transformer.load_state_dict(state["transformer"])

    def remove(self) -> None:
        """Delete what was written here, once the encoder is; the folder too if nothing is left."""
        for name in NAMES:
            for path in (self.folder / name, *self.folder.glob(f".{name}.*.unfinished")):
                path.unlink(missing_ok=True)
        with suppress(OSError):
            self.folder.rmdir()

    def _write(self, name: str, state: Mapping[str, Any]) -> None:
        # By way of memory: torch does not say that the disk is full.
        buffer = io.BytesIO()
        torch.save(state, buffer)
        write_atomically(self.folder / name, buffer.getbuffer())

    def _read(self, name: str) -> dict[str, Any] | None:
        """The file's content, or None if it is missing or belongs to another run."""
        path = self.folder / name
        if not path.is_file():
            return None
        try:
            with zipfile.ZipFile(path) as archive:  # torch compares no checksums
                damaged = archive.testzip()
            if damaged is not None:
                raise zipfile.BadZipFile(damaged)  # noqa: TRY301
            state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
            return state if state["key"] == self.key else None
        except Exception as error:  # torch.load raises a dozen kinds
            raise InputError(
                f"{path}: damaged ({type(error).__name__}); delete {self.folder} to start the "
                "run anew."
            ) from error


def resume(
    state: Mapping[str, Any] | None, network: nn.Module, optimizer: Optimizer, rank: int
) -> Progress:
    """Load a saved state into network, optimizer and this process's random generators."""
    if state is None:
        return Progress()
    network.load_state_dict(state["network"])
    optimizer.load_state_dict(state["optimiser"])
    set_random_state(state["random"][rank], next(network.parameters()).device)
    return Progress(**state["progress"])
