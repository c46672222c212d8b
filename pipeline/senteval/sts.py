"""Scores of the seven tasks of semantic textual similarity.

A task's score is Spearman's correlation of cosine and gold over all its pairs together, the
setting that SimCSE calls 'all'. The mean over subsets, which older papers give, stands beside it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats

from pipeline.machine.errors import InputError
from pipeline.senteval.known import Label
from pipeline.senteval.readers import join_pairs
from pipeline.senteval.similarity import Encode, cosine_scores, spearman
from pipeline.senteval.tasks import StsData


@dataclass(frozen=True)
class SubsetScore:
    """Spearman x 100 within one subset."""

    spearman: float
    pairs: int


@dataclass(frozen=True)
class TaskScore:
    """One task's correlations x 100, and the cosines and gold scores that they come from."""

    task: str
    spearman: float  # over all pairs together
    pearson: float  # over all pairs together
    subsets: dict[str, SubsetScore]
    cosine: np.ndarray  # (pairs,)
    gold: np.ndarray  # (pairs,)
    label: Label  # whether the data is the published benchmark

    @property
    def score(self) -> float:
        """What is reported and averaged."""
        return self.spearman

    @property
    def pairs(self) -> int:
        """Scored pairs of all subsets."""
        return len(self.gold)

    @property
    def mean(self) -> float:
        """Mean of the subsets' Spearman, each subset counting once."""
        return float(np.mean([subset.spearman for subset in self.subsets.values()]))

    @property
    def weighted_mean(self) -> float:
        """Mean of the subsets' Spearman, each pair counting once."""
        subsets = self.subsets.values()
        return sum(subset.spearman * subset.pairs for subset in subsets) / self.pairs


def score_sts(encode: Encode, data: StsData) -> TaskScore:
    """Encodes a task's pairs together and scores them together and by subset.

    Raises:
        InputError: Embeddings are not finite, zero or all alike.
    """
    task, subsets = data.task, data.subsets
    everything = join_pairs(task, subsets)
    cosine, gold = cosine_scores(encode, everything), everything.gold
    ends = np.cumsum([len(subset) for subset in subsets])
    scores = {}
    for subset, part in zip(subsets, np.split(cosine, ends[:-1]), strict=True):
        if np.ptp(part) == 0:
            raise InputError(
                f"{task}/{subset.name}: all {len(subset)} pairs have the same cosine; "
                "a rank correlation needs at least two: check the encoder."
            )
        scores[subset.name] = SubsetScore(spearman(part, subset.gold), len(subset))
    return TaskScore(
        task=task,
        spearman=spearman(cosine, gold),
        pearson=100 * float(stats.pearsonr(cosine, gold).statistic),
        subsets=scores,
        cosine=cosine,
        gold=gold,
        label=data.label,
    )


def clusters(tasks: Sequence[StsData]) -> dict[str, np.ndarray]:
    """Which pairs depend on one another, by task: a number (N,) for each pair, from 0.

    Pairs that share a sentence, within a task or between two, have one number, and so have those
    that others link. Pairs of different clusters have no sentence in common.
    """
    index_of: dict[str, int] = {}
    indices = {
        task.task: np.array(
            [
                [index_of.setdefault(sentence, len(index_of)) for sentence in pair]
                for pairs in task.subsets
                for pair in zip(pairs.first, pairs.second, strict=True)
            ]
        )
        for task in tasks
    }
    links = np.concatenate([np.empty((0, 2), dtype=np.int64), *indices.values()])
    graph = sparse.coo_array((np.ones(len(links)), tuple(links.T)), (len(index_of), len(index_of)))
    _, cluster = sparse.csgraph.connected_components(graph, directed=False)
    return {task: cluster[pairs[:, 0]] for task, pairs in indices.items()}
