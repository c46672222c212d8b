"""Many softmax regressions at once: folds and weight decays as one batched problem.

SentEval trains hundreds of small classifiers on parts of one feature matrix, each seeded anew.
Three facts make them one problem. Classifiers with equally many training rows draw the same
permutations. Those of one fold see the same minibatches whatever their decay, so a minibatch is
gathered once for all decays. The gradient of the mean cross-entropy has a closed form,
(softmax - onehot)^T X / B. Early stopping stays each classifier's own: what a finished one learns
later is not looked at. Groups of folds that fill a cache are spread over as many threads as torch
may use, one each. It runs on the CPU: there the minibatches come from cache.
"""

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

MAX_EPOCHS = 200  # SentEval starts another group of epochs while no more than these have run
HELD_OUT = 0.05  # SentEval's part for early stopping where no validation rows are given
CACHE_BYTES = 512 * 1024  # one minibatch of all folds: it must still be in cache when it is used
COLUMN_MULTIPLE = 16  # makes every row start at a cache line

OPTIMIZERS = {"adam": torch.optim.Adam, "rmsprop": torch.optim.RMSprop}


@dataclass(frozen=True)
class Setting:
    """What a score depends on besides the features."""

    folds: int  # of cross-validation
    optimizer: Literal["adam", "rmsprop"]  # torch's, with default rates; decay is in the gradient
    batch_size: int  # rows of a minibatch; an epoch's last one may be smaller
    epoch_size: int  # epochs between two looks at the validation accuracy
    patience: int  # looks without a new best, in all and not in a row: SentEval's tenacity
    seed: int = 1111  # of weights, held-out rows and permutations, for every classifier
    double: bool = False  # compute in float64
    outer_folds: int | None = None  # nested cross-validation ends after so many


@dataclass(frozen=True)
class Rows:
    """The matrix that all classifiers of a task share."""

    matrix: Tensor  # (N, columns): features, ones for the bias, zeros up to a round width
    labels: Tensor  # (N,) classes, counted from 0
    features: int  # how many of the columns are features
    classes: int

    @classmethod
    def of(cls, features: np.ndarray, labels: np.ndarray, dtype: torch.dtype) -> Self:
        """Lays out features (N, D) and labels (N,) in the precision to train in."""
        count, width = features.shape
        columns = math.ceil((width + 1) / COLUMN_MULTIPLE) * COLUMN_MULTIPLE
        matrix = torch.zeros(count, columns, dtype=dtype)
        matrix[:, :width] = torch.from_numpy(features)
        matrix[:, width] = 1
        return cls(matrix, torch.from_numpy(labels).long(), width, int(labels.max()) + 1)

    def initial_weights(self, seed: int) -> Tensor:
        """Weights (C, columns) as `torch.nn.Linear` draws them after seeding with `seed`."""
        generator = torch.Generator().manual_seed(seed)
        linear = torch.empty(self.classes, self.features)
        torch.nn.init.kaiming_uniform_(linear, a=math.sqrt(5), generator=generator)
        bound = 1 / math.sqrt(self.features)
        weights = torch.zeros(self.classes, self.matrix.shape[1])
        weights[:, : self.features] = linear
        weights[:, self.features].uniform_(-bound, bound, generator=generator)
        return weights.to(self.matrix.dtype)

    def predict(self, weights: Tensor, indices: np.ndarray) -> np.ndarray:
        """Most probable classes (S, n) of the rows with these indices, for (S, C, columns)."""
        decays, classes, columns = weights.shape
        logits = self.matrix[torch.from_numpy(indices)] @ weights.view(-1, columns).T
        predictions: np.ndarray = logits.view(-1, decays, classes).argmax(dim=2).T.numpy()
        return predictions

    def accuracy(self, predictions: np.ndarray, indices: np.ndarray) -> np.ndarray:
        """Share of correct predictions (..., n) of the rows with these indices: (...)."""
        hits = predictions == self.labels.numpy()[indices]
        shares: np.ndarray = hits.mean(axis=-1)
        return shares


@dataclass(frozen=True)
class Fold:
    """What S classifiers train on."""

    train: np.ndarray  # indices of rows
    dev: np.ndarray | None  # indices of rows to validate on; None to hold some of `train` out
    weight_decays: tuple[float, ...]  # one for each classifier


@dataclass(frozen=True)
class Fitted:
    """A fold's classifiers: weights (S, C, columns) and their validation accuracy (S,)."""

    weights: Tensor
    dev_accuracy: np.ndarray


