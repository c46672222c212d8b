"""The backend that needs no export: torch in float32, one thread a call.

Apart from backends.py, since importing it brings torch.
"""

from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder, pool
from serve.encoders.exported import Embed, Embeddings, Ids


class Pooled(torch.nn.Module):
    """Token ids and mask (N, L) -> pooled embeddings (N, D), before any normalization."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.model = encoder.model
        self.pooling = encoder.layout.pooling

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """See the class."""
        hidden = self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return pool(hidden, attention_mask, self.pooling)


def open_torch(encoder: Path) -> Embed:
    """Load an encoder's folder as a backend."""
    torch.set_num_threads(1)  # each calling thread computes its own batch
    model = Pooled(SentenceEncoder.load(encoder, "cpu"))

    @torch.inference_mode()
    def embed(ids: Ids, mask: Ids) -> Embeddings:
        found = model(torch.from_numpy(ids), torch.from_numpy(mask))
        return np.asarray(found.numpy(), np.float32)

    return embed
