"""Who made an encoder: what the triad.json in its folder says, where there is one."""

import json
from dataclasses import dataclass
from pathlib import Path

from pipeline.machine.errors import InputError


@dataclass(frozen=True)
class Origin:
    """How an encoder came about; all None for one that Triad did not train."""

    objective: str | None  # its name in params.yaml
    seed: int | None
    steps: int | None  # of the run
    step: int | None  # the one that was saved
    dev_spearman: float | None  # of that step

    def name(self, otherwise: str) -> str:
        """`<objective>-<seed>`, or the other name for one that Triad did not train."""
        is_named = self.objective is not None and self.seed is not None
        return f"{self.objective}-{self.seed}" if is_named else otherwise


def read_origin(folder: Path) -> Origin:
    """What an encoder's folder says of its making.

    Raises:
        InputError: its triad.json is no record of a training run.
    """
    path = folder / "triad.json"
    try:
        record = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        step = record.get("kept", record.get("best", {}))  # older encoders have the best only
        return Origin(
            record.get("objective"),
            record.get("seed"),
            record.get("steps"),
            step.get("step"),
            step.get("dev_spearman"),
        )
    except (ValueError, AttributeError) as error:
        raise InputError(
            f"encoder: {path} is no record of a training run ({error}); train the encoder again."
        ) from None
