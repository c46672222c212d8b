"""Encoders in torch: the backend that needs no export, in float32 and one thread a call.

Apart from backends.py, since importing it brings torch.
"""

from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import plain_pooling
from pipeline.encoder.vectors import Embeddings, Ids
from serve.encoders.exported import Embed


def load_encoder(folder: Path) -> SentenceEncoder:
    """An encoder as sentence-transformers reads it, on the CPU.

    Raises:
        InputError: the folder is no encoder.
    """
    return SentenceEncoder.load(folder, "cpu", plain_pooling(folder))


class Pooled(torch.nn.Module):
    """Token ids and mask (N, L) -> embeddings (N, D), before any normalization."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.model, self.dense = encoder.model, encoder.dense  # for eval() and the exporter
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """See the class."""
        return self.encoder.embed(input_ids, attention_mask)


def open_torch(encoder: Path) -> Embed:
    """Load an encoder's folder as a backend."""
    torch.set_num_threads(1)  # each calling thread computes its own batch
    model = Pooled(load_encoder(encoder))

    @torch.inference_mode()
    def embed(ids: Ids, mask: Ids) -> Embeddings:
        embeddings = model(torch.from_numpy(ids), torch.from_numpy(mask))
        return np.asarray(embeddings.numpy(), np.float32)

    return embed
