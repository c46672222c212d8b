"""How far a difference of Spearman correlations depends on the choice of sentences and of seeds.

A paired cluster bootstrap: each resample draws clusters of sentence pairs with replacement, the
same for all encoders and all tasks, and correlates cosine and gold anew, ties at their average
rank. Pairs that share a sentence are in one cluster (`senteval.sts.clusters`): they are not
independent of one another. Where there are three training seeds or more, each resample draws
seeds too.

A resample is a count for each pair, so its ranks are running sums of counts over values that are
sorted once: nothing is sorted again.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

CHUNK_ELEMENTS = 1 << 18  # resamples are drawn in chunks of about this size, to stay in the cache
LEVEL = 95  # per cent of the resampled differences that the interval holds
SEEDS = 3  # fewer say too little of how seeds spread to draw from them
CLUSTERS = 20  # of fewer, resamples are nearly all alike, and their spread is far too small


@dataclass(frozen=True)
class Interval:
    """A difference of Spearman x 100 and the middle 95 % of its resampled values.

    Attributes:
        difference: without resampling.
        low: where the middle begins; None, as is all that follows from it, without resamples.
        high: where it ends.
        includes_zero: the data cannot separate the two.
        p: two-sided, of no difference: twice the share of resampled values on zero's other side.
    """

    difference: float
    low: float | None
    high: float | None
    includes_zero: bool | None
    p: float | None


class Scored(NamedTuple):
    """One task's N pairs.

    Attributes:
        gold: (N,).
        cluster: (N,) numbers of clusters, from 0; they mean the same in all tasks.
        cosines: (N,) of each encoder.
    """

    gold: np.ndarray
    cluster: np.ndarray
    cosines: Sequence[np.ndarray]


class Ranking:
    """What the ranks of a resample need of N values, sorted once."""

    def __init__(self, values: np.ndarray) -> None:
        _, self.inverse, sizes = np.unique(values, return_inverse=True, return_counts=True)  # (N,)
        self.starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])  # of each distinct value, (U,)
        self.order = np.argsort(values, kind="stable")  # (N,)

    def centred(self, counts: np.ndarray) -> np.ndarray:
        """(B, N) average ranks less their mean when pair k occurs counts[b, k] times."""
        copies = np.add.reduceat(counts[:, self.order], self.starts, axis=1)  # (B, U)
        # The c copies of a value that follow s smaller ones share the rank s + (c + 1) / 2; of M
        # copies in all the mean rank is (M + 1) / 2, with and without ties.
        total = counts.sum(axis=1, keepdims=True)
        rank = np.cumsum(copies, axis=1) - 0.5 * copies - 0.5 * total
        centred: np.ndarray = rank[:, self.inverse]
        return centred


def resample_counts(clusters: int, resamples: int, seed: int, rows: int) -> Iterator[np.ndarray]:
    """Chunks of at most `rows` rows (B, clusters) of how often each cluster occurs."""
    generator = np.random.default_rng(seed)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        clusters_drawn = generator.integers(clusters, size=(count, clusters))
        clusters_drawn += clusters * np.arange(count)[:, None]
        yield np.bincount(clusters_drawn.ravel(), minlength=count * clusters).reshape(
            count, clusters
        )


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
    tasks: Mapping[str, Scored], *, resamples: int, seed: int
) -> dict[str, np.ndarray]:
    """Spearman x 100 of each of E encoders on all pairs and on each resample of them, by task.

    Args:
        tasks: Their pairs, of the same encoders.
        resamples: How many; none are drawn where the pairs of a task form too few clusters.
        seed: Of the draws.

    Returns:
        (E, 1 + resamples); the first column is not resampled.
    """
    if min(len(np.unique(scored.cluster)) for scored in tasks.values()) < CLUSTERS:
        resamples = 0
    rankings = {
        task: [Ranking(cosines) for cosines in scored.cosines] for task, scored in tasks.items()
    }
    gold = {task: Ranking(scored.gold) for task, scored in tasks.items()}
    count = 1 + max(int(scored.cluster.max()) for scored in tasks.values())
    rows = max(1, CHUNK_ELEMENTS // max(len(scored.gold) for scored in tasks.values()))
    everything = np.ones((1, count), dtype=np.int64)
    correlations: dict[str, list[np.ndarray]] = {task: [] for task in tasks}
    for resample in itertools.chain([everything], resample_counts(count, resamples, seed, rows)):
        for task, chunks in correlations.items():
            counts = resample[:, tasks[task].cluster]
            chunks.append(spearman_of_counts(counts, gold[task], rankings[task]))
    return {task: np.concatenate(chunks, axis=1) for task, chunks in correlations.items()}


def over_seeds(values: np.ndarray, seed: int) -> np.ndarray:
    """Mean over training seeds, in each resample over as many seeds drawn with replacement.

    Args:
        values: (S, 1 + R) of S training seeds; the first column is not resampled.
        seed: Of the draws, which depend on S and R alone: equal for all tasks.

    Returns:
        (1 + R,). Of fewer than three seeds all are taken each time.
    """
    count, columns = values.shape
    share = np.full((count, columns), 1 / count)
    if count >= SEEDS:
        drawn = np.random.default_rng(seed).multinomial(count, share[:, 0], size=columns - 1)
        share[:, 1:] = drawn.T / count
    mean: np.ndarray = (values * share).sum(axis=0)
    return mean


def interval(differences: np.ndarray) -> Interval:
    """Percentile interval of (1 + R,) differences, of which the first is not resampled."""
    outside = (100 - LEVEL) / 200
    resampled = differences[1:]
    if not len(resampled):
        return Interval(float(differences[0]), None, None, None, None)
    low, high = np.quantile(resampled, [outside, 1 - outside])
    beyond = min(int((resampled <= 0).sum()), int((resampled >= 0).sum()))
    p = min(1.0, 2 * (1 + beyond) / (1 + len(resampled)))
    return Interval(float(differences[0]), float(low), float(high), bool(low <= 0 <= high), p)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values of several comparisons, each adjusted for being one of them (Holm 1979)."""
    rising = np.argsort(ps, kind="stable")
    factors = len(ps) - np.arange(len(ps))
    adjusted = np.minimum(1, np.maximum.accumulate(np.asarray(ps)[rising] * factors))
    return [float(adjusted[place]) for place in np.argsort(rising, kind="stable")]
