"""serve.py's peer: sentence-transformers in a batchable BentoML service, as its documents show it.

    bentoml serve benchmarks.plain_bento:PlainBento

All settings are BentoML's own: at most 100 texts a batch, vectors as JSON numbers.
"""

import bentoml
import numpy as np

from benchmarks.servers import minilm


@bentoml.service(traffic={"timeout": 60})
class PlainBento:
    """POST /encode of `{"sentences": [...]}`."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - in the worker only

        self._model = SentenceTransformer(str(minilm()), device="cpu")

    @bentoml.api(batchable=True)  # type: ignore[untyped-decorator]
    def encode(self, sentences: list[str]) -> np.ndarray:
        """One vector a sentence."""
        vectors: np.ndarray = self._model.encode(sentences)
        return vectors
