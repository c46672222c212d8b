"""The dev score that picks the best step, and the watch for a collapse."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import CollapseError, InputError
from pipeline.senteval.readers import Pairs
from pipeline.senteval.similarity import cosine_scores, spearman

# Root mean squared distance of unit embeddings from their mean; pretrained BERT has 0.3 to 0.9.
COLLAPSED_SPREAD = 1e-3


@dataclass(frozen=True)
class DevSet:
    """The pairs that are scored during training."""

    pairs: Pairs
    batch_size: int  # see `SentenceEncoder.batches`

    @property
    def version(self) -> str:
        """A hash of the pairs: another dev set may pick another step."""
        content = (self.pairs.first, self.pairs.second, self.pairs.gold.tolist())
        return hashlib.sha256(json.dumps(content).encode()).hexdigest()

    def scorer(
        self, encoder: SentenceEncoder, autocast: torch.dtype | None = None
    ) -> Callable[[], float]:
        """What gives the encoder's score, Spearman x 100 of cosine and gold, whenever it is called.

        The pairs are tokenized, padded and laid on the device here; weights may change between
        calls. Without `autocast` the forward passes are in the weights' own precision. A call
        leaves the encoder in training mode, and raises CollapseError where embeddings are all
        equal or not finite.
        """
        sentences = list(dict.fromkeys((*self.pairs.first, *self.pairs.second)))
        batches = list(encoder.batches(encoder.tokenize(sentences), self.batch_size))
        encoder = replace(encoder, autocast=autocast)

        def encode(texts: list[str]) -> np.ndarray:  # the sentences, in their order
            embeddings = encoder.encode_batches(batches, len(texts))
            refuse_collapsed(embeddings)
            return embeddings

        def score() -> float:
            encoder.model.train(mode=False)
            try:
                return spearman(cosine_scores(encode, self.pairs), self.pairs.gold)
            except InputError as error:
                raise CollapseError(str(error)) from error
            finally:
                encoder.model.train()

        return score


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
