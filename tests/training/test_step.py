"""Nothing in a step or in what is kept of it waits for the device."""

import pytest
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.training.curves import Monitor
from pipeline.training.processes import ALONE
from pipeline.training.step import Step
from tests.training.stub import CASES, Stub, batch, train_settings
from tests.training.waiting import WaitedError, nothing_waits


@pytest.mark.parametrize(("name", "chunk"), CASES)
def test_nothing_waits_for_the_device(name: str, chunk: int | None) -> None:
    objective, settings = OBJECTIVES[name](), train_settings(chunk_size=chunk)
    step = Step(Stub(), objective, settings, ALONE)  # type: ignore[arg-type]
    monitor = Monitor(objective, settings, 4, torch.device("cpu"))
    batches = [batch(number, ALONE) for number in range(4)]
    with nothing_waits():
        for number, (ids, mask) in enumerate(batches):
            monitor.see(number + 1, step(ids, mask, lr_scale=0.5))


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
