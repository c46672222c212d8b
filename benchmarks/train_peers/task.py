"""What every contestant is given, and what one is."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Protocol

from benchmarks.train_peers.clock import seconds
from pipeline.config.schema import TrainParams
from pipeline.data.batches import batch_indices, collator

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    import torch
    from torch import Tensor

    from benchmarks.train_peers.sentences import Sentences
    from pipeline.data.batches import Collate

SEED = 42
TEMPERATURE = 0.05  # InfoNCE's; the trainer's scale is 1 / 0.05
_WARM = 2  # steps after those that bring every length: the second records a CUDA graph


class Contestant(Protocol):
    """Something that trains the model.

    Attributes:
        compiles: whether its first steps compile.
    """

    compiles: bool

    def warm_up(self) -> float:
        """Take the first steps, which prepare the others; their wall time in seconds."""

    def seconds(self, steps: int) -> float:
        """Take more steps; their wall time, with all that the device has to do for them."""


@dataclass(frozen=True)
class Task:
    """One backbone to be trained on one stream of batches.

    Attributes:
        folder: the backbone.
        sentences: the corpus.
        settings: the loop's.
        device: where.
        steps: timed steps, of all rounds together.
    """

    folder: Path
    sentences: Sentences
    settings: TrainParams
    device: torch.device
    steps: int

    @cached_property
    def cut(self) -> Collate:
        """What cuts our batches, which plain loops get too: a GPU holds the corpus once."""
        meta = self.sentences.meta
        return collator(self.sentences.tokens, meta.pad_id, meta.max_length, self.device)

    def indices(self) -> Iterator[np.ndarray]:
        """The batches, the same for everybody."""
        return batch_indices(len(self.sentences.tokens), self.settings.batch_size, SEED)

    def timed_batches(self) -> list[np.ndarray]:
        """Those of all rounds."""
        return list(islice(self.indices(), self.steps))

    def first_batches(self) -> list[np.ndarray]:
        """A batch of each length that is timed, since each may be compiled, and a few more."""
        lengths = self.sentences.tokens.lengths
        timed = self.timed_batches()
        of_each_length = {int(lengths[rows].max()): rows for rows in timed}
        return [*of_each_length.values(), *timed[:_WARM]]


def train_settings(batch_size: int, max_length: int, device: torch.device) -> TrainParams:
    """The published recipe's settings; precision and compiling as they are by default."""
    return TrainParams(
        max_length=max_length,
        batch_size=batch_size,
        epochs=1,
        steps=None,
        learning_rate=3e-5,
        weight_decay=0.0,
        gradient_clip=1.0,
        dev="data/sample/stsb_captions.tsv",
        keep="last",
        evaluate_every=1000,
        record_every=10,
        head="mlp",
        head_std=None,
        freeze_embeddings=False,
        precision="auto",
        compile="auto",
        chunk_size=None,
        device=str(device),
        launcher="python",
    )


class Loop:
    """Cuts one batch after the other and takes a step with it."""

    def __init__(
        self, task: Task, step: Callable[[Tensor, Tensor], object], *, compiles: bool
    ) -> None:
        self.compiles = compiles
        self._device, self._cut, self._step = task.device, task.cut, step
        self._indices, self._first = task.indices(), task.first_batches()

    def warm_up(self) -> float:
        """A step with each of the first batches."""
        return self._over(self._first)

    def seconds(self, steps: int) -> float:
        """Wall time of the next steps."""
        return self._over(list(islice(self._indices, steps)))

    def _over(self, batches: Sequence[np.ndarray]) -> float:
        left = iter(batches)
        return seconds(lambda: self._step(*self._cut(next(left))), len(batches), self._device)
