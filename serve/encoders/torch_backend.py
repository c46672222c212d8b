"""Encoders in torch: the backend that needs no export, on a CPU or a GPU.

Apart from backends.py, since importing it brings torch.
"""

from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import plain_pooling
from pipeline.encoder.vectors import Embeddings, Ids
from serve.encoders.exported import Embed

_DTYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}


def load_encoder(folder: Path, device: str = "cpu") -> SentenceEncoder:
    """An encoder as sentence-transformers reads it, in float32.

    Raises:
        InputError: the folder is no encoder.
    """
    return SentenceEncoder.load(folder, device, plain_pooling(folder))


class Pooled(torch.nn.Module):
    """Token ids and mask (N, L) -> embeddings (N, D), before any normalization."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.model, self.dense = encoder.model, encoder.dense  # for eval() and the exporter
        self.encoder = encoder

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """See the class."""
        return self.encoder.embed(input_ids, attention_mask)


def open_torch(encoder: Path, precision: str, device: str) -> Embed:
    """Load an encoder's folder as a backend.

    Args:
        encoder: the folder.
        precision: of weights and token states: `f32`, `f16` or `bf16`.
        device: `cpu` or `cuda`.

    Raises:
        InputError: the folder is no encoder, or the device is not there.
    """
    torch.set_num_threads(1)  # each calling thread computes its own batch
    model = Pooled(load_encoder(encoder, device)).to(_DTYPES[precision])

    @torch.inference_mode()
    def embed(ids: Ids, mask: Ids) -> Embeddings:
        embeddings = model(torch.from_numpy(ids).to(device), torch.from_numpy(mask).to(device))
        return np.asarray(embeddings.cpu().float().numpy())

    return embed
