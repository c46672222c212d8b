"""Scores of the transfer tasks: what is encoded, what is scored, which embeddings are refused."""

import numpy as np
import pytest
import torch

from pipeline.machine.errors import InputError
from pipeline.senteval.readers import Examples
from pipeline.senteval.softmax import Setting
from pipeline.senteval.tasks import TransferData, read_transfer
from pipeline.senteval.transfer import score_transfer, transfer_features
from tests.real import SAMPLE

QUICK = Setting(folds=3, optimizer="rmsprop", batch_size=16, epoch_size=1, patience=1)


def letters(sentences: list[str]) -> np.ndarray:
    """How often each letter occurs: an encoder that needs no model."""
    alphabet = "abcdefghijklmnopqrstuvwxyz"
    return np.array([[one.count(letter) for letter in alphabet] for one in sentences], np.float32)


def pairs(first: list[str], second: list[str], labels: list[int]) -> Examples:
    return Examples((tuple(first), tuple(second)), np.array(labels))


def mrpc(test: Examples) -> TransferData:
    """A paraphrase repeats its sentence, anything else is of other letters."""
    words = [f"{a}{b}" for a in "abcdef" for b in "abcdef"]
    other = [f"{a}{b}" for a in "uvwxyz" for b in "uvwxyz"]
    train = pairs([*words, *words], [*words, *other], [1] * len(words) + [0] * len(words))
    return TransferData("MRPC", "other", {"train": train, "test": test})


# What is encoded


def test_each_distinct_sentence_is_encoded_once_and_short_ones_first() -> None:
    calls: list[list[str]] = []

    def encode(sentences: list[str]) -> np.ndarray:
        calls.append(sentences)
        return letters(sentences)

    test = pairs(["aa", "a longer one", "bb"], ["bb", "aa", "aa"], [1, 0, 1])
    transfer_features(encode, TransferData("MRPC", "other", {"train": test, "test": test}))
    assert calls == [["aa", "bb", "a longer one"]]


def test_features_of_a_sentence_are_its_embedding() -> None:
    data = read_transfer(SAMPLE, "TREC")
    features = transfer_features(letters, data)
    for part, examples in data.parts.items():
        assert np.array_equal(features[part], letters(list(examples.sentences[0])))


def test_features_of_a_pair_are_the_distance_and_the_product_in_each_dimension() -> None:
    """u = (2, 0), v = (3, 1) in the letters a and b: |u - v| = (1, 1), u * v = (6, 0)."""
    one = pairs(["aa"], ["aaab"], [1])
    features = transfer_features(letters, TransferData("MRPC", "other", {"test": one}))["test"]
    assert features[:, [0, 1, 26, 27]].tolist() == [[1, 1, 6, 0]]


def test_embeddings_may_be_tensors_or_lists_and_half_precision_is_widened() -> None:
    data = read_transfer(SAMPLE, "TREC")
    expected = transfer_features(letters, data)
    for encode in (
        lambda sentences: torch.from_numpy(letters(sentences)),
        lambda sentences: letters(sentences).tolist(),
        lambda sentences: letters(sentences).astype(np.float16),
    ):
        features = transfer_features(encode, data)
        assert all(np.array_equal(features[part], expected[part]) for part in expected)
        assert features["test"].dtype in {np.dtype(np.float32), np.dtype(np.float64)}


# What is scored


def test_f1_of_mrpc_is_that_of_the_class_of_paraphrases() -> None:
    """4 paraphrases, 1 of them missed, and 1 pair wrongly taken for one: F1 = 6 / (6 + 2)."""
    first = ["ab", "cd", "ef", "ab", "cd", "ef", "ab"]
    second = ["ab", "cd", "ef", "xz", "xy", "yz", "ab"]
    score = score_transfer(letters, mrpc(pairs(first, second, [1, 1, 1, 1, 0, 0, 0])), QUICK)
    assert score.f1 == 75.0
    assert score.accuracy == pytest.approx(100 * 5 / 7, abs=0.005)


def test_f1_is_zero_where_no_pair_is_a_paraphrase_or_taken_for_one() -> None:
    score = score_transfer(letters, mrpc(pairs(["ab", "cd"], ["xz", "xy"], [0, 0])), QUICK)
    assert (score.accuracy, score.f1) == (100, 0)


# What has no score


def test_too_few_rows_for_the_folds_are_refused_with_the_task() -> None:
    few = Examples((tuple("abcdefgh"),), np.array([0, 1] * 4))
    data = TransferData("CR", "other", {"all": few})
    with pytest.raises(InputError, match="CR: class 0 has 2 training rows and 3 folds need 3 of"):
        score_transfer(letters, data, QUICK)


@pytest.mark.parametrize("noise", [0, 1e-8])
def test_embeddings_that_are_all_the_same_are_counted_and_refused(noise: float) -> None:
    with pytest.raises(InputError, match=r"MR: the embeddings of all \d+ sentences are the same"):
        transfer_features(lambda texts: 5 + noise * letters(texts), read_transfer(SAMPLE, "MR"))
