"""The plain peer: sentence-transformers in a batchable BentoML service, as BentoML documents it.

    PEER_ENCODER=FOLDER bentoml serve benchmarks.serve_peers.bento_batchable:SentenceTransformers

All settings are BentoML's own: at most 100 texts a batch, vectors as JSON numbers.
"""

import os

import bentoml
import numpy as np


@bentoml.service(traffic={"timeout": 60})
class SentenceTransformers:
    """POST /encode of `{"sentences": [...]}`."""

    def __init__(self) -> None:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - in the worker only

        self._model = SentenceTransformer(os.environ["PEER_ENCODER"], device="cpu")

    @bentoml.api(batchable=True)  # type: ignore[untyped-decorator]
    def encode(self, sentences: list[str]) -> np.ndarray:
        """One vector a sentence."""
        vectors: np.ndarray = self._model.encode(sentences)
        return vectors
