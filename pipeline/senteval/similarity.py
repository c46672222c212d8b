"""From sentences to embeddings, from pairs to cosines, from cosines to a rank correlation.

What has no meaning (a zero vector's cosine, a constant's correlation) is an error, never 0 or NaN.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from pipeline.machine.errors import InputError
from pipeline.senteval.readers import Pairs

# Cosines of float32 vectors that are equal up to rounding differ by about 1e-7.
COLLAPSED_RANGE = 1e-6

Encode = Callable[[list[str]], ArrayLike]  # N sentences -> embeddings (N, D)


def embed(encode: Encode, sentences: list[str], name: str) -> np.ndarray:
    """Embeddings (N, D) of N sentences, in float32 at least; `name` is for errors.

    Raises:
        InputError: The shape is wrong, or a number is not finite.
    """
    embeddings = np.asarray(encode(sentences))
    count = len(sentences)
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
    return embeddings.astype(np.promote_types(embeddings.dtype, np.float32), copy=False)


def cosine_scores(encode: Encode, pairs: Pairs) -> np.ndarray:
    """Cosine of each of N pairs, (N,) float64; each distinct sentence is encoded once.

    Raises:
        InputError: The shape is wrong, or vectors are not finite, zero or all alike.
    """
    sentences = list(dict.fromkeys((*pairs.first, *pairs.second)))
    embeddings = embed(encode, sentences, pairs.name).astype(np.float64)
    norm = np.linalg.norm(embeddings, axis=1, keepdims=True)  # (sentences, 1)
    if zeros := int((norm == 0).sum()):
        raise InputError(
            f"{pairs.name}: {zeros} of {len(sentences)} embeddings are zero and have no direction; "
            "a cosine needs vectors that are not zero: check the encoder's pooling."
        )
    unit = embeddings / norm
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
    """Spearman's rank correlation x 100 of (N,) scores, ties at their average rank."""
    return 100 * float(stats.spearmanr(scores, gold).statistic)
