"""Backends: each gives the encoder's own embeddings, and one that does not is never used."""

from __future__ import annotations

import logging
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import openvino
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.encoder.vectors import Embeddings, Ids, pad
from serve import installed
from serve.encoders.backends import AGREEMENT, BACKENDS, choose, self_test
from serve.encoders.exported import Embed, Exported, ExportError
from serve.encoders.reference_texts import TEXTS
from serve.encoders.torch_backend import open_torch
from tests.serve.served import PROPERTY
from tests.tiny import corpus

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from serve.encoders.backends import Opener
    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # float32, other order of sums
CPU, CUDA = BACKENDS["cpu"], BACKENDS["cuda"]
NAMES = ["openvino-f32", "onnxruntime-f32", "torch-f32"]
pieces = st.sampled_from([*corpus()[:30], *TEXTS])
batches = st.lists(st.text(max_size=30) | pieces, min_size=1, max_size=6)


@cache
def opened(name: str, folder: Path, encoder: Path) -> tuple[Embed, Embed]:
    return CPU[name](Exported.load(folder), encoder, 2)


def embed(tiny: Tiny, name: str, texts: Sequence[str], *, alone: bool = False) -> Embeddings:
    """In one batch."""
    tokenizer = tiny.served.tokenizer
    rows = [tokenizer.cut(row) for row in tokenizer.encode(texts)]
    padding_id = tiny.exported.description.padding_id
    each, wide = opened(name, tiny.exported.folder, tiny.folder)
    return (wide if alone else each)(*pad(rows, padding_id))


@pytest.mark.parametrize("name", NAMES)
@PROPERTY
@given(texts=batches)
@example(texts=[*TEXTS, ""])
@example(texts=[""])
def test_embeddings_are_the_encoders_own_whatever_the_batch_is(
    each: Tiny, name: str, texts: list[str]
) -> None:
    alone = np.concatenate([each.reference.encode([text]) for text in texts])
    assert np.abs(embed(each, name, texts) - alone).max() < CLOSE
    assert np.abs(embed(each, name, texts, alone=True) - alone).max() < CLOSE
    assert np.abs(embed(each, name, texts[::-1])[::-1] - alone).max() < CLOSE


@pytest.mark.parametrize("name", NAMES)
def test_more_threads_than_were_announced_get_right_embeddings(bert: Tiny, name: str) -> None:
    texts = corpus()[:8]
    alone = [embed(bert, name, [text]) for text in texts]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda text: embed(bert, name, [text]), texts * 4))
    for place, one in enumerate(found):
        assert np.abs(one - alone[place % len(texts)]).max() < CLOSE


@pytest.mark.parametrize("name", NAMES)
def test_a_result_is_not_overwritten_by_the_next_call(bert: Tiny, name: str) -> None:
    first = embed(bert, name, corpus()[:2])
    kept = first.copy()
    embed(bert, name, corpus()[2:4])
    assert np.array_equal(first, kept)


def test_bfloat16_is_taken_where_the_cpu_has_it_and_agrees(bert: Tiny) -> None:
    capabilities = openvino.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    if "BF16" in capabilities:
        backend = choose(bert.exported, bert.folder, "openvino-bf16", 1)
        assert backend.agreement >= AGREEMENT
    else:
        with pytest.raises(ExportError, match="this CPU has no bfloat16 arithmetic"):
            choose(bert.exported, bert.folder, "openvino-bf16", 1)


def computing(change: Callable[[Embeddings], Embeddings]) -> Opener:
    """A backend that gives the reference vectors, changed."""

    def opened(exported: Exported, _: Path, __: int) -> tuple[Embed, Embed]:
        def embed(ids: Ids, mask: Ids) -> Embeddings:
            return change(exported.reference_vectors.embeddings)

        return embed, embed

    return opened


def failing(error: Exception) -> Opener:
    def fail(_: Embeddings) -> Embeddings:
        raise error

    return computing(fail)


def wrong_alone(exported: Exported, encoder: Path, threads: int) -> tuple[Embed, Embed]:
    return right(exported, encoder, threads)[0], wrong(exported, encoder, threads)[1]


right = computing(lambda rows: rows)
wrong = computing(lambda rows: rows + np.float32(0.1 * np.abs(rows).max()))
UNUSABLE: dict[str, tuple[Opener, str]] = {
    "other embeddings": (wrong, r"cosine 0\.9\d+ to torch in float32"),
    "other embeddings alone": (wrong_alone, r"cosine 0\.9\d+ to torch in float32"),
    "no numbers": (
        computing(lambda rows: rows * np.float32(np.nan)),
        r"gives \(12, 32\) numbers, not all finite",
    ),
    "short ones": (computing(lambda rows: rows[:, :-1]), r"gives \(12, 31\) numbers"),
    "not installed": (failing(ModuleNotFoundError("No module named x")), "No module named x"),
    "a fault of two lines": (
        failing(RuntimeError("no kernel.\nAt: somewhere")),
        r"no kernel(?!\.)",
    ),
    "a fault without words": (failing(ValueError()), "ValueError"),
}


