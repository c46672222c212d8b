"""Two processes train as one does with the joined batch; what one alone must do, only one does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from pipeline.machine.errors import InputError, OtherProcessError
from pipeline.training.processes import ALONE, Processes, joining, said_once
from tests.training.stub import CASES, Left, take_steps
from tests.training.torchrun import torchrun


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> list[dict[Any, Left]]:
    """What each of two processes has after five steps of every case."""
    file = tmp_path_factory.mktemp("two") / "left.pt"
    done = torchrun("-m", "tests.training.stub", str(file))
    assert done.returncode == 0, done.stderr
    everyone: list[dict[Any, Left]] = torch.load(file, weights_only=True)
    return everyone


class TestTwo:
    @pytest.mark.parametrize(("name", "chunk"), CASES)
    def test_gradients_and_weights_are_those_of_one_process_with_the_joined_batch(
        self, two: list[dict[Any, Left]], name: str, chunk: int | None
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


def test_more_processes_than_gpus_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    monkeypatch.setenv("LOCAL_RANK", "2")
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    with (
        pytest.raises(InputError, match=r"process 2 .* no GPU of its own.*--nproc-per-node 2"),
        joining("auto"),
    ):
        pass


def test_what_all_processes_of_a_machine_meet_the_first_one_says_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("time.sleep", waits.append)
    for local_rank in (0, 1):
        monkeypatch.setenv("LOCAL_RANK", str(local_rank))
        # Whom nobody has ended while it waited has met the error alone, and says it.
        with pytest.raises(InputError, match="no such file"), said_once():
            raise InputError("no such file")
        assert len(waits) == local_rank


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
    assert Processes(5, 8, local_rank=1).device_name("auto") == "cuda:1"
    assert Processes(5, 8, local_rank=1).device_name("cpu") == "cpu"
    assert ALONE.device_name("auto") == "auto"


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
