"""When a step is compiled, and that it is then the same step."""

from collections.abc import Callable
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
import torch
from torch._inductor.exc import InductorError

from pipeline.config.schema import Compile
from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.folder import Pooling
from pipeline.machine.errors import InputError
from pipeline.objectives import OBJECTIVES
from pipeline.training.compilation import compiles
from pipeline.training.first_token import only_first_token
from pipeline.training.network import TrainingNetwork, make_head
from pipeline.training.processes import ALONE
from pipeline.training.step import Step
from tests.tiny import WIDTH, change_json
from tests.training.stub import train_settings

CPU, CUDA = torch.device("cpu"), torch.device("cuda")
STEPS = 20
# The compiler's own: about what it imports, and about looking at every tensor that it meets.
pytestmark = [
    pytest.mark.filterwarnings(r"ignore:.torch\.jit\.script_method. is deprecated"),
    pytest.mark.filterwarnings(r"ignore:The \.grad attribute of a Tensor that is not a leaf"),
]


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], None]:
    """A machine with all that compiling needs, whatever this one has; the call removes a part."""
    (tmp_path / "Python.h").touch()
    there = {"triton", "g++", "gcc"}
    monkeypatch.setattr("torch.utils._triton.has_triton", lambda: "triton" in there)
    monkeypatch.setattr("shutil.which", lambda name: name if name in there else None)
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.delenv("CC", raising=False)

    def remove(part: str) -> None:
        there.discard(part)
        (tmp_path / part).unlink(missing_ok=True)

    return remove


@pytest.mark.usefixtures("machine")
@pytest.mark.parametrize(
    ("asked", "device", "expected"),
    [
        ("auto", CPU, False),
        ("auto", CUDA, True),
        ("off", CUDA, False),
        ("on", CUDA, True),
        ("on", CPU, True),
    ],
)
def test_auto_compiles_on_cuda(asked: Compile, device: torch.device, *, expected: bool) -> None:
    assert compiles(asked, device) == expected


@pytest.mark.parametrize(
    ("device", "part", "sentence"),
    [
        (CUDA, "triton", "Triton is not installed"),
        (CUDA, "gcc", "there is no C compiler"),
        (CUDA, "Python.h", "Python.h is not there .Debian's python3-dev has it."),
        (CPU, "g++", "there is no C.. compiler"),
    ],
)
def test_without_a_compiler_on_is_refused_and_auto_says_so_and_does_without(
    machine: Callable[[str], None], device: torch.device, part: str, sentence: str
) -> None:
    machine(part)
    with pytest.raises(InputError, match=f"train.compile: on, but .*{sentence}.* auto"):
        compiles("on", device)
    if device == CUDA:  # on a CPU auto does without anyway
        with pytest.warns(UserWarning, match=f"auto trains without compiling.*: .*{sentence}"):
            assert not compiles("auto", device)


def test_a_step_that_cannot_be_compiled_is_taken_eagerly(
    monkeypatch: pytest.MonkeyPatch, tiny_bert: Path
) -> None:
    """With the dropout that an eager run draws."""

    def broken(function: Callable[..., torch.Tensor], **_: object) -> Callable[..., torch.Tensor]:
        def program(*arguments: torch.Tensor) -> torch.Tensor:
            function(*arguments)
            raise InductorError(RuntimeError("no room"), None)

        return program

    eager = Step(tiny_network(tiny_bert), OBJECTIVES["vicreg"](), train_settings(), ALONE)
    monkeypatch.setattr("pipeline.training.step.compiles", lambda *_: True)
    monkeypatch.setattr("pipeline.training.step.compiled", broken)
    network, auto = tiny_network(tiny_bert), train_settings(compile="auto")
    step = Step(network, OBJECTIVES["vicreg"](), auto, ALONE)
    assert step.execution.compile == "on"
    batches = [tokens(np.random.default_rng(number)) for number in range(3)]
    torch.manual_seed(2)
    expected = [eager(ids, torch.ones_like(ids), 1.0).loss for ids in batches]
    torch.manual_seed(2)
    with pytest.warns(UserWarning, match=r"auto trains without compiling.*failed .*no room"):
        taken = [step(batches[0], torch.ones_like(batches[0]), 1.0).loss]
    taken += [step(ids, torch.ones_like(ids), 1.0).loss for ids in batches[1:]]
    assert taken == expected
    assert step.execution.compile == "off"
    on = Step(network, OBJECTIVES["vicreg"](), train_settings(compile="on"), ALONE)
    with pytest.raises(InductorError):
        on(batches[0], torch.ones_like(batches[0]), 1.0)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "vicreg_modified" else pytest.mark.verify)
        for name in OBJECTIVES
    ],
)
def test_every_objective_is_one_graph(name: str) -> None:
    """Nothing in it needs a value, which on an accelerator would have to be waited for."""
    objective = OBJECTIVES[name]()
    torch.manual_seed(1)
    views = torch.randn(2, 6, 4, dtype=torch.float64, requires_grad=True)
    torch.compiler.reset()
    graph = torch.compile(objective.loss, fullgraph=True, backend="aot_eager", dynamic=False)
    anchor, positive = views.unbind()
    torch.testing.assert_close(graph(anchor, positive), objective(anchor, positive))
    (one,) = torch.autograd.grad(graph(anchor, positive), views, retain_graph=True)
    (other,) = torch.autograd.grad(objective(anchor, positive), views)
    torch.testing.assert_close(one, other, rtol=1e-10, atol=1e-10)