@pytest.mark.parametrize(("opener", "reason"), UNUSABLE.values(), ids=UNUSABLE)
def test_a_backend_that_cannot_be_used_is_passed_over_with_its_reason(
    bert: Tiny,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    opener: Opener,
    reason: str,
) -> None:
    monkeypatch.setitem(CPU, "openvino-bf16", opener)
    monkeypatch.setitem(CPU, "onnxruntime-f32", right)
    with caplog.at_level(logging.INFO, "serve.encoders.backends"):
        assert choose(bert.exported, bert.folder, "auto", 1).name == "onnxruntime-f32"
    assert re.search(rf": not openvino-bf16: {reason}", caplog.text)
    with pytest.raises(ExportError, match=rf"\(openvino-bf16: {reason}"):
        choose(bert.exported, bert.folder, "openvino-bf16", 1)


def test_the_first_backend_that_agrees_is_taken(
    bert: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in CPU:
        monkeypatch.setitem(CPU, name, right)
    for name in CPU:
        assert choose(bert.exported, bert.folder, "auto", 1).name == name
        monkeypatch.setitem(CPU, name, wrong)
    with pytest.raises(ExportError) as caught:
        choose(bert.exported, bert.folder, "auto", 1)
    assert all(f"{name}: cosine" in str(caught.value) for name in CPU)
    assert str(caught.value).endswith(f"delete {bert.exported.folder}.")


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if there were one, on which torch computes right."""
    monkeypatch.setattr("serve.encoders.backends.has_cuda", lambda: True)
    for name in CUDA:
        monkeypatch.setitem(CUDA, name, right)


@pytest.mark.usefixtures("gpu")
def test_a_gpu_goes_first_in_the_shortest_precision_that_agrees(
    bert: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CPU, "openvino-bf16", right)
    for name in CUDA:
        assert choose(bert.exported, bert.folder, "auto", 1, "auto").name == f"{name}-cuda"
        assert choose(bert.exported, bert.folder, name, 1, "cuda").name == f"{name}-cuda"
        monkeypatch.setitem(CUDA, name, wrong)
    assert choose(bert.exported, bert.folder, "auto", 1, "auto").name == "openvino-bf16"
    with pytest.raises(
        ExportError, match=r"\(torch-f16-cuda: cosine 0\.9\d+ to torch in float32; "
    ):
        choose(bert.exported, bert.folder, "auto", 1, "cuda")


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("wanted", "device", "taken"),
    [
        ("auto", "cpu", "openvino-bf16"),
        ("onnxruntime-f32", "auto", "onnxruntime-f32"),
        ("torch-f32", "auto", "torch-f32-cuda"),
        ("torch-f32", "cpu", "torch-f32"),
    ],
)
def test_a_gpu_is_left_alone_where_settings_say_so(
    bert: Tiny, monkeypatch: pytest.MonkeyPatch, wanted: str, device: str, taken: str
) -> None:
    for name in CPU:
        monkeypatch.setitem(CPU, name, right)
    assert choose(bert.exported, bert.folder, wanted, 1, device).name == taken


@pytest.mark.parametrize("device", ["auto", "cpu"])
def test_half_precision_in_torch_needs_a_gpu(
    bert: Tiny, monkeypatch: pytest.MonkeyPatch, device: str
) -> None:
    monkeypatch.setattr("serve.encoders.backends.has_cuda", lambda: False)
    with pytest.raises(ExportError, match=f"torch-f16 computes on NVIDIA .*{device} leaves none"):
        choose(bert.exported, bert.folder, "torch-f16", 1, device)


@pytest.mark.parametrize("precision", ["f16", "bf16"])
def test_torch_agrees_in_half_precision(each: Tiny, precision: str) -> None:
    """On the CPU, since the arithmetic is what is short."""
    embed = open_torch(each.folder, precision, "cpu")
    assert AGREEMENT <= self_test(each.exported, embed) < 1


def test_torch_is_no_backend_where_it_is_not_installed(
    bert: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installed, "find_spec", lambda _: None)
    with pytest.raises(ExportError, match="torch-f32: torch is not installed"):
        choose(bert.exported, bert.folder, "torch-f32", 1)


# numpy leaves a damaged file to the garbage collector.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", ["openvino-f32", "onnxruntime-f32"])
@pytest.mark.parametrize("file", ["graph.onnx", "reference.npz"])
@pytest.mark.parametrize("kept", [0, 500, None], ids=["empty", "cut short", "gone"])
def test_a_damaged_export_is_refused(
    bert: Tiny, tmp_path: Path, name: str, file: str, kept: int | None
) -> None:
    copy = Exported.load(shutil.copytree(bert.exported.folder, tmp_path / "copy"))
    damaged = copy.folder / file
    content = damaged.read_bytes()
    damaged.unlink() if kept is None else damaged.write_bytes(content[:kept])
    with pytest.raises(ExportError, match=rf"\({name}: .*if its export is damaged, delete .*copy"):
        choose(copy, bert.folder, name, 1)
