"""The order of a similarity map: every sentence once, like ones side by side."""

from itertools import pairwise
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.ordering import cluster_order
from tests.app.properties import PROPERTY


@PROPERTY
@given(
    count=st.integers(0, 40),
    dimensions=st.sampled_from([1, 4]),
    rounding=st.sampled_from([0, 1e-12]),
    seed=st.integers(0, 999),
)
def test_every_sentence_is_there_once(
    count: int, dimensions: int, rounding: float, seed: int
) -> None:
    """In one dimension, sentences are equal or opposite."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, dimensions))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    matrix = vectors @ vectors.T + rounding * random.uniform(-1, 1, (count, count))
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
    jumps = [1 - matrix[a, b] for a, b in pairwise(cluster_order(matrix))]
    assert sum(jumps) == 2
