"""Several processes that train one encoder, as torchrun starts them; or one, alone.

Each process embeds its share of a batch and computes the loss on all embeddings, of which its
own carry gradient. The processes' gradients then add up to that of one process with the whole
batch, negatives included, and nothing but embeddings and gradients is exchanged.
"""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import torch
from torch import Tensor, nn
from torch import distributed as dist
from torch.nn.parallel import DistributedDataParallel

from pipeline.machine.device import describe, resolve
from pipeline.machine.errors import InputError, OtherProcessError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# What one process does while the others wait (evaluating, writing) may take as long as it needs;
# torchrun itself ends all when one has died.
_PATIENCE = timedelta(days=2)
# Embeddings and gradients are exchanged by processes that compute side by side: one that waits
# for longer has lost another one, or its network.
_EXCHANGE = timedelta(minutes=10)

T = TypeVar("T")


@dataclass(frozen=True)
class Processes:
    """This process among those that train one encoder."""

    rank: int = 0  # up to count - 1
    count: int = 1
    local_rank: int = 0  # its number on its machine: which GPU it takes
    control: dist.ProcessGroup | None = None  # for messages between hosts' memories

    @property
    def first(self) -> bool:
        """Whether this is the one that evaluates, writes and speaks."""
        return self.rank == 0

    def check(self, batch_size: int) -> None:
        """Refuse a batch that cannot be shared out evenly.

        Raises:
            InputError: its size is no multiple of the number of processes.
        """
        if batch_size % self.count:
            raise InputError(
                f"train.batch_size: must be a multiple of the {self.count} processes that torchrun "
                f"has started, got {batch_size}."
            )

    def device(self, choice: str) -> torch.device:
        """The device; of several processes on GPUs each takes its own.

        Raises:
            InputError: it is not there, or this machine has fewer GPUs than processes.
        """
        if self.count == 1 or choice == "cpu" or not torch.cuda.is_available():
            return resolve(choice)
        gpus = torch.cuda.device_count()
        if gpus <= self.local_rank:
            raise InputError(
                f"torchrun: process {self.local_rank} of this machine has no GPU of its own, there "
                f"are {gpus}; give --nproc-per-node {gpus}."
            )
        torch.cuda.set_device(self.local_rank)
        return resolve(f"cuda:{self.local_rank}")

    def describe(self, device: torch.device) -> str:
        """The hardware in words, for records."""
        return describe(device) if self.count == 1 else f"{self.count} x {describe(device)}"

    def draw_apart(self, seed: int) -> None:
        """Give each process a random stream of its own; a lone one goes on with what it has."""
        if self.count > 1:
            # The CPU's generator takes 32 bits of a seed.
            mixed = np.random.SeedSequence((seed, self.rank)).generate_state(1)
            torch.manual_seed(int(mixed[0]))

    def share(self, indices: np.ndarray) -> np.ndarray:
        """This process's part of a batch's indices, (N,) -> (N / count,)."""
        size = len(indices) // self.count
        return indices[self.rank * size : (self.rank + 1) * size]

    def joined(self, own: Tensor) -> tuple[Tensor, Tensor]:
        """All processes' first and second views, (N, D) each; only `own` carries gradient.

        Args:
            own: (2n, D), this process's first views and then its second.
        """
        if self.count == 1:
            anchor, positive = own.chunk(2)
            return anchor, positive
        parts = [torch.empty_like(own) for _ in range(self.count)]
        dist.all_gather(parts, own.detach().contiguous())
        parts[self.rank] = own
        views = [part.chunk(2) for part in parts]
        return torch.cat([first for first, _ in views]), torch.cat([second for _, second in views])

    def wrapped(self, network: nn.Module, device: torch.device) -> nn.Module:
        """The network, whose gradients are averaged over the processes in every backward pass."""
        if self.count == 1:
            return network
        on_gpu = [device.index] if device.type == "cuda" else None
        return DistributedDataParallel(network, device_ids=on_gpu)

    def from_first(self, work: Callable[[], T]) -> T:
        """What `work` returns in the first process, in every one; it must be picklable.

        Raises:
            OtherProcessError: (not in the first) the work has failed there, where it is raised.
        """
        if self.count == 1:
            return work()
        message: list[Any] = [None, None]
        if not self.first:
            dist.broadcast_object_list(message, src=0, group=self.control)
            failed, result = message
            if failed:
                raise OtherProcessError
            return result  # type: ignore[no-any-return]
        try:
            message = [False, work()]
        except BaseException:
            message = [True, None]
            raise
        finally:
            dist.broadcast_object_list(message, src=0, group=self.control)
        return message[1]  # type: ignore[no-any-return]

    def alike(self, work: Callable[[], T]) -> T:
        """What `work` returns; it is done in every process, and exchanges nothing.

        Of several processes that fail with one sentence, the first of them raises it.

        Raises:
            OtherProcessError: the work has failed elsewhere, where it is raised.
        """
        error: ValueError | OSError | None = None
        try:
            result = work()
        except (ValueError, OSError) as failure:
            error = failure
        sentences = self.collected(None if error is None else str(error))
        if error is not None and str(error) not in sentences[: self.rank]:
            raise error
        if any(sentence is not None for sentence in sentences):
            raise OtherProcessError
        return result

    def collected(self, own: T) -> list[T]:
        """Every process's object, by rank; it must be picklable."""
        if self.count == 1:
            return [own]
        everyone: list[Any] = [None] * self.count
        dist.all_gather_object(everyone, own, group=self.control)
        return everyone


def without_exchange(network: nn.Module) -> AbstractContextManager[None]:
    """A context in which a wrapped network's backward passes exchange no gradients."""
    if isinstance(network, DistributedDataParallel):
        return network.no_sync()
    return nullcontext()


ALONE = Processes()


@contextmanager
def joining() -> Iterator[Processes]:
    """Meet the other processes that torchrun has started; alone where it has not."""
    count = int(os.environ.get("WORLD_SIZE", "1"))
    if count == 1:
        yield ALONE
        return
    local_rank = int(os.environ["LOCAL_RANK"])
    backends, gpu = "gloo", None
    if torch.cuda.is_available():
        backends = "cpu:gloo,cuda:nccl"
        # With a device NCCL connects now and not in the first exchange. Not where a process has
        # no GPU, which `device` refuses: the others would wait for it.
        enough = int(os.environ["LOCAL_WORLD_SIZE"]) <= torch.cuda.device_count()
        gpu = torch.device("cuda", local_rank) if enough else None
    dist.init_process_group(backends, timeout=_EXCHANGE, device_id=gpu)
    control = dist.new_group(backend="gloo", timeout=_PATIENCE)
    yield Processes(dist.get_rank(), count, local_rank, control)
    # Not after an error: NCCL would wait for exchanges that the others may never come to, and
    # torchrun ends them once this process has left.
    dist.destroy_process_group()
