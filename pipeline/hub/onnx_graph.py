"""An encoder's transformer as onnx/model.onnx, where sentence-transformers' backend="onnx" looks.

Not here: the graph that the service computes, with pooling in it (serve/encoders/export.py).
"""

from __future__ import annotations

import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from pipeline.encoder.encoder import SentenceEncoder

OPSET = 18


class TokenStates(torch.nn.Module):
    """Token ids and mask (N, L) -> token states (N, L, D)."""

    def __init__(self, encoder: SentenceEncoder) -> None:
        super().__init__()
        self.model = encoder.model

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """The last layer's states."""
        states: Tensor = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        return states


def write_onnx(encoder: SentenceEncoder, file: Path) -> None:
    """Write the graph from ids and mask to token states; batch and length are free.

    Raises:
        InputError: the library `onnx` is not installed.
    """
    if find_spec("onnx") is None:
        raise InputError(
            "--onnx: needs the library `onnx`; install it with: pip install "
            "'triad-encoders[export]'."
        )
    # Two tensors, with a place left out: some models skip a mask that leaves out none.
    ids, mask = torch.ones(2, 7, dtype=torch.int64), torch.ones(2, 7, dtype=torch.int64)
    mask[1, 5:] = 0
    axes = {0: "batch_size", 1: "sequence_length"}
    names = ("input_ids", "attention_mask", "last_hidden_state")
    file.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), torch.inference_mode():
        warnings.simplefilter("ignore")  # of torch's own exporter, about itself
        torch.onnx.export(
            TokenStates(encoder).eval(),
            (ids, mask),
            file,
            dynamo=False,  # traced in half a second; torch.export takes ten times as long
            opset_version=OPSET,
            input_names=names[:2],
            output_names=names[2:],
            dynamic_axes=dict.fromkeys(names, axes),
        )
