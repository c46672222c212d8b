"""Checkpoints: whole or not there, damaged ones said so."""

import errno
from pathlib import Path
from threading import Event

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn
from torch.optim import Optimizer

from pipeline.machine.device import random_state
from pipeline.machine.errors import InputError, WriteError
from pipeline.machine.files import write_atomically
from pipeline.training import checkpoint
from pipeline.training.checkpoint import Checkpoints, Progress
from tests.tiny import contents

RANDOM = [random_state(torch.device("cpu"))]
Run = tuple[nn.Module, Optimizer]


def start(seed: int = 0) -> Run:
    torch.manual_seed(seed)
    network = nn.Sequential(nn.Linear(3, 3), nn.Dropout(0.5), nn.Linear(3, 1))
    return network, torch.optim.AdamW(network.parameters(), lr=0.1)


def go_on(network: nn.Module, optimizer: Optimizer, steps: int) -> None:
    for _ in range(steps):
        optimizer.zero_grad()
        network(torch.randn(4, 3)).square().sum().backward()
        optimizer.step()


def row(step: int, score: float) -> dict[str, float]:
    return {"step": step, "dev_spearman": score, "loss": float("nan")}


@pytest.fixture(autouse=True)
def at_every_evaluation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.training.checkpoint.INTERVAL", 0)


def saved(folder: Path) -> Checkpoints:
    """Of a run whose best step was its first, and which took one more."""
    network, optimizer = start()
    go_on(network, optimizer, 1)
    with Checkpoints(folder, "a key") as checkpoints:
        checkpoints.keep_best(network)
        go_on(network, optimizer, 1)
        checkpoints.save(Progress(step=2), network, optimizer, RANDOM)
    return checkpoints


def test_the_first_of_equal_scores_is_the_best() -> None:
    progress = Progress()
    kept = []
    for step, score in enumerate([40.0, 60.0, 60.0, 50.0, 61.0], 1):
        progress.step = step
        kept.append(progress.add(row(step, score)))
    assert kept == [True, True, False, False, True]
    assert (progress.best_step, progress.best_score, len(progress.rows)) == (5, 61.0, 5)


def test_the_best_weights_come_back_with_the_last_state(tmp_path: Path) -> None:
    saved(tmp_path)
    best, optimizer = start()
    go_on(best, optimizer, 1)
    checkpoints, network = Checkpoints(tmp_path, "a key"), start(seed=1)[0]
    state = checkpoints.last()
    assert state is not None
    checkpoints.load_best(network)
    for name, tensor in best.state_dict().items():
        assert torch.equal(network.state_dict()[name], tensor)
        assert not torch.equal(state["network"][name], tensor)


def test_a_checkpoint_holds_the_moment_when_it_was_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Training goes on while a thread writes."""
    gate = Event()

    def slowly(path: Path, content: memoryview) -> None:
        gate.wait()
        write_atomically(path, content)

    monkeypatch.setattr(checkpoint, "write_atomically", slowly)
    network, optimizer = start()
    progress = Progress(step=1)
    progress.add(row(1, 50.0))
    go_on(network, optimizer, 1)
    before = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    with Checkpoints(tmp_path, "a key") as checkpoints:
        checkpoints.keep_best(network)
        checkpoints.save(progress, network, optimizer, RANDOM)
        go_on(network, optimizer, 2)
        progress.step = 3
        progress.add(row(3, 60.0))
        gate.set()
    state = checkpoints.last()
    assert state is not None
    assert all(torch.equal(state["network"][name], own) for name, own in before.items())
    assert (state["progress"]["step"], len(state["progress"]["rows"])) == (1, 1)
    (moments,) = {int(own["step"]) for own in state["optimizer"]["state"].values()}
    assert moments == 1


def test_there_is_none_within_a_minute_of_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "INTERVAL", 60.0)
    now = 1000.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    network, optimizer = start()
    go_on(network, optimizer, 1)
    with Checkpoints(tmp_path, "a key") as checkpoints:
        checkpoints.keep_best(network)
        for now in (1059.0, 1061.0, 1120.0, 1122.0):
            checkpoints.save(Progress(step=int(now)), network, optimizer, RANDOM)
            if now == 1059.0:
                assert checkpoints.last() is None
    state = checkpoints.last()
    assert state is not None
    assert state["progress"]["step"] == 1122


def refuses(folder: Path, content: bytes) -> None:
    (folder / "last.pt").write_bytes(content)
    sentence = rf"last\.pt: damaged \(\w+\); delete {folder} to start the run anew"
    with pytest.raises(InputError, match=sentence):
        Checkpoints(folder, "a key").last()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0, 0.99), rest=st.sampled_from([b"", bytes(100)]))
def test_a_torn_file_is_named_with_what_to_delete(
    tmp_path: Path, share: float, rest: bytes
) -> None:
    saved(tmp_path)
    content = (tmp_path / "last.pt").read_bytes()
    refuses(tmp_path, content[: int(share * len(content))] + rest)


def test_what_is_no_checkpoint_is_named_with_what_to_delete(tmp_path: Path) -> None:
    saved(tmp_path)
    content = (tmp_path / "last.pt").read_bytes()
    middle = len(content) // 2
    zeroed = content[:middle] + bytes(200) + content[middle + 200 :]  # as after a power failure
    torch.save([1, 2], tmp_path / "list.pt")
    for other in (b"", b"text", zeroed, (tmp_path / "list.pt").read_bytes()):
        refuses(tmp_path, other)


def test_removing_leaves_what_others_put_there(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path)
    for name in ("thesis.txt", ".last.pt.7.unfinished", "other.unfinished"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    checkpoints.remove()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"thesis.txt", "other.unfinished", "folder"}


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved(tmp_path / "run")
    before = contents(tmp_path)

    def full(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    network, optimizer = start()
    with Checkpoints(tmp_path / "run", "a key") as checkpoints:
        checkpoints.keep_best(network)
        checkpoints.save(Progress(step=2), network, optimizer, RANDOM)
        with pytest.raises(WriteError, match=r"last\.pt: the disk is full \(0\.0 MB are needed\)"):
            checkpoints.save(Progress(step=3), network, optimizer, RANDOM)
    assert contents(tmp_path) == before
