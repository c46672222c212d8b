"""The cache of embeddings: what was used last stays."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from serve.batching.cache import EmbeddingCache
from serve.metrics import Metrics
from tests.serve.served import PROPERTY


@PROPERTY
@given(size=st.integers(0, 4), keys=st.lists(st.integers(0, 6), max_size=40))
def test_it_gives_what_was_put_and_keeps_the_last_used(size: int, keys: list[int]) -> None:
    cache = EmbeddingCache(size, Metrics())
    model: OrderedDict[int, None] = OrderedDict()
    for key in keys:
        found = cache.get(key)
        assert (found is not None) == (key in model)
        if found is None:
            cache.put(key, np.array([key], np.float32))
        else:
            assert found.tolist() == [key]
        model[key] = None
        model.move_to_end(key)
        while len(model) > size:
            model.popitem(last=False)


def test_it_does_not_hold_the_batch_that_an_embedding_came_in() -> None:
    cache = EmbeddingCache(1, Metrics())
    batch = np.zeros((1000, 4), np.float32)
    cache.put("a", batch[3])
    batch[3] = 1
    kept = cache.get("a")
    assert kept is not None
    assert (kept.tolist(), kept.base) == ([0, 0, 0, 0], None)


def test_lookups_are_counted_only_where_there_is_a_cache() -> None:
    def count(metrics: Metrics, result: str) -> float:
        return (
            metrics.registry.get_sample_value("triad_cache_lookups_total", {"result": result}) or 0
        )

    for size, expected in ((0, (0, 0)), (1, (1, 2))):
        metrics = Metrics()
        cache = EmbeddingCache(size, metrics)
        cache.get("a")
        cache.put("a", np.zeros(4, np.float32))
        cache.get("a")
        cache.get("b")
        assert (count(metrics, "hit"), count(metrics, "miss")) == expected
