"""One step of training: embeddings, loss, gradient, clipping, update.

Nothing in it waits for the device.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from pipeline.machine.device import autocast_dtype
from pipeline.training.compilation import compiled, compiles
from pipeline.training.gradient_cache import backward_in_parts, in_parts
from pipeline.training.processes import without_exchange

if TYPE_CHECKING:
    from pipeline.config.schema import TrainParams
    from pipeline.objectives import Objective
    from pipeline.training.network import TrainingNetwork
    from pipeline.training.processes import Processes


class Outcome(NamedTuple):
    """What a step saw, outside the graph; to be read before the next step."""

    anchor: Tensor  # (N, D) first views of all processes' sentences, as the objective got them
    positive: Tensor  # (N, D) their second views
    loss: Tensor


class Step:
    """Trains a network by one batch a call.

    Attributes:
        optimizer: AdamW over what is trained; its state belongs to checkpoints.
    """

    def __init__(
        self,
        network: TrainingNetwork,
        objective: Objective,
        settings: TrainParams,
        processes: Processes,
    ) -> None:
        """Prepare a network, which lies on its device already.

        Raises:
            InputError: see `compiles`.
        """
        device = network.device
        self._device, self._processes = device, processes
        self._clip, self._rate = settings.gradient_clip, settings.learning_rate
        self._part = settings.chunk_size
        self._autocast = autocast_dtype(settings.precision, device)
        self._loss = objective.loss
        self._compiled = compiles(settings.compile, device)
        # A graph's memory is written anew by the next replay: gradients that wait there for
        # others, of further parts or processes, would be lost.
        alone = self._part is None and processes.count == 1
        self._graphs = self._compiled and alone and device.type == "cuda"
        if self._compiled:
            network.few_lengths = True
            network.embed = compiled(network.whole_batch, graphs=self._graphs)
            self._loss = compiled(objective.loss, graphs=self._graphs)
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self._parameters,
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
        )
        self._network = processes.wrapped(network, device)

    def __call__(self, ids: Tensor, mask: Tensor, lr_scale: float) -> Outcome:
        """Update the weights.

        Args:
            ids: (2n, L) tokens of this process's sentences: first views, then second ones.
            mask: (2n, L).
            lr_scale: what the learning rate is multiplied by.
        """
        if self._graphs:
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        for group in self.optimizer.param_groups:
            group["lr"] = self._rate * lr_scale
        self.optimizer.zero_grad(set_to_none=True)
        outcome = self._gradient(ids, mask)
        clip_grad_norm_(self._parameters, self._clip)
        self.optimizer.step()
        return outcome

    def _gradient(self, ids: Tensor, mask: Tensor) -> Outcome:
        if self._part is None:
            return self._backward(self._embed(ids, mask))
        outcomes: list[Outcome] = []
        backward_in_parts(
            self._embed,
            in_parts((ids, mask), 2 * self._part),
            lambda embeddings: outcomes.append(self._backward(embeddings)),
            partial(without_exchange, self._network),
            compiled=self._compiled,
        )
        return outcomes[0]

    def _embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast(self._device.type, self._autocast, enabled=self._autocast is not None):
            embeddings: Tensor = self._network(ids, mask)
        return embeddings

    def _backward(self, embeddings: Tensor) -> Outcome:
        anchor, positive = self._processes.joined(embeddings)
        loss = self._loss(anchor, positive)
        # Gradients are averaged over processes, but theirs are parts of one sum.
        (loss * self._processes.count).backward()  # type: ignore[no-untyped-call]
        return Outcome(anchor.detach(), positive.detach(), loss.detach())
