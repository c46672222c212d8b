"""Token arrays to batches: which sentences make a step, and their padded tensors.

Not here: augmentation. The two views of a sentence are two rows of one forward pass, told apart
by dropout alone.
"""

from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from pipeline.data.tokens import TokenArrays
from pipeline.encoder.vectors import pad

# Indices (N,) of sentences -> ids and mask, each (2N, L).
Collate = Callable[[np.ndarray], tuple[Tensor, Tensor]]
# The shortest padded length where each length is a program of its own; the next ones double.
_SHORTEST = 8


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
    ids, mask = pad([tokens[int(index)] for index in indices], pad_id)
    return torch.from_numpy(np.tile(ids, (2, 1))), torch.from_numpy(np.tile(mask, (2, 1)))


def collator(tokens: TokenArrays, pad_id: int, max_length: int, device: torch.device) -> Collate:
    """What cuts batches on the device: from memory-mapped files for a CPU, else from its memory."""
    if device.type == "cpu":
        return lambda indices: two_views(tokens, indices, pad_id)
    return ResidentTokens(tokens, pad_id, max_length, device).two_views


def rounded_up(length: int, longest: int) -> int:
    """The padded length of a batch, one of 8, 16, 32, ... and the longest."""
    width = _SHORTEST
    while width < length:
        width *= 2
    return min(width, longest)


class ResidentTokens:
    """Token arrays in a device's memory, from which batches are cut without a word to the host.

    A million sentences are about 100 MB.
    """

    def __init__(
        self, tokens: TokenArrays, pad_id: int, max_length: int, device: torch.device
    ) -> None:
        self._lengths = tokens.lengths  # the host's copy: shapes are decided without waiting
        self._max_length, self._pad_id = max_length, pad_id
        self._ids = torch.from_numpy(tokens.ids.astype(np.int32)).to(device)
        self._starts = torch.from_numpy(tokens.offsets[:-1].copy()).to(device)
        self._counts = torch.from_numpy(self._lengths).to(device)

    def two_views(self, indices: np.ndarray) -> tuple[Tensor, Tensor]:
        """As the function of that name, padded to one of few widths."""
        width = rounded_up(int(self._lengths[indices].max()), self._max_length)
        rows = torch.from_numpy(indices).to(self._ids.device, non_blocking=True)
        place = torch.arange(width, device=self._ids.device)
        inside = place < self._counts[rows][:, None]
        # Past a sentence's end any token will do; the last sentence has none behind it.
        places = (self._starts[rows][:, None] + place).clamp_max(len(self._ids) - 1)
        ids = torch.where(inside, self._ids[places].long(), self._pad_id)
        return ids.repeat(2, 1), inside.long().repeat(2, 1)
