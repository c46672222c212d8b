"""Bootstrap of Spearman correlations, against scipy resample by resample."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pipeline.results.bootstrap import (
    Interval,
    Ranking,
    Scored,
    holm,
    interval,
    over_seeds,
    resample_counts,
    resampled_spearman,
    spearman_of_counts,
)

close = partial(pytest.approx, rel=0, abs=1e-9)


class TestRanksUnderResampling:
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
        found = spearman_of_counts(counts[None], Ranking(gold), [Ranking(cosine)])
        expected = stats.spearmanr(np.repeat(gold, counts), np.repeat(cosine, counts)).statistic
        assert found[0, 0] == close(100 * expected)


class TestResampledSpearman:
    def test_it_is_that_of_a_plain_loop_over_scipy(self) -> None:
        """The same draws of clusters for all encoders and tasks, many ties in gold, some in the
        cosines; both tasks have pairs in cluster 3."""
        generator = np.random.default_rng(80)
        tasks = {}
        for task, cluster in (("STS12", np.arange(80) // 3), ("STS-B", 3 + np.arange(60) // 2)):
            gold = np.round(4 * generator.uniform(0, 5, len(cluster))) / 4
            noise = [generator.normal(size=len(cluster)) for _ in range(3)]
            tasks[task] = Scored(
                gold,
                cluster,
                [np.round(k * gold + n, 1) for k, n in zip((0.5, 0.8, 1), noise, strict=True)],
            )
        everything = np.ones((1, 33), dtype=np.int64)
        drawn = np.concatenate([everything, *resample_counts(33, 50, 3, rows=7)])

        def naive(cosine: np.ndarray, gold: np.ndarray, counts: np.ndarray) -> float:
            picked = np.repeat(np.arange(len(gold)), counts)
            return 100 * float(stats.spearmanr(cosine[picked], gold[picked]).statistic)

        found = resampled_spearman(tasks, resamples=50, seed=3)
        for task, (gold, cluster, cosines) in tasks.items():
            expected = [[naive(one, gold, counts[cluster]) for counts in drawn] for one in cosines]
            assert found[task] == close(np.array(expected))

    def test_each_resample_draws_as_many_clusters_as_there_are(self) -> None:
        counts = np.concatenate(list(resample_counts(1000, 700, 1, rows=99)))
        assert counts.shape == (700, 1000)
        assert (counts.sum(axis=1) == 1000).all()
        assert counts.mean() == 1
        assert counts.var() == pytest.approx(1, abs=0.02)  # Poisson with mean 1, nearly

    def test_another_seed_draws_other_clusters(self) -> None:
        one, other = (next(resample_counts(50, 1, seed, rows=1)) for seed in (1, 2))
        assert not np.array_equal(one, other)

    def test_pairs_that_hang_together_say_less(self) -> None:
        """400 pairs in 40 clusters, alike within one: the interval of 40 pairs, not of 400."""
        generator = np.random.default_rng(5)
        gold = np.repeat(generator.normal(size=40), 10)
        cosine = gold + np.repeat(generator.normal(size=40), 10)

        def width(cluster: np.ndarray) -> float:
            tasks = {"STS-B": Scored(gold, cluster, [cosine])}
            found = interval(resampled_spearman(tasks, resamples=500, seed=1)["STS-B"][0])
            assert found.low is not None
            assert found.high is not None
            return found.high - found.low

        apart, together = width(np.arange(400)), width(np.arange(400) // 10)
        assert together / apart == pytest.approx(10**0.5, rel=0.2)

    @pytest.mark.parametrize(("clusters", "resamples"), [(19, 0), (20, 50)])
    def test_a_task_of_few_clusters_is_not_resampled(self, clusters: int, resamples: int) -> None:
        """All pairs of ten sentences hang together: each resample would be the data again."""
        values = np.arange(190.0)
        tasks = {
            "STS12": Scored(values, np.arange(190), [values]),
            "STS-B": Scored(values, np.arange(190) % clusters, [values]),
        }
        for correlations in resampled_spearman(tasks, resamples=50, seed=1).values():
            assert correlations.shape == (1, 1 + resamples)

    def test_pairs_too_alike_to_resample_are_refused(self) -> None:
        """Of 40 pairs, one has another grade: a third of the resamples leave it out."""
        gold = np.append(np.zeros(39), 1)
        tasks = {"STS-B": Scored(gold, np.arange(40), [np.arange(40.0)])}
        with pytest.raises(ValueError, match="a resample of 40 pairs has one distinct value only"):
            resampled_spearman(tasks, resamples=100, seed=1)


class TestSeeds:
    def test_of_three_each_resample_draws_three_with_replacement(self) -> None:
        """Seeds at 0, 1, 2: a resample's mean is one of 7 values, with mean 1 and variance 2/9."""
        values = np.repeat([[0.0], [1.0], [2.0]], 20_001, axis=1)
        found = over_seeds(values, seed=1)
        assert found[0] == 1
        assert set(np.round(3 * found[1:]).astype(int).tolist()) == set(range(7))
        assert found[1:].mean() == pytest.approx(1, abs=0.02)
        assert found[1:].var() == pytest.approx(2 / 9, abs=0.01)

    def test_of_two_both_are_taken_each_time(self) -> None:
        values = np.array([[0.0, 3, 5], [2.0, 3, 7]])
        assert over_seeds(values, seed=1).tolist() == [1, 3, 6]


class TestInterval:
    def test_it_holds_the_middle_95_per_cent(self) -> None:
        """0 to 1000 in steps of one: 2.5 % below 25, 2.5 % above 975; the first is the estimate."""
        found = interval(np.array([400, *range(1001)], dtype=float))
        assert found == Interval(400, 25, 975, includes_zero=False, p=4 / 1002)

    @pytest.mark.parametrize(("least", "includes"), [(-500, True), (-990, False), (0, False)])
    def test_zero_is_in_it_or_out_of_it(self, least: int, includes: bool) -> None:
        found = interval(np.array([0, *range(least, least + 1001)], dtype=float))
        assert found.includes_zero is includes

    def test_without_resamples_there_is_the_difference_alone(self) -> None:
        assert interval(np.array([3.0])) == Interval(3, None, None, None, None)

    def test_p_is_twice_the_share_beyond_zero(self) -> None:
        """Of 999 resamples 9 are at most zero: 2 x (1 + 9) / (1 + 999)."""
        differences = np.concatenate([[5.0], np.full(9, -1.0), np.full(990, 4.0)])
        assert interval(differences).p == close(0.02)
        assert interval(np.zeros(10)).p == 1


def test_holm_multiplies_the_smallest_p_by_the_number_of_comparisons() -> None:
    """0.01 x 3; 0.02 x 2 = 0.04; 0.03 x 1, but no less than the one before it."""
    assert holm([0.02, 0.01, 0.03]) == close([0.04, 0.03, 0.04])
    assert holm([0.6, 0.9]) == [1, 1]
    assert holm([]) == []
