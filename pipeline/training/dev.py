"""The dev score that picks the best step, and the watch for a collapse."""

import hashlib
import json
from dataclasses import dataclass

import numpy as np

from pipeline.encoder import SentenceEncoder
from pipeline.senteval.similarity import EmbeddingError, cosine_scores, spearman
from pipeline.senteval.sts_files import Pairs

# Root mean squared distance of unit embeddings from their mean; pretrained BERT has 0.3 to 0.9.
COLLAPSED_SPREAD = 1e-3


class CollapseError(RuntimeError):
    """The embeddings carry no information any more."""


@dataclass(frozen=True)
class DevSet:
    """STS-B's dev pairs.

    Attributes:
        pairs: sentence pairs with gold scores.
        batch_size: sentences a forward pass.
    """

    pairs: Pairs
    batch_size: int

    @property
    def version(self) -> str:
        """A hash of the pairs: another dev set may pick another step."""
        content = (self.pairs.first, self.pairs.second, self.pairs.gold.tolist())
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def score(self, encoder: SentenceEncoder) -> float:
        """Spearman x 100 of cosine and gold.

        Raises:
            CollapseError: embeddings are all equal or not finite.
        """

        def encode(sentences: list[str]) -> np.ndarray:
            embeddings = encoder.encode(sentences, self.batch_size)
            refuse_collapsed(embeddings)
            return embeddings

        encoder.model.train(mode=False)
        try:
            return spearman(cosine_scores(encode, self.pairs), self.pairs.gold)
        except EmbeddingError as error:
            raise CollapseError(str(error)) from error
        finally:
            encoder.model.train()


def refuse_collapsed(embeddings: np.ndarray) -> None:
    """Raise CollapseError for embeddings (N, D) that are not finite or all point one way."""
    infinite = int((~np.isfinite(embeddings).all(axis=1)).sum())
    if infinite:
        raise CollapseError(f"{infinite} of {len(embeddings)} dev embeddings are NaN or infinite")
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    unit = embeddings / np.maximum(norms, np.finfo(np.float32).tiny)
    spread = float(np.sqrt(np.square(unit - unit.mean(axis=0)).sum(axis=1).mean()))
    if spread < COLLAPSED_SPREAD:
        raise CollapseError(
            f"all {len(embeddings)} dev embeddings are equal (spread {spread:.1e}, "
            f"collapsed below {COLLAPSED_SPREAD})"
        )
