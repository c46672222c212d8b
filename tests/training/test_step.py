"""A step trains, and nothing in it or in what is kept of it waits for the device."""

from __future__ import annotations

import pytest
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.training.monitor import Monitor
from pipeline.training.processes import ALONE
from pipeline.training.step import Step
from tests.training.stub import CASES, SENTENCES, WIDTH, Stub, batch, train_settings
from tests.training.waiting import WaitedError, nothing_waits

CPU = torch.device("cpu")


@pytest.mark.parametrize(("name", "chunk"), CASES)
def test_nothing_waits_for_the_device(name: str, chunk: int | None) -> None:
    objective, settings = OBJECTIVES[name](), train_settings(chunk_size=chunk)
    step = Step(Stub(), objective, settings, ALONE)  # type: ignore[arg-type]
    monitor = Monitor(objective, settings, 4, CPU)
    batches = [batch(number, ALONE) for number in range(4)]
    with nothing_waits():
        for number, (ids, mask) in enumerate(batches):
            monitor.see(number + 1, step(ids, mask, left=0.5))


@pytest.mark.parametrize(
    "waits",
    [
        lambda x: float(x.sum()),
        lambda x: x[x > 0],
        lambda x: x.nonzero(),
        lambda x: bool(x.isfinite().all()),
        lambda x: OBJECTIVES["info_nce"]()(x, x),
    ],
)
def test_what_waits_would_be_found(waits: object) -> None:
    with pytest.raises(WaitedError), nothing_waits():
        waits(torch.ones(3, 2))  # type: ignore[operator]


def test_the_outcome_is_what_the_objective_saw() -> None:
    objective = OBJECTIVES["info_nce"]()
    network = Stub()
    step = Step(network, objective, train_settings(), ALONE)  # type: ignore[arg-type]
    ids, mask = batch(0, ALONE)
    with torch.no_grad():
        anchor, positive = network(ids, mask).chunk(2)
        loss = objective(anchor, positive)
    outcome = step(ids, mask, left=1.0)
    assert outcome.anchor.shape == (SENTENCES, WIDTH)
    torch.testing.assert_close(tuple(outcome), (anchor, positive, loss))
    assert not any(tensor.requires_grad for tensor in outcome)


def test_no_learning_rate_left_moves_nothing() -> None:
    network = Stub()
    before = [parameter.clone() for parameter in network.parameters()]
    step = Step(network, OBJECTIVES["vicreg"](), train_settings(), ALONE)  # type: ignore[arg-type]
    step(*batch(0, ALONE), left=0.0)
    torch.testing.assert_close(list(network.parameters()), before, rtol=0, atol=0)
    step(*batch(0, ALONE), left=1.0)
    assert not torch.equal(network.layer.weight, before[1])


def test_what_is_frozen_is_left_out() -> None:
    network = Stub()
    network.words.requires_grad_(requires_grad=False)
    step = Step(network, OBJECTIVES["vicreg"](), train_settings(), ALONE)  # type: ignore[arg-type]
    (group,) = step.optimiser.param_groups
    assert len(group["params"]) == len(list(network.parameters())) - 1
