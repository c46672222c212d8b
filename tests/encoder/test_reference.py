"""The encoders that come with the clone are those that were measured."""

import json
from typing import Any

import pytest
from safetensors.numpy import load_file

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from pipeline.senteval.graded_pairs import read_dev
from pipeline.training.dev import DevSet
from tests.real import REAL, needs_real_data
from tests.tiny import ROOT

FOLDER = ROOT / "encoders" / "reference"
NAMES = ("vicreg", "vicreg_modified")


def read(path: str) -> Any:
    return json.loads((FOLDER / path).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_the_measured_last_step_of_the_run_on_wikipedia_in_half_precision(name: str) -> None:
    measured, record = read(f"{name}.json"), read(f"{name}/triad.json")
    assert measured["version"] == folder_version(FOLDER / name)
    assert (measured["objective"], measured["seed"]) == (name, 42)
    assert measured["average_label"] == "avg of seven"
    assert record["kept"]["step"] == record["steps"] == 400
    assert record["curve"][0]["step"] == 0
    assert (record["data"]["sentences"], record["training"]["batch_size"]) == (1_000_000, 128)
    weights = load_file(FOLDER / name / "model.safetensors")
    assert {str(tensor.dtype) for tensor in weights.values()} == {"float16"}


@needs_real_data
@pytest.mark.parametrize(
    "name", [pytest.param("vicreg", marks=pytest.mark.verify), "vicreg_modified"]
)
def test_it_has_its_recorded_score_on_the_dev_pairs(name: str) -> None:
    encoder = SentenceEncoder.load(FOLDER / name, "cpu")
    score = DevSet(read_dev(REAL), 64).scorer(encoder)()
    recorded = read(f"{name}/triad.json")["kept"]["dev_spearman"]
    assert score == pytest.approx(recorded, abs=0.05)  # the weights were rounded


def test_the_modified_form_is_above_the_original() -> None:
    original, modified = (read(f"{name}.json")["average"] for name in NAMES)
    assert modified > original
