"""The trainer of sentence-transformers on the same sentences, as text.

Its time includes tokenizing, collating and whatever else the trainer does between two steps: who
uses it pays for that in every epoch. Not included: what happens once a training.
"""

from __future__ import annotations

import importlib
import importlib.util
import time
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers.utils import logging as transformers_logging

from benchmarks.train_peers.clock import synchronise
from benchmarks.train_peers.task import SEED

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.train_peers.task import Task

_NEEDED = ("sentence_transformers", "datasets", "accelerate")
_LEAD_IN = 2  # steps of each training before the clock starts


def missing() -> str:
    """Which packages the trainer lacks here, in words; empty if none."""
    names = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    verb = "is" if len(names) == 1 else "are"
    return f"{' and '.join(names)} {verb} not installed" if names else ""


class Trainer:
    """`SentenceTransformerTrainer` with in-batch negatives; each call is a training of its own.

    A training starts from the backbone, since a trainer leaves its wrappers on the model.
    """

    compiles = False

    def __init__(self, task: Task, *, bf16: bool, folder: Path) -> None:
        """Nothing is loaded yet.

        Args:
            task: as for the others.
            bf16: the trainer's argument of that name; False is its default.
            folder: where it may write.

        Raises:
            ImportError: a package is missing.
        """
        if lack := missing():
            raise ImportError(lack)
        self._task, self._bf16, self._folder = task, bf16, folder

    def warm_up(self) -> float:
        """A short training."""
        start = time.perf_counter()
        self.seconds(1)
        return time.perf_counter() - start

    def seconds(self, steps: int) -> float:
        """Wall time of a training's steps after its first ones."""
        with _quiet():
            return self._train(steps)

    def _train(self, steps: int) -> float:
        library: Any = importlib.import_module("sentence_transformers")
        model = self._model(library)
        losses: Any = importlib.import_module("sentence_transformers.sentence_transformer.losses")
        clock = _clock(_LEAD_IN, self._task.device)
        trainer = library.SentenceTransformerTrainer(
            model=model,
            args=self._arguments(library, _LEAD_IN + steps),
            train_dataset=self._pairs(_LEAD_IN + steps),
            loss=losses.MultipleNegativesRankingLoss(model),
            callbacks=[clock],
        )
        trainer.remove_callback(importlib.import_module("transformers").PrinterCallback)
        trainer.train()
        return float(clock.ended - clock.started)

    def _model(self, library: Any) -> Any:
        torch.manual_seed(SEED)
        modules: Any = importlib.import_module("sentence_transformers.sentence_transformer.modules")
        model = library.SentenceTransformer(
            str(self._task.folder),
            device=str(self._task.device),
            model_kwargs={"add_pooling_layer": False},
        )
        model.model_card_data.widget = [{}]  # else its model card looks for examples, with a bar
        model.max_seq_length = self._task.settings.max_length
        width = int(model[0].auto_model.config.hidden_size)
        model.append(modules.Dense(width, width).to(self._task.device))  # with tanh
        return model

    def _arguments(self, library: Any, steps: int) -> Any:
        return library.SentenceTransformerTrainingArguments(
            output_dir=str(self._folder),
            max_steps=steps,
            per_device_train_batch_size=self._task.settings.batch_size,
            learning_rate=self._task.settings.learning_rate,
            bf16=self._bf16,
            use_cpu=self._task.device.type == "cpu",
            seed=SEED,
            save_strategy="no",
            report_to="none",
            disable_tqdm=True,
        )

    def _pairs(self, steps: int) -> Any:
        """The sentences of so many of our batches, each with itself."""
        datasets: Any = importlib.import_module("datasets")
        rows = np.concatenate(list(islice(self._task.indices(), steps)))
        texts = self._task.sentences.texts(rows, self._task.folder)
        return datasets.Dataset.from_dict({"anchor": texts, "positive": texts})


@contextmanager
def _quiet() -> Iterator[None]:
    """Without the libraries' progress bars and load reports."""
    datasets: Any = importlib.import_module("datasets")
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    transformers_logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    datasets.disable_progress_bars()
    try:
        yield
    finally:
        transformers_logging.set_verbosity(verbosity)
        transformers_logging.enable_progress_bar()  # type: ignore[no-untyped-call]
        datasets.enable_progress_bars()


def _clock(lead_in: int, device: torch.device) -> Any:
    """A callback that notes when step `lead_in` and the last one have ended."""
    base: Any = importlib.import_module("transformers").TrainerCallback

    class Clock(base):  # type: ignore[misc]
        started = ended = 0.0

        def on_step_end(self, _arguments: Any, state: Any, *_: Any, **__: Any) -> None:
            if state.global_step in {lead_in, state.max_steps}:
                synchronise(device)
                self.ended = time.perf_counter()
            if state.global_step == lead_in:
                self.started = self.ended

    return Clock()
