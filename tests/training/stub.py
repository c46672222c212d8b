"""A network without dropout in double precision, and steps of it alone or in several processes.

As a program under torchrun it takes each case's steps and writes what they left:
`torchrun --nproc-per-node 2 -m tests.training.stub FILE`.
"""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pipeline.config.schema import TrainParams
from pipeline.objectives import OBJECTIVES
from pipeline.training.processes import ALONE, Processes, joining
from pipeline.training.step import Step
from tests.tiny import ROOT, SETTINGS

STEPS, SENTENCES, LENGTH, WORDS, WIDTH = 5, 8, 6, 30, 5
# Sentences a pass of gradient caching; None is without.
CHUNKS = (None, 3)
CASES = list(product(OBJECTIVES, CHUNKS))
Left = dict[str, Tensor]


class Stub(nn.Module):
    """Token ids (N, L) and mask (N, L) -> embeddings (N, D)."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(WORDS, WIDTH)
        self.layer = nn.Linear(WIDTH, WIDTH)
        # So that the two views of a sentence, which have equal tokens, differ.
        self.places = nn.Embedding(2, WIDTH)
        self.embed = self.whole_batch
        self.few_lengths = False

    @property
    def device(self) -> torch.device:
        return torch.device("cpu")

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        return self.embed(ids, mask)

    def whole_batch(self, ids: Tensor, mask: Tensor) -> Tensor:
        inside = mask[:, :, None].to(self.words.weight.dtype)
        mean = (self.words(ids) * inside).sum(dim=1) / inside.sum(dim=1)
        return torch.tanh(self.layer(mean + self.places(mask[:, 0] - 1)))


def batch(step: int, processes: Processes) -> tuple[Tensor, Tensor]:
    """This process's share; the second view's mask is 2, which chooses its place."""
    generator = torch.Generator().manual_seed(step)
    ids = torch.randint(WORDS, (SENTENCES, LENGTH), generator=generator)
    own = ids[processes.share(torch.arange(SENTENCES).numpy())]
    mask = torch.ones_like(own)
    return own.repeat(2, 1), torch.cat([mask, 2 * mask])


def train_settings(**changes: Any) -> TrainParams:
    return TrainParams(**SETTINGS["train"] | changes)


def take_steps(name: str, chunk: int | None, processes: Processes = ALONE) -> Left:
    """The last step's gradients (not clipped) and the weights after it, in double precision."""
    torch.manual_seed(1)
    network = Stub().double()
    settings = train_settings(chunk_size=chunk, gradient_clip=1e9)
    step = Step(network, OBJECTIVES[name](), settings, processes)  # type: ignore[arg-type]
    for number in range(STEPS):
        outcome = step(*batch(number, processes), lr_scale=1 - number / STEPS)
    torch.manual_seed(1)
    assert not torch.equal(network.layer.weight, Stub().double().layer.weight)
    left = {f"weight of {key}": value for key, value in network.state_dict().items()}
    for key, parameter in network.named_parameters():
        assert parameter.grad is not None
        left[f"gradient of {key}"] = parameter.grad
    return left | {"loss": outcome.loss, "anchor": outcome.anchor, "positive": outcome.positive}


def torchrun(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Start two processes as users do, of one thread each, which hear this machine only."""
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    return subprocess.run(
        [sys.executable, *launcher, *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def main() -> None:
    with joining() as processes:
        results = {(name, chunk): take_steps(name, chunk, processes) for name, chunk in CASES}
        everyone = processes.collected(results)
        if processes.first:
            torch.save(everyone, Path(sys.argv[1]))


if __name__ == "__main__":
    main()
