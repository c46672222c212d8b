"""Correlations are SciPy's, their intervals a plain bootstrap's; percentiles."""

import time
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr, spearmanr

from app.statistics import correlations, difference, percentiles
from tests.app.properties import PROPERTY

CLOSE = 1e-9
# Few values, so that there are ties; and all kinds.
tied = st.integers(-3, 3).map(float)
values = st.one_of(tied, st.floats(-1, 1, width=32))


def sides(count: int) -> st.SearchStrategy[list[Any]]:
    rows = st.lists(st.tuples(*[values] * count), min_size=3, max_size=40)
    return rows.map(lambda some: list(np.array(some).T))


def varies(*some: Any) -> bool:
    return all(np.ptp(one) > 1e-6 for one in some)


def percentile_of(cosine: float, quantiles: list[float]) -> float:
    return float(percentiles([cosine], quantiles)[0])


@PROPERTY
@given(some=sides(2))
def test_correlations_are_those_of_scipy(some: list[Any]) -> None:
    if not varies(*some):
        return
    spearman, pearson = correlations(some[0], some[1], resamples=10)
    assert spearman.value == pytest.approx(spearmanr(*some).statistic, abs=CLOSE)
    assert pearson.value == pytest.approx(pearsonr(*some).statistic, abs=1e-6)


@PROPERTY
@given(some=sides(2), seed=st.integers(0, 99))
def test_intervals_are_those_of_resamples_one_by_one(some: list[Any], seed: int) -> None:
    """The same draws, each ranked and correlated by SciPy."""
    if not varies(*some):
        return
    scores, gold = some
    draws = np.random.default_rng(seed).integers(0, len(gold), (60, len(gold)))
    varying = [draw for draw in draws if np.ptp(scores[draw]) > 0 and np.ptp(gold[draw]) > 0]
    if not varying:
        return
    expected = [spearmanr(scores[draw], gold[draw]).statistic for draw in varying]
    spearman, _ = correlations(scores, gold, resamples=60, seed=seed)
    low, high = np.quantile(expected, [0.025, 0.975])
    assert (spearman.low, spearman.high) == pytest.approx((low, high), abs=CLOSE)


@PROPERTY
@given(some=sides(3))
def test_a_difference_is_paired(some: list[Any]) -> None:
    a, b, gold = some
    if not varies(*some):
        return
    found = difference(a, b, gold, resamples=50)
    expected = spearmanr(a, gold).statistic - spearmanr(b, gold).statistic
    assert found.value == pytest.approx(expected, abs=CLOSE)
    turned = difference(b, a, gold, resamples=50)
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low), nan_ok=True)
    same = difference(a, 2 * a, gold, resamples=50)
    assert (same.value, same.low, same.high) == pytest.approx((0, 0, 0), nan_ok=True)


@PROPERTY
@given(some=sides(2))
def test_an_interval_is_of_correlations(some: list[Any]) -> None:
    for found in correlations(some[0], some[1], resamples=50):
        if not np.isnan(found.low):
            assert -1 <= found.low <= found.high <= 1


@pytest.mark.parametrize(
    ("scores", "gold"),
    [
        ([], []),
        ([1.0], [2.0]),
        ([1.0, 2.0], [1.0, 2.0]),
        ([1.0, 2.0, 3.0], [4.0, 4.0, 4.0]),
        ([0.1, 0.1, 0.1], [1.0, 2.0, 3.0]),
        ([np.nan, 1.0, 2.0], [1.0, 2.0, 3.0]),
    ],
)
def test_where_there_is_no_correlation_all_is_nan(scores: list[float], gold: list[float]) -> None:
    a, b = np.array(scores), np.array(gold)
    for found in (*correlations(a, b), difference(a, a, b)):
        assert np.isnan([found.value, found.low, found.high]).all()


def test_sides_of_different_lengths_are_refused() -> None:
    with pytest.raises(ValueError, match="lengths differ: 3, 4"):
        correlations(np.arange(3.0), np.arange(4.0))


def test_two_thousand_pairs_of_two_encoders_take_little_time_and_memory() -> None:
    """Bounds are generous: others work on the machine as well."""
    random = np.random.default_rng(4)
    gold = random.integers(0, 26, 2000) / 5
    scores = [gold + random.normal(size=2000) for _ in range(2)]
    tracemalloc.start()
    start = time.process_time()
    found = [correlations(one, gold) for one in scores]
    assert time.process_time() - start < 5
    assert tracemalloc.get_traced_memory()[1] < 200e6
    tracemalloc.stop()
    assert all(one.low < one.value < one.high < one.low + 0.1 for pair in found for one in pair)


quantiles = st.lists(st.floats(-1, 1, width=32), min_size=101, max_size=101).map(sorted)
# Equal neighbours, as of cosines that are mostly one value.
stepped = st.lists(tied, min_size=101, max_size=101).map(sorted)


@PROPERTY
@given(some=st.one_of(quantiles, stepped), one=values, other=values)
def test_percentiles_rise_with_the_cosine(some: list[float], one: float, other: float) -> None:
    low, high = sorted([one, other])
    assert 0 <= percentile_of(low, some) <= percentile_of(high, some) + CLOSE <= 100 + 2 * CLOSE


@PROPERTY
@given(some=st.one_of(quantiles, stepped), one=values)
def test_percentiles_are_the_same_from_above(some: list[float], one: float) -> None:
    turned = [-value for value in reversed(some)]
    assert percentile_of(one, some) == pytest.approx(100 - percentile_of(-one, turned), abs=1e-6)


EVEN = np.linspace(0, 1, 101).tolist()


@pytest.mark.parametrize(
    ("quantiles", "cosines", "percents"),
    [
        pytest.param(EVEN, [-1, 0, 0.25, 0.555, 1, 2], [0, 0, 25, 55.5, 100, 100], id="places"),
        pytest.param([0.5] * 101, [0.4, 0.5, 0.6], [0, 50, 100], id="half of equal ones is below"),
        pytest.param(None, [0.9, 0.1, 0.5], [100, 0, 50], id="by themselves"),
        pytest.param(None, [0.3], [50], id="alone"),
    ],
)
def test_percentiles_by_hand(
    quantiles: list[float] | None, cosines: list[float], percents: list[float]
) -> None:
    assert percentiles(cosines, quantiles).tolist() == pytest.approx(percents)
