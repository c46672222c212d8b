"""Token arrays to batches: which sentences make a step, and their padded tensors.

Not here: augmentation. The two views of a sentence are two rows of one forward pass, told apart
by dropout alone.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from pipeline.tokens import TokenArrays


def batch_indices(count: int, batch_size: int, seed: int, start: int = 0) -> Iterator[np.ndarray]:
    """Endless (batch_size,) index arrays: each epoch a fresh permutation, incomplete ends left out.

    Args:
        count: sentences.
        batch_size: sentences a step.
        seed: of the permutations, one stream an epoch, so that any step can be reached directly.
        start: the step to begin with.
    """
    per_epoch = count // batch_size
    epoch, within = divmod(start, per_epoch)
    while True:
        order = np.random.default_rng((seed, epoch)).permutation(count)
        for step in range(within, per_epoch):
            yield order[step * batch_size : (step + 1) * batch_size]
        epoch, within = epoch + 1, 0


def two_views(tokens: TokenArrays, indices: np.ndarray, pad_id: int) -> tuple[Tensor, Tensor]:
    """Token ids and attention mask, each (2N, L): the N sentences, then the same once more."""
    rows = [tokens[int(index)] for index in indices]
    longest = max(len(row) for row in rows)
    ids = np.full((len(rows), longest), pad_id, dtype=np.int64)
    mask = np.zeros((len(rows), longest), dtype=np.int64)
    for place, row in enumerate(rows):
        ids[place, : len(row)] = row
        mask[place, : len(row)] = 1
    return torch.from_numpy(np.tile(ids, (2, 1))), torch.from_numpy(np.tile(mask, (2, 1)))
