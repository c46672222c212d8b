"""8 bits: asked for, never chosen, and honest about what they cost."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.stats import spearmanr

from pipeline.senteval.graded_pairs import read_dev
from serve.encoders.backends import AUTOMATIC, BACKENDS, INT8_AGREEMENT, choose
from serve.encoders.exported import Exported, ExportError, cosines, pad
from serve.encoders.int8 import quantise
from tests.tiny import SAMPLE, contents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.serve.conftest import Tiny

PAIRS = 60


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first pairs of the sample."""
    folder = tmp_path_factory.mktemp("data")
    place = Path("STS") / "STSBenchmark"
    (folder / place).mkdir(parents=True)
    lines = (SAMPLE / place / "sts-dev.csv").read_text(encoding="utf-8").split("\n")
    (folder / place / "sts-dev.csv").write_text("\n".join(lines[:PAIRS]) + "\n", encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def quantised(bert: Tiny, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Exported:
    folder = tmp_path_factory.mktemp("int8") / "export"
    exported = Exported.load(Path(shutil.copytree(bert.exported.folder, folder)))
    logging.disable(logging.WARNING)  # onnxruntime advises steps that change nothing here
    quantise(exported, data)
    logging.disable(logging.NOTSET)
    return exported


def spearman(exported: Exported, bert: Tiny, name: str, data: Path) -> float:
    pairs = read_dev(data)
    embed, _ = BACKENDS[name](exported, bert.folder, 1)

    def embeddings(texts: Sequence[str]) -> np.ndarray:
        rows = map(exported.tokenizer().cut, exported.tokenizer().encode(texts))
        return np.concatenate([embed(*pad([row], 0)) for row in rows])

    cosine = cosines(embeddings(pairs.first), embeddings(pairs.second))
    return 100 * float(spearmanr(cosine, pairs.gold).statistic)


def test_the_loss_that_is_written_is_that_of_the_graphs(
    quantised: Exported, bert: Tiny, data: Path
) -> None:
    report = json.loads((quantised.folder / "int8.json").read_text(encoding="utf-8"))
    assert (report["data"], report["pairs"]) == (str(data), PAIRS)
    whole, short = (report[f"spearman_{name}"] for name in ("f32", "int8"))
    assert report["loss"] == pytest.approx(whole - short, abs=2e-4)
    assert whole == pytest.approx(spearman(quantised, bert, "onnxruntime-f32", data), abs=1e-2)


def test_the_weights_are_smaller(quantised: Exported) -> None:
    whole, short = (
        (quantised.folder / name).stat().st_size for name in ("graph.onnx", "graph.int8.onnx")
    )
    assert short < whole


def test_it_is_taken_where_it_is_asked_for(quantised: Exported, bert: Tiny) -> None:
    backend = choose(quantised, bert.folder, "onnxruntime-int8", 1)
    assert backend.name == "onnxruntime-int8"
    assert INT8_AGREEMENT <= backend.agreement < 1


def test_it_is_not_chosen_even_where_nothing_else_can_be(
    quantised: Exported, bert: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in AUTOMATIC:
        monkeypatch.delitem(BACKENDS, name)
    with pytest.raises(ExportError) as caught:
        choose(quantised, bert.folder, "auto", 1)
    assert "onnxruntime-int8" not in str(caught.value)


def test_it_is_refused_where_it_is_not_there(bert: Tiny) -> None:
    with pytest.raises(ExportError, match="onnxruntime-int8: "):
        choose(bert.exported, bert.folder, "onnxruntime-int8", 1)


def test_a_second_time_nothing_is_written(quantised: Exported, data: Path) -> None:
    before = contents(quantised.folder)
    quantise(quantised, data)
    assert contents(quantised.folder) == before
