"""Where a training run reads and writes, and the refusal of places that it must not replace."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from pipeline.machine.errors import WriteError
from pipeline.machine.files import check_apart, check_writable

if TYPE_CHECKING:
    import argparse
    from pathlib import Path

    from pipeline.config.schema import Keep


@dataclass(frozen=True)
class Places:
    """Where a run reads and writes."""

    prepared: Path  # folder of the prepare stage
    model: Path  # the encoder's folder, replaced as a whole
    curve: Path  # CSV file
    dynamics: Path  # CSV file of what the batches were like
    checkpoints: Path  # folder that survives an interruption
    best: Path | None = None  # folder of the best step's encoder beside `model`, where wanted
    probes: Path | None = None  # folder of the sentences that are recorded, where wanted

    @classmethod
    def of(cls, options: argparse.Namespace) -> Places:
        """The places that the command line names."""
        return cls(*(getattr(options, field.name) for field in fields(cls)))

    def encoders(self, keep: Keep) -> dict[Path, Keep]:
        """The folders of encoders, and which step's each holds; the last step's comes first."""
        return {self.model: keep} | ({} if self.best is None else {self.best: "best"})

    def check(self) -> None:
        """Refuse what cannot be written, or holds what no training wrote.

        Raises:
            WriteError: the option and what is wrong with it.
        """
        encoders = {"--model": self.model} | ({} if self.best is None else {"--best": self.best})
        tables = {"--curve": self.curve, "--dynamics": self.dynamics}
        for option, path in encoders.items():
            check_writable(option, path, folder=True)
        for option, path in tables.items():
            check_writable(option, path)
        check_writable("--checkpoints", self.checkpoints / "last.pt")
        check_apart(encoders | tables | {"--checkpoints": self.checkpoints})
        for option, path in encoders.items():
            holds = path.is_dir() and any(path.iterdir())
            if holds and not (path / "triad.json").is_file():
                raise WriteError(
                    f"{option}: {path} exists and is no encoder of Triad's (it has no triad.json); "
                    "name a new or empty folder."
                )