@pytest.mark.verify
@pytest.mark.parametrize("pooling", get_args(Pooling))
def test_the_network_is_one_graph(tiny: Path, pooling: Pooling) -> None:
    """With the attention of accelerators, and padding; a break would cost a launch each time."""
    encoder = SentenceEncoder.load(tiny, "cpu", pooling)
    encoder.model.set_attn_implementation("sdpa")
    if pooling == "cls":
        only_first_token(encoder.model)
    network = TrainingNetwork(encoder, make_head("mlp", WIDTH, None, 0.02)).eval()
    ids = tokens(np.random.default_rng(1))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    torch.compiler.reset()
    graph = torch.compile(network.whole_batch, fullgraph=True, backend="aot_eager", dynamic=False)
    torch.testing.assert_close(graph(ids, mask), network.whole_batch(ids, mask))
    network.train()
    graph(ids, mask).sum().backward()  # type: ignore[no-untyped-call]
    assert all(parameter.grad is not None for parameter in network.parameters())


def tiny_network(folder: Path) -> TrainingNetwork:
    torch.manual_seed(1)
    encoder = SentenceEncoder.load(folder, "cpu")
    return TrainingNetwork(encoder, make_head("mlp", WIDTH, None, 0.02)).train()


def tokens(generator: np.random.Generator) -> torch.Tensor:
    """Eight sentences, twice."""
    return torch.from_numpy(generator.integers(5, 60, (8, 8))).repeat(2, 1)


def losses(folder: Path, precision: str, compile_: Compile) -> list[float]:
    """Of steps without dropout, whose masks a compiled program draws otherwise."""
    network = tiny_network(folder)
    settings = train_settings(precision=precision, compile=compile_)
    step = Step(network, OBJECTIVES["vicreg_modified"](), settings, ALONE)
    generator = np.random.default_rng(1)
    found = []
    for number in range(STEPS):
        ids = tokens(generator)
        ids[8:, 1] += 1  # the second views, in place of another dropout mask
        found.append(float(step(ids, torch.ones_like(ids), 1 - number / STEPS).loss))
    return found


@pytest.mark.verify
@pytest.mark.parametrize(
    ("precision", "tolerance"),
    [("fp32", 1e-4), ("bf16", 3e-2)],
)
def test_a_compiled_run_has_the_losses_of_an_eager_one(
    own: Path, precision: str, tolerance: float
) -> None:
    change_json(own / "config.json", hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    torch.compiler.reset()
    eager, found = losses(own, precision, "off"), losses(own, precision, "on")
    assert found == pytest.approx(eager, rel=tolerance, abs=tolerance)
    assert max(eager) - min(eager) > 10 * tolerance  # they are not all alike


@pytest.mark.verify
def test_gradient_caching_draws_the_same_dropout_twice(tiny_bert: Path) -> None:
    network = tiny_network(tiny_bert)
    settings = train_settings(compile="on", chunk_size=3)
    step = Step(network, OBJECTIVES["vicreg_modified"](), settings, ALONE)
    program, seen = network.embed, []

    def watched(ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        embeddings = program(ids, mask)
        seen.append(embeddings.detach().clone())
        return embeddings

    network.embed = watched
    ids = tokens(np.random.default_rng(1))
    step(ids, torch.ones_like(ids), 1.0)
    first, second = seen[:3], seen[3:]
    torch.testing.assert_close(first, second, rtol=0, atol=0)
    assert not torch.equal(torch.cat(first)[:8], torch.cat(first)[8:])  # two views, two masks
