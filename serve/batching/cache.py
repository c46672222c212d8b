"""A bounded cache of recent embeddings, off by default.

Keys are an encoder and token ids, so a reloaded encoder never answers with its predecessor's
embeddings. Not thread-safe: the batcher's lock guards it.
"""

from collections import OrderedDict
from collections.abc import Hashable

from serve.encoders.exported import Embeddings
from serve.metrics import Metrics


class EmbeddingCache:
    """The `size` embeddings (D,) that were used last; 0: none."""

    def __init__(self, size: int, metrics: Metrics) -> None:
        self._size = size
        self._metrics = metrics
        self._kept: OrderedDict[Hashable, Embeddings] = OrderedDict()

    def get(self, key: Hashable) -> Embeddings | None:
        """The embedding, if it is kept."""
        if not self._size:
            return None
        found = self._kept.get(key)
        if found is None:
            self._metrics.cache.labels("miss").inc()
        else:
            self._kept.move_to_end(key)
            self._metrics.cache.labels("hit").inc()
        return found

    def put(self, key: Hashable, embedding: Embeddings) -> None:
        """Keep a copy, which does not hold the batch that it came in."""
        if not self._size:
            return
        self._kept[key] = embedding.copy()
        self._kept.move_to_end(key)
        if len(self._kept) > self._size:
            self._kept.popitem(last=False)
