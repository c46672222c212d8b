"""Whether torch finds a GPU; it is asked only where there is a driver."""

import ctypes

import pytest
import torch

from serve import installed
from serve.installed import has_cuda


@pytest.mark.parametrize(
    ("missing", "found", "expected"),
    [(None, True, True), (None, False, False), ("driver", True, False), ("torch", True, False)],
    ids=["a GPU", "a build of torch for CPUs", "no driver", "no torch"],
)
def test_there_is_a_gpu_where_a_driver_and_torch_find_one(
    monkeypatch: pytest.MonkeyPatch, missing: str | None, found: bool, expected: bool
) -> None:
    def driver(name: str) -> None:
        if missing == "driver":
            raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(ctypes, "CDLL", driver)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found)
    if missing == "torch":
        monkeypatch.setattr(installed, "find_spec", lambda _: None)
    assert has_cuda.__wrapped__() == expected
