"""The same model in a loop of a dozen lines, as one would write it with torch and transformers.

What our step does besides is what these lack: attention as the library chooses it, all tokens in
the last layer, all rows of a batch in one pass, AdamW as it comes; nothing is compiled unless
`torch.compile` is asked for, and then in its default mode. Batches are the same, from the same
place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from benchmarks.train_peers.precision import Precision, multiplying
from benchmarks.train_peers.task import SEED, TEMPERATURE, Loop
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.training.compilation import compiles

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.train_peers.task import Task


class PlainNetwork(nn.Module):
    """A transformer, its first token's state, dense + tanh."""

    def __init__(self, transformer: nn.Module, width: int) -> None:
        super().__init__()
        self.transformer = transformer
        self.head = nn.Sequential(nn.Linear(width, width), nn.Tanh())

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(2N, L) -> (2N, D)."""
        hidden = self.transformer(input_ids=ids, attention_mask=mask).last_hidden_state
        return cast("Tensor", self.head(hidden[:, 0]))


def info_nce(embeddings: Tensor) -> Tensor:
    """Cross-entropy of the cosines between first and second views."""
    anchor, positive = F.normalize(embeddings.float(), dim=1).chunk(2)
    own = torch.arange(len(anchor), device=anchor.device)
    return F.cross_entropy(anchor @ positive.T / TEMPERATURE, own)


class Plain(Loop):
    """Forward, loss, backward, clip, update.

    Attributes:
        network: what it trains.
    """

    def __init__(self, task: Task, precision: Precision, *, compiled: bool) -> None:
        """Load the model.

        Raises:
            InputError: compiling is asked for where there is no compiler.
        """
        if compiled:
            compiles("on", task.device)
        torch.manual_seed(SEED)
        encoder = SentenceEncoder.load(task.folder, str(task.device))
        self.network = PlainNetwork(encoder.model, encoder.dimension).to(task.device).train()
        self._precision, self._device_type = precision, task.device.type
        self._parameters = list(self.network.parameters())
        self._clip = task.settings.gradient_clip
        self._optimizer = torch.optim.AdamW(
            self._parameters,
            lr=task.settings.learning_rate,
            weight_decay=task.settings.weight_decay,
        )
        program: Any = torch.compile(self.network) if compiled else self.network
        self._embed: Callable[[Tensor, Tensor], Tensor] = program
        super().__init__(task, self._take, compiles=compiled)

    def _take(self, ids: Tensor, mask: Tensor) -> None:
        with multiplying(self._precision):
            bf16 = self._precision == "bf16"
            with torch.autocast(self._device_type, torch.bfloat16, enabled=bf16):
                embeddings = self._embed(ids, mask)
            self._optimizer.zero_grad()
            info_nce(embeddings).backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(self._parameters, self._clip)
            self._optimizer.step()
