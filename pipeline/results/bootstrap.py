"""How far a difference of two Spearman correlations depends on the choice of sentence pairs.

A paired bootstrap: each resample draws N of the N pairs with replacement, the same for all
encoders, and correlates cosine and gold anew, ties at their average rank. A resample is a count for
each pair, so its ranks are running sums of counts over values that are sorted once: nothing is
sorted again. The interval says nothing about how scores vary over training seeds.
"""

from __future__ import annotations

import itertools
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

CHUNK_ELEMENTS = 1 << 18  # resamples are drawn in chunks of about this size, to stay in the cache
LEVEL = 95  # per cent of the resampled differences that the interval holds


@dataclass(frozen=True)
class Interval:
    """A difference of Spearman x 100 and the middle 95 % of its resampled values."""

    difference: float
    low: float
    high: float
    includes_zero: bool  # these pairs cannot separate the two encoders


class Ranking:
    """What the ranks of a resample need of N values, sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        _, self.inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)  # (N,)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])  # of each distinct value, (U,)
        self.order = np.argsort(values, kind="stable")  # (N,)

    def centred(self, counts: np.ndarray) -> np.ndarray:
        """(B, N) average ranks less their mean when pair k occurs counts[b, k] times."""
        copies = np.add.reduceat(counts[:, self.order], self.starts, axis=1)  # (B, U)
        # The c copies of a value that follow s smaller ones share the rank s + (c + 1) / 2; the
        # mean rank is (N + 1) / 2, with and without ties.
        rank = np.cumsum(copies, axis=1) - 0.5 * copies - 0.5 * counts.shape[1]
        centred: np.ndarray = rank[:, self.inverse]
        return centred


def resample_counts(task: str, pairs: int, resamples: int, seed: int) -> Iterator[np.ndarray]:
    """Chunks (B, pairs) of how often each pair occurs; a task's draws depend on no other task."""
    generator = np.random.default_rng([seed, zlib.crc32(task.encode())])
    chunk = max(1, CHUNK_ELEMENTS // pairs)
    for start in range(0, resamples, chunk):
        rows = min(chunk, resamples - start)
        drawn = generator.integers(pairs, size=(rows, pairs))
        drawn += pairs * np.arange(rows)[:, None]
        yield np.bincount(drawn.ravel(), minlength=rows * pairs).reshape(rows, pairs)


def spearman_of_counts(counts: np.ndarray, gold: Ranking, cosines: Sequence[Ranking]) -> np.ndarray:
    """Spearman x 100 of each of E rankings with gold's, in each of B resamples.

    Args:
        counts: (B, N) how often each pair occurs.
        gold: Of N gold scores.
        cosines: E times of N cosines.

    Returns:
        (E, B).

    Raises:
        ValueError: A resample holds one distinct gold score or cosine only.
    """
    gold_rank = gold.centred(counts)
    weighted = counts * gold_rank
    gold_square = np.einsum("bn,bn->b", weighted, gold_rank)
    correlations = []
    for cosine in cosines:
        rank = cosine.centred(counts)
        spread = gold_square * np.einsum("bn,bn,bn->b", counts, rank, rank)
        if (spread == 0).any():
            raise ValueError(
                f"bootstrap: a resample of {counts.shape[1]} pairs has one distinct value only and "
                "so no correlation; measure on more pairs."
            )
        correlations.append(100 * np.einsum("bn,bn->b", weighted, rank) / np.sqrt(spread))
    return np.stack(correlations)


def resampled_spearman(
    task: str, gold: np.ndarray, cosines: Sequence[np.ndarray], *, resamples: int, seed: int
) -> np.ndarray:
    """Spearman x 100 of each of E encoders on all pairs and on each resample of them.

    Args:
        task: Names the draws.
        gold: (N,).
        cosines: E times (N,).
        resamples: How many.
        seed: Of the draws; encoders that are measured with the same one are paired.

    Returns:
        (E, 1 + resamples); the first column is not resampled.
    """
    rankings = [Ranking(cosine) for cosine in cosines]
    everything = np.ones((1, len(gold)), dtype=np.int64)
    chunks = itertools.chain([everything], resample_counts(task, len(gold), resamples, seed))
    ranked_gold = Ranking(gold)
    correlations = [spearman_of_counts(counts, ranked_gold, rankings) for counts in chunks]
    return np.concatenate(correlations, axis=1)


def interval(differences: np.ndarray) -> Interval:
    """Percentile interval of (1 + R,) differences, of which the first is not resampled."""
    outside = (100 - LEVEL) / 200
    low, high = np.quantile(differences[1:], [outside, 1 - outside])
    return Interval(float(differences[0]), float(low), float(high), bool(low <= 0 <= high))
