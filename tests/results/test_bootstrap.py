"""Bootstrap of Spearman correlations, against scipy resample by resample."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.results.bootstrap import (
    Interval,
    Ranking,
    interval,
    resample_counts,
    resampled_spearman,
    spearman_of_counts,
)

close = partial(pytest.approx, rel=0, abs=1e-9)


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


class TestResampledSpearman:
    def test_it_is_that_of_a_plain_loop_over_scipy(self) -> None:
        """The same draws for all encoders; many ties in gold and some in the cosines."""
        generator = np.random.default_rng(80)
        gold = np.round(4 * generator.uniform(0, 5, 80)) / 4
        cosines = [np.round(k * gold + generator.normal(size=80), 1) for k in (0.5, 0.8, 1)]
        everything = np.ones((1, 80), dtype=np.int64)
        drawn = np.concatenate([everything, *resample_counts("STS-B", 80, 50, 3)])

        def naive(cosine: np.ndarray, counts: np.ndarray) -> float:
            picked = np.repeat(np.arange(80), counts)
            return 100 * float(stats.spearmanr(cosine[picked], gold[picked]).statistic)

        expected = np.array([[naive(cosine, counts) for counts in drawn] for cosine in cosines])
        assert resampled_spearman("STS-B", gold, cosines, resamples=50, seed=3) == close(expected)

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
        two = np.array([0.0, 1])
        with pytest.raises(ValueError, match="a resample of 2 pairs has one distinct value only"):
            resampled_spearman("STS-B", two, [two], resamples=100, seed=1)


class TestInterval:
    def test_it_holds_the_middle_95_per_cent(self) -> None:
        """0 to 1000 in steps of one: 2.5 % below 25, 2.5 % above 975; the first is the estimate."""
        found = interval(np.array([400, *range(1001)], dtype=float))
        assert found == Interval(400, 25, 975, includes_zero=False)

    @pytest.mark.parametrize(("least", "includes"), [(-500, True), (-990, False), (0, False)])
    def test_zero_is_in_it_or_out_of_it(self, least: int, includes: bool) -> None:
        found = interval(np.array([0, *range(least, least + 1001)], dtype=float))
        assert found.includes_zero is includes
