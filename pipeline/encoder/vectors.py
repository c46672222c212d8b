"""Arrays around an encoder, without torch: padded token ids, unit vectors, cosines."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Ids = npt.NDArray[np.int64]
Embeddings = npt.NDArray[np.float32]
TokenRow = npt.NDArray[np.integer[Any]]

# As in torch.nn.functional.normalize.
MIN_NORM = 1e-12


def pad(rows: Sequence[Sequence[int] | TokenRow], padding_id: int) -> tuple[Ids, Ids]:
    """Token lists -> ids and mask, both (N, longest), padded on the right."""
    longest = max(map(len, rows))
    ids = np.full((len(rows), longest), padding_id, np.int64)
    mask = np.zeros((len(rows), longest), np.int64)
    for index, row in enumerate(rows):
        ids[index, : len(row)] = row
        mask[index, : len(row)] = 1
    return ids, mask


def normalize(embeddings: Embeddings) -> Embeddings:
    """Rows of length one; a row of zeros stays as it is."""
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return np.asarray(embeddings / np.maximum(norms, MIN_NORM), np.float32)


def cosines(first: Embeddings, second: Embeddings) -> Embeddings:
    """Row by row, (N,)."""
    return np.asarray((normalize(first) * normalize(second)).sum(axis=1), np.float32)
