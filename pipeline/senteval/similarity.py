"""From sentence pairs to cosines and from cosines to a correlation with the gold scores.

What has no meaning (a zero vector's cosine, a constant's correlation) is an error, never 0 or NaN.
No files and no tasks here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pipeline.senteval.sts_files import Pairs

# Cosines of float32 vectors that are equal up to rounding differ by about 1e-7.
COLLAPSED_RANGE = 1e-6

Encode = Callable[[list[str]], "ArrayLike"]


def cosine_scores(encode: Encode, pairs: Pairs) -> np.ndarray:
    """Cosine of each pair, each distinct sentence encoded once.

    Args:
        encode: Gives a (number of sentences, D) array for a list of sentences.
        pairs: N sentence pairs.

    Returns:
        (N,) float64.

    Raises:
        InputError: The shape is wrong, or vectors are not finite, zero or all alike.
    """
    sentences = list(dict.fromkeys((*pairs.first, *pairs.second)))
    embeddings = np.asarray(encode(sentences), dtype=np.float64)
    unit = _unit_vectors(embeddings, len(sentences), pairs.name)
    position = {sentence: k for k, sentence in enumerate(sentences)}
    first = unit[[position[sentence] for sentence in pairs.first]]
    second = unit[[position[sentence] for sentence in pairs.second]]
    cosine: np.ndarray = np.einsum("nd,nd->n", first, second)
    if np.ptp(cosine) < COLLAPSED_RANGE:
        raise InputError(
            f"{pairs.name}: all {len(pairs)} pairs have the cosine {cosine[0]:.6f}; the embeddings "
            f"of its {len(sentences)} sentences have collapsed: train the encoder again."
        )
    return cosine


def spearman(scores: np.ndarray, gold: np.ndarray) -> float:
    """Spearman's rank correlation x 100, ties at their average rank."""
    _check_correlated(scores, gold)
    return 100 * float(stats.spearmanr(scores, gold).statistic)


def pearson(scores: np.ndarray, gold: np.ndarray) -> float:
    """Pearson's correlation x 100."""
    _check_correlated(scores, gold)
    return 100 * float(stats.pearsonr(scores, gold).statistic)


def _unit_vectors(embeddings: np.ndarray, count: int, name: str) -> np.ndarray:
    if embeddings.ndim != 2 or embeddings.shape[0] != count:
        raise InputError(
            f"{name}: the encoder gave an array of shape {embeddings.shape} for {count} sentences; "
            f"it must be ({count}, D)."
        )
    infinite = int((~np.isfinite(embeddings).all(axis=1)).sum())
    if infinite:
        raise InputError(
            f"{name}: {infinite} of {count} embeddings are not finite; "
            "the encoder has diverged: train it again with a lower learning rate."
        )
    norm = np.linalg.norm(embeddings, axis=1, keepdims=True)  # (count, 1)
    zeros = int((norm == 0).sum())
    if zeros:
        raise InputError(
            f"{name}: {zeros} of {count} embeddings are zero and have no direction; "
            "a cosine needs vectors that are not zero: check the encoder's pooling."
        )
    unit: np.ndarray = embeddings / norm
    return unit


def _check_correlated(scores: np.ndarray, gold: np.ndarray) -> None:
    if scores.ndim != 1 or scores.shape != gold.shape:
        raise ValueError(
            f"correlation: scores of shape {scores.shape} and gold of shape {gold.shape}; "
            "both must be (N,)."
        )
    for what, values in (("scores", scores), ("gold", gold)):
        if not np.isfinite(values).all():
            raise ValueError(f"correlation: {what} must be finite; drop what is not.")
        if values.size < 2 or np.ptp(values) == 0:
            raise ValueError(
                f"correlation: all {values.size} {what} are equal; "
                "a correlation needs at least two different values."
            )
