"""Two processes train as one does with the joined batch; what one alone must do, only one does."""

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
import torch

from pipeline.machine.errors import InputError, OtherProcessError
from pipeline.training.processes import ALONE, Processes, joining
from tests.training.stub import CASES, Left, take_steps, torchrun


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Left]]:
    """What each of two processes has after five steps of every case."""
    file = tmp_path_factory.mktemp("two") / "left.pt"
    done = torchrun("-m", "tests.training.stub", str(file))
    assert done.returncode == 0, done.stderr
    everyone: list[dict[Any, Left]] = torch.load(file, weights_only=True)
    return everyone


@pytest.mark.parametrize(("name", "chunk"), CASES)
def test_gradients_and_weights_are_those_of_one_process_with_the_joined_batch(
    two: list[dict[Any, Left]], name: str, chunk: int | None
) -> None:
    expected = take_steps(name, None)
    for left in two:
        torch.testing.assert_close(left[name, chunk], expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("count", [1, 2, 4])
def test_shares_are_the_batch_in_order(count: int) -> None:
    shares = [Processes(rank, count).share(np.arange(8)) for rank in range(count)]
    assert np.concatenate(shares).tolist() == list(range(8))
    assert {len(share) for share in shares} == {8 // count}


def test_a_batch_that_cannot_be_shared_out_evenly_is_refused() -> None:
    Processes(0, 4).check(64)
    with pytest.raises(InputError, match=r"multiple of the 3 processes .* got 64\."):
        Processes(0, 3).check(64)


@pytest.mark.parametrize(
    ("rank", "sentences", "kind"),
    [
        (0, ["same", "same"], InputError),
        (1, ["same", "same"], OtherProcessError),
        (1, [None, "own"], InputError),
        (0, [None, "own"], OtherProcessError),
        (1, ["one", "another"], InputError),
    ],
)
def test_of_those_that_fail_alike_the_first_one_says_so(
    monkeypatch: pytest.MonkeyPatch, rank: int, sentences: list[str | None], kind: type[Exception]
) -> None:
    monkeypatch.setattr(Processes, "collected", lambda *_: sentences)

    def work() -> int:
        own = sentences[rank]
        if own is not None:
            raise InputError(own)
        return 7

    with pytest.raises(kind):
        Processes(rank, 2).alike(work)


def test_each_of_several_takes_its_own_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    monkeypatch.setattr("torch.cuda.set_device", lambda _: None)
    monkeypatch.setattr("pipeline.training.processes.resolve", lambda name: name)
    assert str(Processes(5, 8, local_rank=1).device("auto")) == "cuda:1"
    assert str(Processes(5, 8, local_rank=1).device("cpu")) == "cpu"
    assert str(ALONE.device("auto")) == "auto"
    with pytest.raises(InputError, match=r"process 2 .* no GPU of its own.*--nproc-per-node 2"):
        Processes(2, 3, local_rank=2).device("auto")


@pytest.mark.parametrize(("gpus", "bound"), [(0, None), (1, None), (2, "cuda:1"), (8, "cuda:1")])
def test_joining_exchanges_with_a_short_timeout_and_waits_with_a_long_one(
    monkeypatch: pytest.MonkeyPatch, gpus: int, bound: str | None
) -> None:
    """NCCL is told each process's GPU, unless one of them lacks its own."""
    group, control, left = start(monkeypatch, gpus)
    with joining() as processes:
        assert (processes.rank, processes.count, processes.local_rank) == (1, 2, 1)
    assert group["backend"] == ("cpu:gloo,cuda:nccl" if gpus else "gloo")
    assert str(group["device_id"]) == str(bound)
    assert group["timeout"] == timedelta(minutes=10)
    assert control == {"backend": "gloo", "timeout": timedelta(days=2)}
    assert left == [True]


def test_a_process_that_fails_leaves_without_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    *_, left = start(monkeypatch, gpus=2)
    with pytest.raises(InputError), joining():
        raise InputError("no")
    assert left == []


def start(
    monkeypatch: pytest.MonkeyPatch, gpus: int
) -> tuple[dict[str, Any], dict[str, Any], list[bool]]:
    """As the second of two processes on a machine with so many GPUs.

    What the two groups are made with comes into the mappings, and the list tells if they were left.
    """
    group: dict[str, Any] = {}
    control: dict[str, Any] = {}
    left: list[bool] = []
    for name, value in {"WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2, "LOCAL_RANK": 1}.items():
        monkeypatch.setenv(name, str(value))
    monkeypatch.setattr("torch.cuda.is_available", lambda: gpus > 0)
    monkeypatch.setattr("torch.cuda.device_count", lambda: gpus)
    initialize = "torch.distributed.init_process_group"
    monkeypatch.setattr(initialize, lambda backend, **more: group.update(backend=backend, **more))
    monkeypatch.setattr("torch.distributed.new_group", lambda **more: control.update(more))
    monkeypatch.setattr("torch.distributed.get_rank", lambda: 1)
    monkeypatch.setattr("torch.distributed.destroy_process_group", lambda: left.append(True))
    return group, control, left


def test_several_draw_apart_and_one_goes_on() -> None:
    drawn = []
    for rank in range(3):
        torch.manual_seed(0)
        Processes(rank, 3).draw_apart(seed=5)
        drawn.append(torch.rand(4))
    assert len({tuple(numbers.tolist()) for numbers in drawn}) == 3
    torch.manual_seed(0)
    expected = torch.rand(4)
    torch.manual_seed(0)
    ALONE.draw_apart(seed=5)
    assert torch.equal(torch.rand(4), expected)
