"""Where a training run reads and writes, and the refusal of places that it must not replace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pipeline.machine.errors import WriteError
from pipeline.machine.files import check_apart, check_writable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path


@dataclass(frozen=True)
class Places:
    """Where a run reads and writes.

    Attributes:
        prepared: folder of the prepare stage.
        model: the encoder's folder, replaced as a whole.
        curve: the curve's CSV file.
        dynamics: the CSV file of what the batches were like.
        checkpoints: folder that survives an interruption.
    """

    prepared: Path
    model: Path
    curve: Path
    dynamics: Path
    checkpoints: Path

    @classmethod
    def of(cls, options: argparse.Namespace) -> Places:
        """The places that the command line names."""
        return cls(*(getattr(options, field.name) for field in fields(cls)))

    def check(self) -> None:
        """Refuse what cannot be written, or holds what no training wrote.

        Raises:
            WriteError: the option and what is wrong with it.
        """
        check_writable("--model", self.model, folder=True)
        check_writable("--curve", self.curve)
        check_writable("--dynamics", self.dynamics)
        check_writable("--checkpoints", self.checkpoints / "last.pt")
        written = {
            "--model": self.model,
            "--curve": self.curve,
            "--dynamics": self.dynamics,
            "--checkpoints": self.checkpoints,
        }
        check_apart(written)
        holds = self.model.is_dir() and any(self.model.iterdir())
        if holds and not (self.model / "triad.json").is_file():
            raise WriteError(
                f"--model: {self.model} exists and is no encoder of Triad's (it has no "
                "triad.json); name a new or empty folder."
            )