def fit(rows: Rows, folds: Sequence[Fold], setting: Setting) -> list[Fitted]:
    """Trains every classifier as if it were alone and numpy and torch were seeded before.

    All folds have equally many decays.
    """
    groups = sorted(_together(rows, folds, setting.batch_size), key=len, reverse=True)
    fitted: dict[int, Fitted] = {}

    def fit_group(indices: list[int]) -> list[Fitted]:
        return _fit_together(rows, [folds[k] for k in indices], setting)

    threads = torch.get_num_threads()
    try:
        with (
            ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool,
            tqdm(total=len(folds), desc="folds", leave=False, disable=None) as progress,
        ):
            for indices, group in zip(groups, pool.map(fit_group, groups), strict=True):
                fitted |= zip(indices, group, strict=True)
                progress.update(len(indices))
    finally:
        torch.set_num_threads(threads)  # what the workers set is the default of later threads
    return [fitted[k] for k in range(len(folds))]


def _together(rows: Rows, folds: Sequence[Fold], batch_size: int) -> Iterator[list[int]]:
    """Indices of the folds that are trained as one: equally long, and no more than fit a cache."""
    minibatch = batch_size * rows.matrix.shape[1] * rows.matrix.element_size()
    most = max(1, CACHE_BYTES // minibatch)
    alike: dict[tuple[int, bool], list[int]] = {}
    for index, fold in enumerate(folds):
        alike.setdefault((len(fold.train), fold.dev is None), []).append(index)
    for indices in alike.values():
        parts = math.ceil(len(indices) / most)
        yield from (indices[part::parts] for part in range(parts))


@torch.inference_mode()
def _fit_together(rows: Rows, folds: list[Fold], setting: Setting) -> list[Fitted]:
    stream = np.random.RandomState(setting.seed)  # the protocol's generator
    train, dev = _split(folds, stream)
    decay = torch.tensor([fold.weight_decays for fold in folds], dtype=rows.matrix.dtype)  # (F, S)
    weights = rows.initial_weights(setting.seed).repeat(*decay.shape, 1, 1)  # (F, S, C, columns)
    optimizer = OPTIMIZERS[setting.optimizer]([weights])
    best_weights, best = torch.zeros_like(weights), np.full(decay.shape, -1.0)
    failures, active = np.zeros(decay.shape, dtype=int), np.ones(decay.shape, dtype=bool)
    epochs = 0
    while active.any() and epochs <= MAX_EPOCHS:
        for _ in range(setting.epoch_size):
            order = train[:, stream.permutation(train.shape[1])]
            _train_epoch(_minibatches(rows, order, setting.batch_size), weights, decay, optimizer)
        epochs += setting.epoch_size
        predictions = [rows.predict(*pair) for pair in zip(weights, dev, strict=True)]
        accuracy = np.stack([rows.accuracy(*pair) for pair in zip(predictions, dev, strict=True)])
        better = active & (accuracy > best)
        best[better] = accuracy[better]
        best_weights[better] = weights[better]
        failures += active & ~better
        active &= failures <= setting.patience
    return [Fitted(*pair) for pair in zip(best_weights, best, strict=True)]


def _split(folds: list[Fold], stream: np.random.RandomState) -> tuple[np.ndarray, list[np.ndarray]]:
    """Training rows (F, n) and the validation rows of each fold."""
    train = np.stack([fold.train for fold in folds])
    dev_parts = [fold.dev for fold in folds if fold.dev is not None]
    if dev_parts:
        return train, dev_parts
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
    indices = torch.from_numpy(order)
    onehot = torch.nn.functional.one_hot(rows.labels[indices], rows.classes).to(rows.matrix.dtype)
    targets = torch.split(onehot.mT.contiguous()[:, None], size, dim=3)
    # One buffer: threads return memory of this size to the system, and fetching it costs more
    # than filling it.
    space = rows.matrix.new_empty(indices.shape[0] * size, rows.matrix.shape[1])
    for places, target in zip(torch.split(indices, size, dim=1), targets, strict=True):
        batch = space[: places.numel()]
        torch.index_select(rows.matrix, 0, places.reshape(-1), out=batch)
        yield batch.view(*places.shape, -1), target


def _train_epoch(
    minibatches: Iterator[tuple[Tensor, Tensor]],
    weights: Tensor,  # (F, S, C, columns), changed in place
    decay: Tensor,  # (F, S)
    optimizer: torch.optim.Optimizer,
) -> None:
    folds, decays, classes, columns = weights.shape
    flat = weights.view(folds, decays * classes, columns)
    weights.grad = torch.empty_like(weights)
    for batch, target in minibatches:
        size = batch.shape[1]
        logits = torch.bmm(flat, batch.mT).view(folds, decays, classes, size)
        error = torch.softmax(logits, dim=2).sub_(target).view(folds, -1, size)
        # An optimizer's own weight_decay is one number; ours differ between classifiers.
        torch.mul(weights, decay[:, :, None, None], out=weights.grad)
        weights.grad.view_as(flat).baddbmm_(error, batch, alpha=1 / size)
        optimizer.step()
