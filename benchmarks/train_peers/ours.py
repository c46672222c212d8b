"""Our step, as the training stage takes it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import torch

from benchmarks.train_peers.task import SEED, TEMPERATURE, Loop
from pipeline.config.schema import BackboneParams
from pipeline.objectives import OBJECTIVES
from pipeline.training import network as training_network
from pipeline.training.compilation import compiles
from pipeline.training.processes import ALONE
from pipeline.training.step import Step

if TYPE_CHECKING:
    from benchmarks.train_peers.task import Task
    from pipeline.training.network import TrainingNetwork


def build(task: Task) -> TrainingNetwork:
    """The network that `pipeline.train` builds."""
    torch.manual_seed(SEED)
    folder = str(task.folder)
    backbone = BackboneParams(source=folder, watch=folder, revision=None, pooling="cls")
    _, network = training_network.build(backbone, task.settings, task.device)
    return network


class Ours(Loop):
    """`pipeline.training.step.Step` with InfoNCE.

    Attributes:
        network: what it trains.
    """

    def __init__(self, task: Task) -> None:
        self.network = build(task)
        objective = OBJECTIVES["info_nce"](temperature=TEMPERATURE)
        step = Step(self.network, objective, task.settings, ALONE)
        compiling = compiles(task.settings.compile, task.device)
        super().__init__(task, partial(step, lr_scale=1.0), compiles=compiling)
