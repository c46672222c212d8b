"""A run's two tables: which steps have a row, what is read for it, and both as CSV.

The curve has a row each time the dev score is measured; the dynamics have one at shorter intervals,
with the gradient's components and the geometry of a batch.
"""

import csv
import io
import math
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from pipeline.config.schema import TrainParams
from pipeline.machine.errors import CollapseError
from pipeline.objectives import Objective
from pipeline.training.checkpoint import Progress
from pipeline.training.dynamics import BATCH, NAMES, dynamics, named
from pipeline.training.step import Outcome

COLUMNS = ("step", "dev_spearman", "loss", *BATCH)
DYNAMICS = ("step", *NAMES)
Row = Mapping[str, float]

EARLY = 5  # dev scores of the first `evaluate_every` steps


class Monitor:
    """Keeps losses, and the numbers of the batches that are recorded.

    Reading a number from an accelerator means waiting for all that it still has to do.
    """

    def __init__(
        self, objective: Objective, settings: TrainParams, steps: int, device: torch.device
    ) -> None:
        self._objective, self._steps = objective, steps
        self._evaluate_every, self._record_every = settings.evaluate_every, settings.record_every
        self._losses = torch.zeros((), device=device)
        self._seen: list[tuple[int, Tensor]] = []

    def evaluates(self, step: int) -> bool:
        """Whether the dev score is measured after this step.

        Some objectives fall within a few steps, so the first interval is divided.
        """
        early = step < self._evaluate_every and step % math.ceil(self._evaluate_every / EARLY) == 0
        return early or step % self._evaluate_every == 0 or step == self._steps

    def _records(self, step: int) -> bool:
        return step % self._record_every == 0 or step == self._steps

    def see(self, step: int, outcome: Outcome) -> None:
        """Add a step."""
        self._losses += outcome.loss
        if self._records(step) or self.evaluates(step):
            numbers = dynamics(self._objective, outcome.anchor, outcome.positive)
            self._seen.append((step, numbers))

    def read(self, progress: Progress) -> dict[str, float]:
        """Add what was recorded to the progress, and begin anew.

        Returns:
            The curve's row at the last step, which must have been seen, without its dev score.
            At step 0 there is no loss and no batch yet: NaN.

        Raises:
            CollapseError: a loss since the last reading was not finite.
        """
        if not progress.step:
            return {"step": 0, "loss": math.nan, **dict.fromkeys(BATCH, math.nan)}
        rows = [(step, named(numbers)) for step, numbers in self._seen]
        loss = float(self._losses) / (progress.step - progress.evaluated_step)
        if not math.isfinite(loss):
            raise CollapseError(
                f"embeddings became NaN or infinite between steps {progress.evaluated_step} and "
                f"{progress.step}"
            )
        progress.dynamics.extend({"step": step, **row} for step, row in rows if self._records(step))
        self._losses.zero_()
        self._seen.clear()
        _, last = rows[-1]
        return {"step": progress.step, "loss": loss, **{name: last[name] for name in BATCH}}


def rounded(row: Row, columns: Sequence[str] = COLUMNS) -> dict[str, float | None]:
    """Six digits after the point; None for what is undefined (no anchor was open)."""
    return {key: round(row[key], 6) if math.isfinite(row[key]) else None for key in columns}


def as_csv(rows: Sequence[Row], columns: Sequence[str] = COLUMNS) -> bytes:
    """The table's bytes; an undefined number is an empty field."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rounded(row, columns) for row in rows)
    return text.getvalue().encode()
