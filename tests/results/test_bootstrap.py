"""Paired bootstrap of a difference of Spearman correlations, against scipy resample by resample."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.results.bootstrap import (
    Interval,
    PairedScores,
    Ranking,
    interval,
    resample_counts,
    resampled_differences,
    spearman_of_counts,
)

close = partial(pytest.approx, rel=0, abs=1e-9)


def scores(pairs: int, seeds: int = 1, gain: float = 1.0) -> PairedScores:
    """Noisy cosines with many ties in gold and some in the cosines."""
    draw = np.random.default_rng(pairs)
    gold = np.round(4 * draw.uniform(0, 5, pairs)) / 4

    def noisy(weight: float) -> list[np.ndarray]:
        return [np.round(weight * gold + draw.normal(size=pairs), 1) for _ in range(seeds)]

    return PairedScores(gold, noisy(0.5), noisy(0.5 * gain))


class TestRanksUnderResampling:
    def test_repeated_pairs_share_their_average_rank(self) -> None:
        """Values 7, 3, 5 drawn 2, 1, 0 times are 3, 7, 7: ranks 1, 2.5, 2.5, mean 2."""
        centred = Ranking(np.array([7.0, 3, 5])).centred(np.array([[2, 1, 0]]))
        assert centred[0, :2].tolist() == [0.5, -1.0]

    @settings(deadline=None)
    @given(
        st.lists(
            st.tuples(st.integers(0, 3), st.integers(0, 6), st.integers(0, 4)), min_size=2
        ).filter(
            lambda rows: (
                len({gold for gold, _, count in rows if count}) > 1
                and len({cosine for _, cosine, count in rows if count}) > 1
            )
        )
    )
    def test_they_give_scipys_spearman_of_the_repeated_pairs(
        self, rows: list[tuple[int, int, int]]
    ) -> None:
        gold, cosine, counts = np.array(rows).T
        # The pairs drawn must be as many as there are; more pairs of count 0 make up for them.
        spare = int(counts.sum()) - len(counts)
        if spare < 0:
            counts[np.argmax(counts)] -= spare
            spare = 0
        padding = np.zeros(spare, dtype=int)
        drawn = np.concatenate([counts, padding])[None]
        found = spearman_of_counts(
            drawn,
            Ranking(np.concatenate([gold, padding])),
            [Ranking(np.concatenate([cosine, padding]))],
        )
        expected = stats.spearmanr(np.repeat(gold, counts), np.repeat(cosine, counts)).statistic
        assert found[0, 0] == close(100 * expected)


class TestDifferences:
    @pytest.mark.parametrize("seeds", [1, 3])
    def test_they_are_those_of_a_plain_loop_over_scipy(self, seeds: int) -> None:
        """The same draws, pairs repeated as often as drawn, the mean over seeds of differences."""
        given_scores = scores(pairs=80, seeds=seeds)
        found = resampled_differences("STS-B", given_scores, resamples=50, seed=3)
        everything = np.ones((1, 80), dtype=np.int64)
        drawn = np.concatenate([everything, *resample_counts("STS-B", 80, 50, 3)])

        def naive(counts: np.ndarray, cosines: np.ndarray) -> float:
            picked = np.repeat(np.arange(80), counts)
            return float(stats.spearmanr(cosines[picked], given_scores.gold[picked]).statistic)

        expected = [
            100
            * np.mean(
                [
                    naive(counts, after) - naive(counts, before)
                    for before, after in zip(
                        given_scores.original, given_scores.modified, strict=True
                    )
                ]
            )
            for counts in drawn
        ]
        assert found == close(expected)

    def test_each_resample_draws_as_many_pairs_as_there_are(self) -> None:
        counts = np.concatenate(list(resample_counts("STS-B", 1000, 700, 1)))
        assert counts.shape == (700, 1000)
        assert (counts.sum(axis=1) == 1000).all()
        assert counts.mean() == 1
        assert counts.var() == pytest.approx(1, abs=0.02)  # Poisson with mean 1, nearly

    @pytest.mark.parametrize(("task", "seed"), [("STS12", 1), ("STS-B", 2)])
    def test_another_task_or_seed_draws_other_pairs(self, task: str, seed: int) -> None:
        one = next(resample_counts("STS-B", 50, 1, 1))
        assert not np.array_equal(one, next(resample_counts(task, 50, 1, seed)))

    def test_pairs_too_few_to_resample_are_refused(self) -> None:
        """Of two pairs, half of the resamples draw one of them twice."""
        two = PairedScores(np.array([0.0, 1]), [np.array([0.0, 1])], [np.array([0.0, 1])])
        with pytest.raises(ValueError, match="a resample of 2 pairs has one distinct value only"):
            resampled_differences("STS-B", two, resamples=100, seed=1)


class TestInterval:
    def test_it_holds_the_middle_95_per_cent(self) -> None:
        """0 to 1000 in steps of one: 2.5 % below 25, 2.5 % above 975; the first is the estimate."""
        found = interval(np.array([400, *range(1001)], dtype=float))
        assert found == Interval(400, 25, 975)
