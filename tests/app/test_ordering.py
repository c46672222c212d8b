"""The order of a similarity map: every sentence once, like ones side by side."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ordering import cluster_order
from tests.app.properties import PROPERTY


def cosines(count: int, seed: int, size: int = 4) -> Any:
    vectors = np.random.default_rng(seed).normal(size=(count, size))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors @ vectors.T


def jumps(matrix: Any, order: list[int]) -> float:
    return float(sum(1 - matrix[a, b] for a, b in pairwise(order)))


@PROPERTY
@given(count=st.integers(0, 40), seed=st.integers(0, 999))
def test_every_sentence_is_there_once(count: int, seed: int) -> None:
    matrix = cosines(count, seed)
    before = matrix.copy()
    order = cluster_order(matrix)
    assert sorted(order) == list(range(count))
    assert order == cluster_order(matrix)
    assert np.array_equal(matrix, before)


@PROPERTY
@given(count=st.integers(3, 30), seed=st.integers(0, 999))
def test_groups_stay_together(count: int, seed: int) -> None:
    groups: Any = np.kron(np.eye(3), np.ones((count, count)))
    shuffled = np.random.default_rng(seed).permutation(3 * count)
    matrix = groups[np.ix_(shuffled, shuffled)]
    assert jumps(matrix, cluster_order(matrix)) == 2


@pytest.mark.parametrize("count", [1, 2, 3, 10])
def test_equal_sentences_have_some_order(count: int) -> None:
    equal: Any = np.ones((count, count))
    assert sorted(cluster_order(equal)) == list(range(count))


def test_what_rounding_leaves_does_no_harm() -> None:
    matrix = cosines(6, 0)
    matrix[0, 1] += 1e-12
    matrix[2, 2] = 1 + 1e-12
    assert sorted(cluster_order(matrix)) == list(range(6))
