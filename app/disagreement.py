"""Which pairs two encoders see most differently."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def most_disputed(
    pairs: Sequence[tuple[str, str]],
    first: ArrayLike,
    second: ArrayLike,
    count: int,
) -> list[int]:
    """Indices of pairs whose percentiles differ most, in one direction and the other by turns.

    Args:
        pairs: N pairs of sentences.
        first: (N,) percentiles of the first encoder.
        second: (N,) percentiles of the second.
        count: how many at most; no two of them share a sentence.
    """
    gap = np.asarray(first, float) - np.asarray(second, float)
    higher = [int(index) for index in np.argsort(-gap, kind="stable") if gap[index] > 0]
    lower = [int(index) for index in np.argsort(gap, kind="stable") if gap[index] < 0]
    rows: list[int] = []
    sentences: set[str] = set()
    while len(rows) < count and (higher or lower):
        for waiting in (higher, lower):
            while waiting and len(rows) < count:
                index = waiting.pop(0)
                if sentences.isdisjoint(pairs[index]):
                    sentences.update(pairs[index])
                    rows.append(index)
                    break
    return rows
