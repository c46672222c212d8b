"""The simulation of section 3.1: pieces of objectives on random and on exact angles.

Arrays over the grid have a row for each negative_mean and a column for each positive_mean.
Source: Li, Zhang & Nie 2024, Section 3.1.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.paper.simulation.draws import (
    Draws,
    Reals,
    negative_means,
    on_each,
    positive_means,
    with_diagonals,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray
    from torch import Tensor

    from pipeline.config.schema import SimulationParams
    from pipeline.objectives import Objective
    from pipeline.objectives.views import Views

# Below this mean dissipation an anchor has stopped moving; the authors' code has the same number.
LEAST_DISSIPATION = 0.01


class Estimate(NamedTuple):
    """Mean dissipation over the batches at each grid point, and its standard error."""

    mean: Reals
    standard_error: Reals


def dissipations(objective: Objective, cosine: Tensor) -> Tensor:
    """(M, N): of every row of (M, N, N) cosines."""
    return on_each(lambda views: objective.pieces(views).dissipation, cosine)


def estimate(objective: Objective, cosine: Tensor) -> tuple[float, float]:
    """Mean dissipation over all rows of (M, N, N) cosines, and its standard error."""
    values = dissipations(objective, cosine).double()
    deviation, mean = torch.std_mean(values)
    return mean.item(), deviation.item() / math.sqrt(values.numel())


def mean_dissipation(
    objectives: Mapping[str, Objective], params: SimulationParams
) -> dict[str, Estimate]:
    """The mean dissipation of each objective over the grid of mean angles."""
    draws = Draws.of(params)
    positives = [draws.positives(mean) for mean in positive_means(params.grid)]

    @torch.no_grad()  # holds for the thread that asks
    def row(negative_mean: float) -> list[list[tuple[float, float]]]:
        cosine = draws.negatives(negative_mean)
        points = (with_diagonals(cosine, each) for each in positives)
        return [
            [estimate(objective, point) for objective in objectives.values()] for point in points
        ]

    with _one_thread_an_operation() as threads, ThreadPoolExecutor(threads) as pool:
        rows = np.array(list(pool.map(row, negative_means(params.grid))))
    return {
        name: Estimate(rows[:, :, index, 0], rows[:, :, index, 1])
        for index, name in enumerate(objectives)
    }


@contextmanager
def _one_thread_an_operation() -> Iterator[int]:
    """Give the number of threads back: matrices are small, so rows of the grid share them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield threads
    finally:
        torch.set_num_threads(threads)


class Shares(NamedTuple):
    """Mean share of the hardest negative in InfoNCE's weight, a row for each temperature.

    Attributes:
        all_batches: over all of them, at each negative mean.
        open_batches: over those whose dissipation is at least LEAST_DISSIPATION; NaN for none.
        open_batches_count: how many those are.
    """

    all_batches: Reals
    open_batches: Reals
    open_batches_count: NDArray[np.int64]


@torch.no_grad()
def hardest_share(params: SimulationParams) -> Shares:
    """Max |w| / sum |w| of each batch against the negatives' mean angle, at positive_mean.

    Without the dissipation's condition the share does not depend on the positives.
    """
    draws = Draws.of(params)
    shape = len(params.temperatures), params.grid
    shares = Shares(np.empty(shape), np.empty(shape), np.empty(shape, dtype=np.int64))
    for column, negative_mean in enumerate(negative_means(params.grid)):
        cosine = draws.cosine(params.positive_mean, negative_mean)
        for row, temperature in enumerate(params.temperatures):
            objective = OBJECTIVES["info_nce"](temperature=temperature)
            share = on_each(partial(_share, objective), cosine).double()
            still_open = share[dissipations(objective, cosine) >= LEAST_DISSIPATION]
            shares.all_batches[row, column] = share.mean().item()
            shares.open_batches[row, column] = still_open.mean().item()
            shares.open_batches_count[row, column] = still_open.numel()
    return shares


def _share(objective: Objective, views: Views) -> Tensor:
    size = objective.pieces(views).weight.abs()
    return size.amax(dim=1) / size.sum(dim=1)


class AtMeans(NamedTuple):
    """Ratio and dissipation of an objective over the grid, with every angle at its mean."""

    ratio: Reals
    dissipation: Reals

    @property
    def unvisited(self) -> NDArray[np.bool_]:
        """What training does not reach: positives further than negatives, or closed anchors.

        An anchor counts as closed below LEAST_DISSIPATION, which a gate is if it is 0.
        """
        grid = len(self.ratio)
        further = positive_means(grid)[None, :] > negative_means(grid)[:, None]
        return np.asarray(further | (self.dissipation < LEAST_DISSIPATION))

    @property
    def is_constant(self) -> bool:
        """Whether the ratio is one number."""
        return bool(np.ptp(self.ratio) <= 1e-9 * np.abs(self.ratio).max())


@torch.no_grad()
def at_means(name: str, objective: Objective, params: SimulationParams) -> AtMeans:
    """Ratio and dissipation over the grid, with as many equal negatives as a batch has.

    Raises:
        ValueError: the objective's dissipation or ratio reads embeddings; says the name.
    """
    positives = torch.from_numpy(positive_means(params.grid)).cos()
    # All positives of a grid's row are anchors of (N, N) matrices, the last ones filled up.
    count = params.negatives + 1
    matrices = math.ceil(len(positives) / count)
    filled = positives[-1].repeat(matrices * count)
    filled[: len(positives)] = positives

    def row(negative_mean: float) -> tuple[Tensor, Tensor]:
        cosine = filled.new_full((matrices, count, count), math.cos(negative_mean))
        with_diagonals(cosine, filled.view(matrices, count))
        both = on_each(partial(_ratio, objective), cosine), dissipations(objective, cosine)
        ratio, dissipation = (piece.flatten()[: len(positives)] for piece in both)
        return ratio, dissipation

    try:
        rows = [row(negative_mean) for negative_mean in negative_means(params.grid)]
    except AttributeError as error:
        if error.name not in ("anchor", "positive"):
            raise
        raise ValueError(
            f"analysis.simulation.objectives: the dissipation or the ratio of {name!r} reads "
            "embeddings, but a simulation has angles only; take it out of the list."
        ) from error
    ratio, dissipation = zip(*rows, strict=True)
    return AtMeans(torch.stack(ratio).numpy(), torch.stack(dissipation).numpy())


def _ratio(objective: Objective, views: Views) -> Tensor:
    pieces = objective.pieces(views)
    return pieces.pull / pieces.weight.sum(dim=1)
