"""Numbers behind the page: percentiles, ranks, densities, correlations with their intervals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

Values = npt.NDArray[np.float64]

_LEVEL = 0.95
_RESAMPLES = 1000
# Resamples that are ranked at once: 100 x 2,000 numbers, 2 MB an array.
_BLOCK = 100
_FEWEST = 3  # pairs below which a correlation says nothing


@dataclass(frozen=True)
class Correlation:
    """A correlation, or a difference of two, and the interval of 95 % of the resamples."""

    value: float
    low: float
    high: float


def percentile(cosine: float, quantiles: Sequence[float]) -> float:
    """Percent of graded pairs below a cosine.

    Args:
        cosine: of one pair.
        quantiles: the cosines at equal steps from 0 to 100 % of the same encoder's graded pairs.
    """
    return float(np.interp(cosine, quantiles, np.linspace(0, 100, len(quantiles))))


def density(quantiles: Sequence[float], points: int = 200) -> tuple[list[float], list[float]]:
    """A smooth density of cosines whose quantiles at equal steps are given: places and heights.

    A Gaussian kernel of Silverman's width over numbers drawn evenly from the quantile function.
    """
    share = np.linspace(0, 1, len(quantiles))
    sample = np.interp(np.linspace(0, 1, 1001), share, quantiles)
    width = max(1.06 * float(sample.std()) * len(sample) ** -0.2, 1e-3)
    places = np.linspace(sample[0] - 4 * width, sample[-1] + 4 * width, points)
    heights = np.exp(-0.5 * ((places[:, None] - sample[None, :]) / width) ** 2).mean(axis=1)
    return places.tolist(), (heights / (width * np.sqrt(2 * np.pi))).tolist()


def ranks(values: Values) -> Values:
    """1 for the largest; ties share the mean of their ranks."""
    return np.asarray(rankdata(-values))


def correlations(scores: Values, gold: Values, seed: int = 0) -> tuple[Correlation, Correlation]:
    """Spearman's and Pearson's correlation of scores (N,) and gold (N,), with intervals.

    Pairs are drawn with replacement 1,000 times; draws in which one side does not vary are left
    out. All are nan for fewer than 3 pairs, or where a side does not vary at all.
    """
    spearman = _bootstrap(lambda draw: _spearman(scores[draw], gold[draw]), len(gold), seed)
    pearson = _bootstrap(lambda draw: _pearson(scores[draw], gold[draw]), len(gold), seed)
    return spearman, pearson


def difference(first: Values, second: Values, gold: Values, seed: int = 0) -> Correlation:
    """Spearman's correlation with gold of the first scores minus that of the second.

    Both are taken on the same draws, so that the interval is of the difference.
    """

    def apart(draw: npt.NDArray[np.int64]) -> Values:
        return _spearman(first[draw], gold[draw]) - _spearman(second[draw], gold[draw])

    return _bootstrap(apart, len(gold), seed)


def _bootstrap(
    measure: Callable[[npt.NDArray[np.int64]], Values], count: int, seed: int
) -> Correlation:
    if count < _FEWEST:
        return Correlation(np.nan, np.nan, np.nan)
    random = np.random.default_rng(seed)
    value = float(measure(np.arange(count)[None, :])[0])
    found = np.concatenate(
        [measure(random.integers(0, count, (_BLOCK, count))) for _ in range(0, _RESAMPLES, _BLOCK)]
    )
    found = found[np.isfinite(found)]
    if not np.isfinite(value) or not len(found):
        return Correlation(np.nan, np.nan, np.nan)
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(found, [tail, 1 - tail])
    return Correlation(value, float(low), float(high))


def _pearson(first: Values, second: Values) -> Values:
    """Of each row, (R, N) and (R, N) -> (R,); nan where one side does not vary."""
    a = first - first.mean(axis=1, keepdims=True)
    b = second - second.mean(axis=1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    # Rounding leaves a little where nothing varies.
    varies = (np.ptp(first, axis=1) > 0) & (np.ptp(second, axis=1) > 0)
    return np.where(varies, (a * b).sum(axis=1) / np.where(varies, scale, 1.0), np.nan)


def _spearman(first: Values, second: Values) -> Values:
    return _pearson(rankdata(first, axis=1), rankdata(second, axis=1))
