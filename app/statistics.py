"""Numbers behind the page: percentiles, correlations with bootstrap intervals.

Not here: what is drawn or written of them (svg.py, tabs/).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]

_LEVEL = 0.95
_FEWEST = 3  # pairs below which a correlation says nothing
# Resamples are taken in blocks of so many numbers: 2 MB an array, and some ten arrays.
_BLOCK = 250_000


@dataclass(frozen=True)
class Correlation:
    """A correlation, or a difference of two, and the interval of 95 % of the resamples.

    All three are nan where there is none: too few pairs, or a side that does not vary.
    """

    value: float
    low: float
    high: float


_NONE = Correlation(np.nan, np.nan, np.nan)


def percentiles(cosines: Values | Sequence[float], quantiles: Sequence[float] | None) -> Values:
    """Percent of graded pairs below each cosine; of those that are equal to it, half.

    Args:
        cosines: of any shape, by one encoder.
        quantiles: the cosines at equal steps from 0 to 100 % of the same encoder's graded pairs;
            None: these cosines are the measure.
    """
    row = np.asarray(cosines, float)
    values = np.sort(row.ravel()) if quantiles is None else np.asarray(quantiles, float)
    percents = np.linspace(0, 100, len(values)) if len(values) > 1 else np.array([50.0])
    # Where quantiles are equal, np.interp gives the last of their percents; mirrored, the first.
    last = np.interp(row, values, percents)
    first = np.interp(-row, -values[::-1], percents[::-1])
    return np.asarray((first + last) / 2)


def correlations(
    scores: Values, gold: Values, resamples: int = 1000, seed: int = 0
) -> tuple[Correlation, Correlation]:
    """Spearman's and Pearson's correlation of scores (N,) and gold (N,), with intervals.

    Pairs are drawn with replacement; draws in which one side does not vary are left out.
    """
    if not _vary(scores, gold):
        return _NONE, _NONE
    first_side, second_side = _Side(scores), _Side(gold)
    values, resampled = _bootstrap(
        lambda counts: np.stack(
            [
                _correlated(counts, first_side.ranks(counts), second_side.ranks(counts)),
                _correlated(counts, first_side.values, second_side.values),
            ]
        ),
        len(gold),
        resamples,
        seed,
    )
    return _interval(values[0], resampled[0]), _interval(values[1], resampled[1])


def difference(
    scores_a: Values, scores_b: Values, gold: Values, resamples: int = 1000, seed: int = 0
) -> Correlation:
    """Spearman's correlation with gold of scores_a minus that of scores_b, all (N,).

    Both are taken on the same draws, so that the interval is that of the difference.
    """
    if not _vary(scores_a, scores_b, gold):
        return _NONE
    a, b, other = _Side(scores_a), _Side(scores_b), _Side(gold)

    def apart(counts: Counts) -> Values:
        ranked = other.ranks(counts)
        first = _correlated(counts, a.ranks(counts), ranked)
        return first - _correlated(counts, b.ranks(counts), ranked)

    return _interval(*_bootstrap(apart, len(gold), resamples, seed))


def _vary(*sides: Values) -> bool:
    if len({len(side) for side in sides}) > 1:
        raise ValueError(f"lengths differ: {', '.join(str(len(side)) for side in sides)}.")
    return all(
        len(side) >= _FEWEST and bool(np.isfinite(side).all()) and bool(np.ptp(side) > 0)
        for side in sides
    )


class _Side:
    """One side of the pairs, sorted once, so that no draw needs to be."""

    def __init__(self, values: Values) -> None:
        self.values = np.asarray(values, float)
        distinct, self._group = np.unique(self.values, return_inverse=True)
        self._order = np.argsort(self._group, kind="stable")
        self._starts = np.searchsorted(self._group[self._order], np.arange(len(distinct)))

    def ranks(self, counts: Counts) -> Values:
        """Each pair's mean rank in each draw, (R, N), of how often it was drawn, (R, N)."""
        totals = np.add.reduceat(counts[:, self._order], self._starts, axis=1)
        # Equal values share the middle of the ranks that they take up together.
        middle: Values = np.cumsum(totals, axis=1) - (totals - 1) / 2
        return middle[:, self._group]


def _correlated(counts: Counts, first: Values, second: Values) -> Values:
    """Pearson's correlation in each draw, (R,); nan where one side does not vary.

    Args:
        counts: (R, N), how often each pair was drawn.
        first: (R, N) or (N,).
        second: likewise.
    """
    sides, included = [], counts > 0
    for side in (first, second):
        mean = (counts * side).sum(axis=1, keepdims=True) / counts.shape[1]
        high = np.where(included, side, -np.inf).max(axis=1, keepdims=True)
        low = np.where(included, side, np.inf).min(axis=1, keepdims=True)
        # Scaled, so that tiny values do not vanish when squared. What does not vary is nan.
        width = np.where(high > low, high - low, np.nan)
        sides.append((side - mean) / width)
    a, b = sides
    scale = np.sqrt((counts * a * a).sum(axis=1) * (counts * b * b).sum(axis=1))
    return np.asarray(np.clip((counts * a * b).sum(axis=1) / scale, -1, 1))


def _bootstrap(
    measure: Callable[[Counts], Values], count: int, resamples: int, seed: int
) -> tuple[Values, Values]:
    """A measure (..., R) of counts (R, N): of the pairs themselves, and of all resamples."""
    random = np.random.default_rng(seed)
    value = measure(np.ones((1, count), np.int64))[..., 0]
    rows = max(1, _BLOCK // count)
    batches = [np.empty((*value.shape, 0))]
    for start in range(0, resamples, rows):
        size = min(rows, resamples - start)
        draws = random.integers(0, count, (size, count)) + count * np.arange(size)[:, None]
        counts = np.bincount(draws.ravel(), minlength=size * count).reshape(size, count)
        batches.append(measure(counts))
    return value, np.concatenate(batches, axis=-1)


def _interval(value: Values, resampled: Values) -> Correlation:
    finite = resampled[np.isfinite(resampled)]
    if not len(finite):
        return Correlation(float(value), np.nan, np.nan)
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(finite, [tail, 1 - tail])
    return Correlation(float(value), float(low), float(high))
