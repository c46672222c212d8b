"""Checkpoints: whole or not there, of this run or not used, damaged ones said so."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import nn

from pipeline.machine.device import random_state
from pipeline.machine.errors import InputError, WriteError
from pipeline.training.checkpoint import Checkpoints, Progress, resume, run_key
from tests.tiny import contents

if TYPE_CHECKING:
    from pathlib import Path

    from torch.optim import Optimizer

CPU = torch.device("cpu")
Run = tuple[nn.Module, "Optimizer"]


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


def saved(folder: Path) -> Checkpoints:
    checkpoints = Checkpoints(folder, "a key")
    network, optimizer = start()
    go_on(network, optimizer, 1)
    progress = Progress(step=1)
    progress.add(row(1, 50.0))
    checkpoints.save_best(network)
    checkpoints.save(progress, network, optimizer, [random_state(CPU)])
    return checkpoints


def test_the_first_of_equal_scores_is_the_best() -> None:
    progress = Progress()
    kept = []
    for step, score in enumerate([40.0, 60.0, 60.0, 50.0, 61.0], 1):
        progress.step = step
        kept.append(progress.add(row(step, score)))
    assert kept == [True, True, False, False, True]
    assert (progress.best_step, progress.best_score, len(progress.rows)) == (5, 61.0, 5)


@pytest.mark.parametrize("other", ["missing", "of another run"])
def test_a_last_state_without_its_best_is_not_used(tmp_path: Path, other: str) -> None:
    checkpoints = saved(tmp_path)
    (tmp_path / "best.pt").unlink()
    if other == "of another run":
        Checkpoints(tmp_path, "another key").save_best(start()[0])
    assert resume(checkpoints.last(), *start(), rank=0) == Progress()
    with pytest.raises(InputError, match=r"best\.pt: gone or of another run"):
        checkpoints.load_best(start()[0])


@pytest.mark.parametrize("name", ["last.pt", "best.pt"])
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(share=st.floats(0, 0.99), rest=st.sampled_from([b"", bytes(100)]))
def test_a_torn_file_is_named_with_what_to_delete(
    tmp_path: Path, name: str, share: float, rest: bytes
) -> None:
    content = whole(tmp_path, name)
    (tmp_path / name).write_bytes(content[: int(share * len(content))] + rest)
    refuses(tmp_path, name)


@pytest.mark.parametrize("name", ["last.pt", "best.pt"])
def test_what_is_no_checkpoint_is_named_with_what_to_delete(tmp_path: Path, name: str) -> None:
    content = whole(tmp_path, name)
    middle = len(content) // 2
    zeroed = content[:middle] + bytes(200) + content[middle + 200 :]  # as after a power failure
    for other in (b"", b"text", zeroed):
        (tmp_path / name).write_bytes(other)
        refuses(tmp_path, name)
    torch.save([1, 2], tmp_path / name)
    refuses(tmp_path, name)


def whole(folder: Path, name: str) -> bytes:
    """A whole checkpoint's bytes."""
    saved(folder)
    return (folder / name).read_bytes()


def refuses(folder: Path, name: str) -> None:
    sentence = rf"{name}: damaged \(\w+\); delete {folder} to start the run anew"
    with pytest.raises(InputError, match=sentence):
        Checkpoints(folder, "a key").last()


def test_removing_leaves_what_others_put_there(tmp_path: Path) -> None:
    checkpoints = saved(tmp_path)
    for name in ("thesis.txt", ".last.pt.7.unfinished", "other.unfinished"):
        (tmp_path / name).touch()
    (tmp_path / "folder").mkdir()
    checkpoints.remove()
    assert {path.name for path in tmp_path.iterdir()} == {
        "thesis.txt",
        "other.unfinished",
        "folder",
    }


def test_a_full_disk_is_one_sentence_and_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = saved(tmp_path / "run")
    before = contents(tmp_path)

    def full(path: Path, content: bytes) -> None:
        path.touch()
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_bytes", full)
    with pytest.raises(WriteError, match=r"best\.pt: the disk is full \(0\.0 MB are needed\)"):
        checkpoints.save_best(start()[0])
    assert contents(tmp_path) == before


def test_a_key_depends_on_every_value_and_not_on_their_order() -> None:
    key = run_key({"a": 1, "b": {"c": 0.1}})
    assert key == run_key({"b": {"c": 0.1}, "a": 1})
    assert len({key, run_key({"a": 1, "b": {"c": 0.2}}), run_key({"a": 2, "b": {"c": 0.1}})}) == 3
