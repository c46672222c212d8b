"""Whether torch finds a GPU; it is asked only where there is a driver."""

import ctypes
from collections.abc import Iterator

import pytest
import torch

from serve import installed
from serve.installed import has_cuda


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    has_cuda.cache_clear()
    yield
    has_cuda.cache_clear()


def no_driver(_: str) -> None:
    raise OSError("libcuda.so.1: cannot open shared object file")


@pytest.mark.parametrize("found", [True, False])
def test_torch_is_asked_where_there_is_a_driver(
    monkeypatch: pytest.MonkeyPatch, *, found: bool
) -> None:
    """A build of torch for CPUs finds none."""
    monkeypatch.setattr(ctypes, "CDLL", lambda _: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: found)
    assert has_cuda() == found


@pytest.mark.parametrize("missing", ["driver", "torch"])
def test_without_driver_or_torch_there_is_none(
    monkeypatch: pytest.MonkeyPatch, missing: str
) -> None:
    monkeypatch.setattr(ctypes, "CDLL", no_driver if missing == "driver" else lambda _: None)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    if missing == "torch":
        monkeypatch.setattr(installed, "find_spec", lambda _: None)
    assert not has_cuda()
