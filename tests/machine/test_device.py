"""Device and precision: what is not there is refused."""

import pytest
import torch

from pipeline.machine.device import (
    Precision,
    autocast_dtype,
    describe,
    encoding_dtype,
    multiply_in,
    resolve,
    taken_precision,
)
from pipeline.machine.errors import InputError

CPU, CUDA = torch.device("cpu"), torch.device("cuda")


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


@pytest.mark.parametrize(("capability", "there"), [((9, 0), True), ((8, 0), True), ((7, 5), False)])
def test_tf32_is_taken_where_asked_for_and_there(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], *, there: bool
) -> None:
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda _: capability)
    monkeypatch.setattr("torch.cuda.get_device_name", lambda _: "a GPU")
    if there:
        assert taken_precision("tf32", CUDA) == "tf32"
        assert autocast_dtype("tf32", CUDA) is None
        return
    with pytest.raises(InputError, match=r"train.precision: tf32, but a GPU has none .*set auto"):
        taken_precision("tf32", CUDA)


def test_tf32_is_refused_on_a_cpu() -> None:
    with pytest.raises(InputError, match=r"train.precision: tf32, but cpu, .* has none"):
        taken_precision("tf32", CPU)


@pytest.mark.parametrize(
    ("precision", "device", "native", "expected"),
    [
        ("fp32", CPU, False, None),
        ("bf16", CPU, True, torch.bfloat16),
        ("fp16", CUDA, False, torch.float16),
    ],
)
def test_encoding_takes_the_precision_that_is_asked_for(
    monkeypatch: pytest.MonkeyPatch,
    precision: str,
    device: torch.device,
    expected: torch.dtype | None,
    *,
    native: bool,
) -> None:
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: native)
    assert encoding_dtype(precision, device) == expected


@pytest.mark.parametrize("precision", ["bf16", "fp16"])
def test_a_precision_that_the_device_lacks_is_refused(
    monkeypatch: pytest.MonkeyPatch, precision: str
) -> None:
    monkeypatch.setattr("torch.cpu._is_avx512_bf16_supported", lambda: False)
    with pytest.raises(InputError, match=rf"--precision: {precision}, but cpu, .* give fp32"):
        encoding_dtype(precision, CPU)


@pytest.mark.parametrize(
    ("precision", "products"), [("tf32", "tf32"), ("bf16", "ieee"), ("fp32", "ieee")]
)
def test_a_gpu_multiplies_in_full_float32_unless_tf32_is_asked_for(
    precision: Precision, products: str
) -> None:
    before = torch.backends.cuda.matmul.fp32_precision
    multiply_in(precision, CUDA)
    taken = torch.backends.cuda.matmul.fp32_precision
    torch.backends.cuda.matmul.fp32_precision = before
    assert taken == products


@pytest.mark.parametrize(("name", "current"), [("cuda:1", [1]), ("cuda", [])])
def test_a_gpu_with_a_number_becomes_the_current_one(
    monkeypatch: pytest.MonkeyPatch, name: str, current: list[int]
) -> None:
    seen: list[int] = []
    monkeypatch.setattr("torch.empty", lambda *_, **__: None)
    monkeypatch.setattr("torch.cuda.set_device", lambda device: seen.append(device.index))
    assert resolve(name) == torch.device(name)
    assert seen == current


def test_hardware_is_named_in_words() -> None:
    assert describe(CPU).startswith("cpu, ")
