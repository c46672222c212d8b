"""Many softmax regressions at once: folds and regularization strengths as one batched problem.

SentEval trains hundreds of small classifiers on parts of one feature matrix, each seeded anew.
Three facts make them one problem. Classifiers with equally many training rows draw the same
permutations. Those of one fold see the same minibatches whatever their strength, so a minibatch is
gathered once for all strengths. The gradient of the mean cross-entropy has a closed form,
(softmax - onehot)^T X / B. Early stopping stays each classifier's own: a finished one leaves.
Groups of folds that fill a cache are spread over as many threads as torch may use, one each.

Which folds and strengths to compare is decided in `classifier`; no features are made here. It runs
on the CPU: there the minibatches come from cache.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from pipeline.senteval.early_stopping import EarlyStopping
from pipeline.senteval.optimizers import OPTIMIZERS
from pipeline.senteval.rows import Fitted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from torch import Tensor

    from pipeline.senteval.optimizers import Optimizer, OptimizerName
    from pipeline.senteval.rows import Fold, Rows

MAX_EPOCHS = 200  # SentEval starts another group of epochs while no more than these have run
HELD_OUT = 0.05  # SentEval's part for early stopping where no validation rows are given
CACHE_BYTES = 512 * 1024  # one minibatch of all folds: it must still be in cache when it is used


@dataclass(frozen=True)
class Training:
    """How each classifier is trained.

    Attributes:
        optimizer: torch's Adam or RMSprop with their default rates; decay is part of the gradient.
        batch_size: Rows of a minibatch; an epoch's last one may be smaller.
        epoch_size: Epochs between two looks at the validation accuracy.
        tenacity: Looks without a new best, in all and not in a row, that training survives.
    """

    optimizer: OptimizerName
    batch_size: int
    epoch_size: int
    tenacity: int


def fit(
    rows: Rows,
    folds: Sequence[Fold],
    training: Training,
    seed: int,
    advance: Callable[[int], None] | None = None,
) -> list[Fitted]:
    """Trains every classifier as if it were alone and numpy and torch were seeded before.

    Args:
        rows: What the row numbers of the folds stand for.
        folds: All with equally many strengths.
        training: How to train.
        seed: Of initial weights, held-out rows and permutations, the same for every classifier.
        advance: Told the number of folds whenever some are done.
    """
    groups = sorted(_together(rows, folds, training.batch_size), key=len, reverse=True)
    fitted: dict[int, Fitted] = {}
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            jobs = {}
            for numbers in groups:
                group = [folds[k] for k in numbers]
                jobs[pool.submit(_fit_together, rows, group, training, seed)] = numbers
            for job in as_completed(jobs):
                fitted |= zip(jobs[job], job.result(), strict=True)
                if advance:
                    advance(len(jobs[job]))
    finally:
        torch.set_num_threads(threads)  # what the workers set is the default of later threads
    return [fitted[k] for k in range(len(folds))]


def _together(rows: Rows, folds: Sequence[Fold], batch_size: int) -> Iterator[list[int]]:
    """Numbers of the folds that are trained as one: equally long, and no more than fit a cache."""
    minibatch = batch_size * rows.matrix.shape[1] * rows.matrix.element_size()
    most = max(1, CACHE_BYTES // minibatch)
    alike: dict[tuple[int, bool], list[int]] = {}
    for number, fold in enumerate(folds):
        alike.setdefault((len(fold.train), fold.dev is None), []).append(number)
    for numbers in alike.values():
        parts = math.ceil(len(numbers) / most)
        yield from (numbers[part::parts] for part in range(parts))


@torch.inference_mode()
def _fit_together(rows: Rows, folds: list[Fold], training: Training, seed: int) -> list[Fitted]:
    stream = np.random.RandomState(seed)  # the protocol's generator
    train, dev = _split(folds, stream)
    strengths = torch.tensor([fold.strengths for fold in folds], dtype=rows.matrix.dtype)  # (F, S)
    weights = rows.initial_weights(seed).repeat(*strengths.shape, 1, 1)  # (F, S, C, columns)
    decay = strengths[:, :, None, None]
    optimizer = OPTIMIZERS[training.optimizer](weights)
    stopping = EarlyStopping(weights, training.tenacity)
    epochs = 0
    while stopping.training and epochs <= MAX_EPOCHS:
        for _ in range(training.epoch_size):
            order = train[:, stream.permutation(train.shape[1])]
            minibatches = _minibatches(rows, order, training.batch_size)
            _train_epoch(minibatches, weights, decay, optimizer)
        epochs += training.epoch_size
        staying = stopping.look(weights, _accuracy(rows, dev, stopping.folds, weights))
        if staying is not None:
            train = train[staying[0][:, 0]]
            weights, decay = weights[staying], decay[staying]
            optimizer.keep(staying)
    best = zip(stopping.weights, stopping.accuracy, strict=True)
    return [Fitted(weights, accuracy) for weights, accuracy in best]


def _split(folds: list[Fold], stream: np.random.RandomState) -> tuple[np.ndarray, list[np.ndarray]]:
    """Training rows (F, n) and the validation rows of each fold."""
    train = np.stack([fold.train for fold in folds])
    given = [fold.dev for fold in folds if fold.dev is not None]
    if given:
        return train, given
    order = stream.permutation(train.shape[1])
    held_out = int(HELD_OUT * train.shape[1])
    if not held_out:
        raise ValueError(
            f"{train.shape[1]} training rows are too few to hold out {HELD_OUT:.0%} of them for "
            f"early stopping; at least {math.ceil(1 / HELD_OUT)} are needed."
        )
    return train[:, order[held_out:]], list(train[:, order[:held_out]])


def _minibatches(rows: Rows, order: np.ndarray, size: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Features (F, B, columns) and one-hot labels (F, 1, C, B) in the given order (F, n)."""
    numbers = torch.from_numpy(order)
    onehot = torch.nn.functional.one_hot(rows.labels[numbers], rows.classes).to(rows.matrix.dtype)
    targets = torch.split(onehot.mT.contiguous()[:, None], size, dim=3)
    # One buffer: threads return memory of this size to the system, and fetching it costs more
    # than filling it.
    space = rows.matrix.new_empty(numbers.shape[0] * size, rows.matrix.shape[1])
    for some, target in zip(torch.split(numbers, size, dim=1), targets, strict=True):
        batch = space[: some.numel()]
        torch.index_select(rows.matrix, 0, some.reshape(-1), out=batch)
        yield batch.view(*some.shape, -1), target


