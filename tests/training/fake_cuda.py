"""Training steps on fake tensors of a GPU, in a build of torch for CPUs.

A fake tensor has a shape, a dtype and a device, but no values: what mixes devices fails, and so
does what needs a value, for which the host would wait. As a program, with the library that is made
of fake_cuda.cpp, and a backbone: `python -m tests.training.fake_cuda LIBRARY BACKBONE`. It prints
what each case raised, as JSON.
"""

from __future__ import annotations

import ctypes
import sys
from importlib.util import find_spec
from pathlib import Path

if __name__ == "__main__":  # before torch is imported, which looks for CUDA only once
    origin = Path(str(find_spec("torch").origin))  # type: ignore[union-attr]
    for library in (origin.parent / "lib" / "libtorch_cpu.so", sys.argv[1]):
        ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)

import json
from functools import partial
from typing import TYPE_CHECKING, Any, get_args
from unittest import mock

import numpy as np
import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from pipeline.data.tokens import TokenArrays
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Pooling
from pipeline.objectives import OBJECTIVES
from pipeline.training import gradient_cache, step
from pipeline.training.batches import ResidentTokens
from pipeline.training.curves import Monitor
from pipeline.training.first_token import only_first_token
from pipeline.training.network import TrainingNetwork, attend_with_dropout, make_head
from pipeline.training.packed import packing
from pipeline.training.processes import ALONE
from pipeline.training.step import Outcome, Step
from tests.tiny import TRAINING_LENGTH
from tests.training.stub import train_settings

if TYPE_CHECKING:
    from collections.abc import Callable

GPU = torch.device("cuda:0")
FAKE = FakeTensorMode(allow_non_fake_inputs=True)  # that all fake tensors here belong to
SENTENCES, STEPS, CHUNK = 8, 2, 3


# torch knows shapes of AdamW's update for a learning rate that is a number, not for a tensor.
ATEN = torch.library.Library("aten", "IMPL", "Meta")  # type: ignore[no-untyped-call]
ATEN.impl("_fused_adamw_.tensor_lr", lambda *_, **__: None)  # type: ignore[no-untyped-call]


class WaitError(RuntimeError):
    """The host would wait for the GPU."""


class NoWait(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Refuses copies between devices for which the host waits; other waits need values."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if func in (torch.ops.aten._to_copy.default, torch.ops.aten.copy_.default):
            is_copy = func is torch.ops.aten.copy_.default
            source = args[1] if is_copy else args[0]
            free = kwargs.get("non_blocking", is_copy and args[2:] == (True,))
            if source.device != result.device and not free:
                raise WaitError(f"a copy from {source.device} to {result.device}")
        return result


def without_cuda() -> None:
    """Replace what asks CUDA's libraries: whether it has bf16, its random generator, its graphs."""
    answers: tuple[tuple[Any, str, Any], ...] = (
        (torch.cuda.amp.common, "amp_definitely_not_available", lambda: False),
        (torch.cuda, "is_bf16_supported", lambda: True),
        (step, "CapturedStep", lambda update, _: update),
        (gradient_cache, "random_state", lambda _: {}),
        (gradient_cache, "set_random_state", lambda *_: None),
    )
    for place, name, answer in answers:
        mock.patch.object(place, name, answer).start()


def on_gpu(module: nn.Module) -> None:
    """Replace parameters and buffers by fake ones; fake tensors cannot be swapped in place."""
    for part in module.modules():
        for name, parameter in part._parameters.items():
            if parameter is not None:
                fake = torch.empty(parameter.shape, dtype=parameter.dtype, device=GPU)
                part._parameters[name] = nn.Parameter(fake, parameter.requires_grad)
        for name, buffer in part._buffers.items():
            if buffer is not None:
                part._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype, device=GPU)


