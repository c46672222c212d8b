"""One step of training: embeddings, loss, gradient, clipping, update.

Nothing in it waits for the device.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_

from pipeline.machine.device import (
    Precision,
    autocast_dtype,
    multiply_in,
    random_state,
    set_random_state,
    taken_precision,
)
from pipeline.training.captured import CapturedStep, check_captures
from pipeline.training.compilation import compiled, compiles, failed_to_compile, warn_eager
from pipeline.training.gradient_cache import backward_in_parts, in_parts
from pipeline.training.network import taken_attention
from pipeline.training.processes import without_exchange

if TYPE_CHECKING:
    from pipeline.config.schema import TrainParams
    from pipeline.objectives import Objective
    from pipeline.training.network import TrainingNetwork
    from pipeline.training.processes import Processes


# True is a graph each for forward pass, loss and backward pass.
Graphs: TypeAlias = bool | Literal["whole step"]


class Outcome(NamedTuple):
    """What a step saw, outside the graph; to be read before the next step."""

    anchor: Tensor  # (N, D) first views of all processes' sentences, as the objective got them
    positive: Tensor  # (N, D) their second views
    loss: Tensor


class Execution(NamedTuple):
    """What was taken where settings say `auto`, and what no setting names."""

    precision: Precision
    compile: str  # on or off
    cuda_graphs: Graphs
    attention: str  # see `taken_attention`

    def sentence(self) -> str:
        """In words, without a name in front."""
        compiled = "compiled" if self.compile == "on" else "not compiled"
        kind = "one CUDA graph" if self.cuda_graphs == "whole step" else "CUDA graphs"
        graphs = f" and replayed as {kind}" if self.cuda_graphs else ""
        return f"{self.precision}, {compiled}{graphs}, attention {self.attention}."


class Step:
    """Trains a network by one batch a call.

    Attributes:
        optimizer: AdamW over what is trained; its state belongs to checkpoints.
        precision: of matrix products, as it was taken.
        autocast: the dtype for autocast; None is full float32.
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
            InputError: see `compiles` and `check_captures`.
        """
        device = network.device
        if settings.capture:
            check_captures(settings, device, processes)
        self._device, self._processes = device, processes
        self._clip, self._rate = settings.gradient_clip, settings.learning_rate
        self._part, self._packed = settings.chunk_size, settings.packed
        self.precision = taken_precision(settings.precision, device)
        multiply_in(self.precision, device)
        self.autocast = autocast_dtype(settings.precision, device)
        self._plain, self._loss = network, objective.loss
        self._eager = (network.whole_batch, objective.loss)
        self._compiled = compiles(settings.compile, device)
        # Several processes exchange embeddings in a step, so that one cannot repeat it alone.
        self._may_fail = settings.compile == "auto" and processes.count == 1
        # That were trained on: each is a program.
        self._shapes: set[tuple[torch.Size, torch.Size]] = set()
        # A graph's memory is written anew by the next replay: gradients that wait there for
        # others, of further parts or processes, would be lost.
        alone = self._part is None and processes.count == 1
        self._graphs = self._compiled and alone and device.type == "cuda" and not settings.capture
        network.few_lengths = self._compiled or settings.capture
        if self._compiled:
            network.embed = compiled(network.whole_batch, graphs=self._graphs)
            self._loss = compiled(objective.loss, graphs=self._graphs)
        self._parameters = [p for p in network.parameters() if p.requires_grad]
        # A captured step reads the learning rate from the device.
        self._rate_there = torch.tensor(self._rate, device=device) if settings.capture else None
        self.optimizer = torch.optim.AdamW(
            self._parameters,
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,
            capturable=settings.capture,
        )
        self._captured = CapturedStep(self._update, device) if settings.capture else None
        self._network = processes.wrapped(network, device)

    @property
    def execution(self) -> Execution:
        """How steps are taken; final after the first one, since compiling may fail there."""
        attention = taken_attention(self._plain.transformer, self.autocast)
        if self._packed:
            attention = f"{attention}, packed tokens"
        compiling = "on" if self._compiled else "off"
        graphs: Graphs = "whole step" if self._captured else self._graphs
        return Execution(self.precision, compiling, graphs, attention)

    def __call__(self, ids: Tensor, mask: Tensor, lr_scale: float) -> Outcome:
        """Update the weights.

        Args:
            ids: (2n, L) tokens of this process's sentences: first views, then second ones; or as
                `packing` gives them.
            mask: (2n, L).
            lr_scale: what the learning rate is multiplied by.
        """
        if self._graphs:
            torch.compiler.cudagraph_mark_step_begin()  # type: ignore[no-untyped-call]
        rate = self._rate * lr_scale
        for group in self.optimizer.param_groups:
            group["lr"] = rate if self._rate_there is None else self._rate_there.fill_(rate)
        return (self._captured or self._update)(ids, mask)

    def _update(self, ids: Tensor, mask: Tensor) -> Outcome:
        outcome = self._safely(ids, mask)
        clip_grad_norm_(self._parameters, self._clip)
        self.optimizer.step()
        return outcome

    def _safely(self, ids: Tensor, mask: Tensor) -> Outcome:
        """The gradient; eagerly from now on if the compiler fails at the first batch of a shape."""
        self.optimizer.zero_grad(set_to_none=True)
        shape = ids.shape, mask.shape
        if not (self._compiled and self._may_fail) or shape in self._shapes:
            return self._gradient(ids, mask)
        random = random_state(self._device)
        try:
            outcome = self._gradient(ids, mask)
        except Exception as error:
            if not failed_to_compile(error):
                raise
            warn_eager(error)
        else:
            self._shapes.add(shape)
            return outcome
        self._compiled = self._graphs = False
        self._plain.embed, self._loss = self._eager
        set_random_state(random, self._device)
        self.optimizer.zero_grad(set_to_none=True)
        return self._gradient(ids, mask)

    def _gradient(self, ids: Tensor, mask: Tensor) -> Outcome:
        if self._part is None:
            return self._backward(self._embed(ids, mask))
        outcomes: list[Outcome] = []
        rows = 2 * self._part
        packed = zip(ids, torch.split(mask, rows), strict=True) if self._packed else None
        backward_in_parts(
            self._embed,
            list(packed) if packed else in_parts((ids, mask), rows),
            lambda embeddings: outcomes.append(self._backward(embeddings)),
            partial(without_exchange, self._network),
            compiled=self._compiled,
        )
        return outcomes[0]

    def _embed(self, ids: Tensor, mask: Tensor) -> Tensor:
        with torch.autocast(self._device.type, self.autocast, enabled=self.autocast is not None):
            embeddings: Tensor = self._network(ids, mask)
        return embeddings

    def _backward(self, embeddings: Tensor) -> Outcome:
        anchor, positive = self._processes.joined(embeddings)
        loss = self._loss(anchor, positive)
        # Gradients are averaged over processes, but theirs are parts of one sum.
        (loss * self._processes.count).backward()  # type: ignore[no-untyped-call]
        return Outcome(anchor.detach(), positive.detach(), loss.detach())
