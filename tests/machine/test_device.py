"""Device and precision: what is not there is refused."""

import pytest
import torch

from pipeline.machine.device import autocast_dtype, describe, resolve
from pipeline.machine.errors import InputError

CPU = torch.device("cpu")


def test_auto_finds_a_device_that_computes() -> None:
    assert torch.ones(2, device=resolve("auto")).sum() == 2


@pytest.mark.parametrize(
    "name",
    ["gpu", "", "cuda:999", "cpu:x", "mps:7", "meta", "hpu", "cpu:7", "auto:0", "cuda:-1", "cuda:"],
)
def test_a_device_that_is_not_there_is_refused(name: str) -> None:
    with pytest.raises(
        InputError, match=rf"device: '{name}' cannot be used here .*; give auto, .* as --device or"
    ):
        resolve(name)


@pytest.mark.parametrize(
    ("precision", "native", "expected"),
    [
        ("fp32", True, None),
        ("bf16", False, torch.bfloat16),
        ("auto", True, torch.bfloat16),
        ("auto", False, None),
    ],
)
def test_auto_takes_bf16_where_the_hardware_has_it(
    monkeypatch: pytest.MonkeyPatch, precision: str, native: bool, expected: torch.dtype | None
) -> None:
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: native)
    assert autocast_dtype(precision, CPU) == expected


def test_hardware_is_named_in_words() -> None:
    assert describe(CPU).startswith("cpu, ")