def network(backbone: Path, pooling: str) -> TrainingNetwork:
    """As `build` makes it for a GPU, except for its questions about values."""
    encoder = SentenceEncoder.load(backbone, "cpu", pooling)
    with FAKE:
        on_gpu(encoder.model)
        attend_with_dropout(encoder.model)
        if pooling == "cls":
            only_first_token(encoder.model)
        made = TrainingNetwork(encoder, make_head("mlp", encoder.dimension, None, 0.02))
        on_gpu(made.head)
    return made.train()


def take_steps(
    backbone: Path,
    pooling: str = "cls",
    objective: str = "info_nce",
    mistake: Callable[[Outcome], object] = lambda _: None,
    **settings: Any,
) -> None:
    """Batches cut on the GPU, steps, and what is recorded of each; a mistake follows each step."""
    trained = network(backbone, pooling)
    settings = {"max_length": TRAINING_LENGTH, **settings}
    own = train_settings(record_every=1, evaluate_every=STEPS + 1, **settings)
    generator = np.random.default_rng(1)
    sentences = [generator.integers(5, 60, size).tolist() for size in range(3, 3 + 2 * SENTENCES)]
    tokens = TokenArrays.of(sentences, vocabulary=60)
    with FAKE:
        cut = ResidentTokens(tokens, 0, TRAINING_LENGTH, GPU)
        take = Step(trained, OBJECTIVES[objective](), own, ALONE)
        monitor = Monitor(OBJECTIVES[objective](), own, STEPS + 1, GPU)
    collate = packing(cut.two_views, tokens.lengths, own, few_shapes=False)
    with FAKE, NoWait():  # type: ignore[no-untyped-call]
        for number in range(1, STEPS + 1):
            indices = generator.permutation(len(sentences))[:SENTENCES]
            outcome = take(*collate(indices), lr_scale=1.0)
            monitor.see(number, outcome)
            mistake(outcome)
    for name, parameter in trained.named_parameters():
        if parameter.grad is None or parameter.grad.device != GPU:
            raise AssertionError(f"{name} has no gradient on the GPU")


def mixes_devices(outcome: Outcome) -> None:
    outcome.anchor + torch.ones(outcome.anchor.shape)


def reads(outcome: Outcome) -> None:
    outcome.loss.item()


def copies(outcome: Outcome) -> None:
    outcome.anchor.cpu()


def selects(outcome: Outcome) -> None:
    outcome.anchor[outcome.anchor > 0]


def cases(backbone: Path) -> dict[str, Callable[[], None]]:
    """By name; those of `mistakes` must fail."""
    take = partial(take_steps, backbone)
    steps: dict[str, Callable[[], None]] = {}
    for name in OBJECTIVES:
        steps[f"objective {name}"] = partial(take, objective=name)
    for pooling in get_args(Pooling):
        steps[f"pooling {pooling}"] = partial(take, pooling)
        steps[f"pooling {pooling}, in parts"] = partial(take, pooling, chunk_size=CHUNK)
        steps[f"pooling {pooling}, packed"] = partial(take, pooling, packed=True)
    steps["packed, in parts"] = partial(take, packed=True, chunk_size=CHUNK)
    steps["captured"] = partial(take, capture=True)
    steps["captured, packed"] = partial(take, capture=True, packed=True)
    steps["bf16"] = partial(take, precision="bf16")
    steps["bf16, in parts"] = partial(take, precision="bf16", chunk_size=CHUNK)
    for mistake in (mixes_devices, reads, copies, selects):
        steps[f"mistake {mistake.__name__}"] = partial(take, mistake=mistake)
    return steps


def main() -> None:
    without_cuda()
    outcomes = {}
    for name, case in cases(Path(sys.argv[2])).items():
        try:
            case()
        except Exception as error:  # noqa: BLE001 - whatever it is, the case failed
            outcomes[name] = f"{type(error).__name__}: {error}"
        else:
            outcomes[name] = ""
        print(name, outcomes[name][:300], file=sys.stderr, flush=True)
    print(json.dumps(outcomes))


if __name__ == "__main__":
    main()
