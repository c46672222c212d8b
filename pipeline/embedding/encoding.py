"""A chunk of sentences -> embeddings.

They depend on the chunk and the settings alone, so that a run can resume anywhere.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Pooling
from pipeline.machine.device import encoding_dtype
from pipeline.machine.errors import InputError


@dataclass(frozen=True)
class Encoding:
    """How sentences become embeddings."""

    folder: Path  # of the encoder
    device: str
    pooling: Pooling  # for a folder that does not say
    normalize: bool  # to length one, whatever the folder says
    dtype: str  # float32 or float16
    batch_size: int  # see `SentenceEncoder.batches`
    precision: str  # of matrix products: see `encoding_dtype`

    def load(self) -> SentenceEncoder:
        """The encoder.

        Raises:
            InputError: the folder holds none, the device is not there or lacks the precision.
        """
        encoder = SentenceEncoder.load(self.folder, self.device, self.pooling)
        dtype = encoding_dtype(self.precision, encoder.model.device)
        encoder = replace(encoder, autocast=dtype)
        if not self.normalize:
            return encoder
        return replace(encoder, layout=replace(encoder.layout, normalize=True))

    def embed(self, encoder: SentenceEncoder, texts: list[str]) -> np.ndarray:
        """A chunk's embeddings, (N, D); equal sentences are encoded once.

        Raises:
            InputError: the device's memory is too small for a batch.
        """
        places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        try:
            distinct = encoder.encode(list(places), self.batch_size)
        except torch.OutOfMemoryError as error:
            raise InputError(
                f"--batch-size: {self.batch_size} sentences at a time do not fit the device's "
                "memory; lower it and start the command again, which resumes from there."
            ) from error
        with np.errstate(over="ignore"):  # whoever stores them asks whether all are finite
            return np.asarray(distinct[[places[text] for text in texts]], self.dtype)