def _train_epoch(
    minibatches: Iterator[tuple[Tensor, Tensor]],
    weights: Tensor,  # (F, S, C, columns), changed in place
    decay: Tensor,  # (F, S, 1, 1)
    optimizer: Optimizer,
) -> None:
    folds, strengths, classes, columns = weights.shape
    flat = weights.view(folds, strengths * classes, columns)
    gradient = torch.empty_like(weights)
    for batch, target in minibatches:
        size = batch.shape[1]
        logits = torch.bmm(flat, batch.mT).view(folds, strengths, classes, size)
        error = torch.softmax(logits, dim=2).sub_(target).view(folds, -1, size)
        torch.mul(weights, decay, out=gradient)
        gradient.view_as(flat).baddbmm_(error, batch, alpha=1 / size)
        optimizer.step(weights, gradient)


def _accuracy(rows: Rows, dev: list[np.ndarray], folds: np.ndarray, weights: Tensor) -> np.ndarray:
    """Validation accuracy (f, s) of weights (f, s, C, columns), whose rows are of `folds`."""
    accuracies = []
    for fold, its_weights in zip(folds, weights, strict=True):
        numbers = dev[fold]
        accuracies.append(rows.accuracy(rows.predict(its_weights, numbers), numbers))
    return np.stack(accuracies)
