"""An encoder's held-out sentences as batches of two views, embedded as training embeds them.

Dropout is on and the head is off: it is gone after training.
"""

from collections.abc import Iterator
from itertools import islice

import torch
from torch import nn

from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.machine.errors import InputError
from pipeline.objectives.views import Views, check_finite, l2_normalize
from pipeline.training.batches import batch_indices, two_views
from pipeline.training.network import TrainingNetwork


def complete_batches(sentences: int, batch_size: int, most: int) -> int:
    """How many batches of different sentences there are, at most those wanted.

    Raises:
        InputError: not even one.
    """
    if sentences < batch_size:
        raise InputError(
            f"held out: {sentences:,} sentences are fewer than one batch of {batch_size}; prepare "
            "with a larger corpus.held_out (or --held-out), or give a smaller --batch-size."
        )
    return min(most, sentences // batch_size)


def dropout_views(
    encoder: SentenceEncoder, tokens: TokenArrays, pad_id: int, *, batch_size: int, seed: int
) -> Iterator[Views]:
    """Batches of normalized embeddings in float64 on the CPU, of one seeded permutation.

    Args:
        encoder: embeds in float32; it stays in training mode.
        tokens: the sentences.
        pad_id: fills batches up.
        batch_size: sentences in one.
        seed: of permutation and dropout masks.
    """
    device = encoder.model.device
    network = TrainingNetwork(encoder, nn.Identity()).train()
    torch.manual_seed(seed)
    all_batches = len(tokens) // batch_size
    for indices in islice(batch_indices(len(tokens), batch_size, seed), all_batches):
        ids, mask = two_views(tokens, indices, pad_id)
        with torch.no_grad():
            embeddings = network(ids.to(device), mask.to(device))
        anchor, positive = embeddings.double().cpu().chunk(2)
        check_finite("held out", anchor, positive)
        yield Views(l2_normalize(anchor), l2_normalize(positive))
