"""GET /v1/models, their training curves, /v1/results: what is told about encoders."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.fakes import Fake, served
from tests.serve.served import Api, refusal, serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    from tests.serve.conftest import Tiny

RECORD = {
    "objective": "vicreg_modified",
    "hyperparameters": {"margin": 0.3},
    "seed": 42,
    "backbone": {"source": "bert-mini"},
    "data": {"hash": "abc", "sentences": 300},
    "training": {"steps": 6},
    "hardware": "cpu, 2 threads",
    "steps": 6,
    "kept": {"step": 6},
    "best": {"step": 4},
    "curve": [{"step": 2, "loss": 0.5}, {"step": 4, "loss": 0.25}],
}
MEASURED = {
    "version": "",
    "sts": {"STS-B": {"spearman": 62.5, "pairs": 300}},
    "average": 62.5,
    "average_label": "avg of 1: STS-B",
    "data": "sample",
    "cosine_quantiles": [0.1, 0.9],
}


class Site:
    """One encoder that Triad trained, two that it did not, and folders for what is told."""

    def __init__(self, root: Path, bert: Tiny) -> None:
        folder = root / "trained"  # which is gone: what is loaded is told
        self.trained = replace(bert.served, id="trained-42", folder=folder, record=RECORD)
        self.others = [replace(bert.served, id="foreign"), served(Fake())]
        self.metrics, self.results = root / "metrics", root / "results.json"

    def measure(self, name: str, **changes: Any) -> None:
        file = self.metrics / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(MEASURED | changes), encoding="utf-8")

    def serving(self) -> AbstractContextManager[Api]:
        metrics, results = str(self.metrics), str(self.results)
        return serving(self.trained, *self.others, metrics=metrics, results=results)


@pytest.fixture
def site(tmp_path: Path, bert: Tiny) -> Site:
    return Site(tmp_path, bert)


@pytest.fixture
def told(site: Site) -> Iterator[Api]:
    with site.serving() as api:
        yield api


def card(api: Api, name: str = "trained-42") -> dict[str, Any]:
    response = api.get(f"/v1/models/{name}")
    assert response.status_code == 200, response.text
    content: dict[str, Any] = response.json()
    return content


def test_all_encoders_are_listed_with_their_cards(told: Api) -> None:
    content = told.get("/v1/models").json()
    assert content["object"] == "list"
    assert [one["id"] for one in content["data"]] == ["trained-42", "foreign", "fake"]
    assert content["data"] == [card(told, one["id"]) for one in content["data"]]


def test_a_card_is_openais_model_object_and_tells_how_it_was_trained_and_how_it_computes(
    told: Api, bert: Tiny
) -> None:
    content = card(told)
    assert content.pop("agreement") == pytest.approx(1, abs=1e-5)
    assert {name: value for name, value in content.items() if value is not None} == {
        "id": "trained-42",
        "object": "model",
        "owned_by": "triad",
        "created": bert.served.created,
        "version": bert.served.version,
        "backend": "onnxruntime-f32",
        "dimension": 32,
        "dimensions": [8, 16, 32],
        "max_length": 64,
        "pooling": "mean",
        "normalized": False,
        "prompts": {},
        "objective": "vicreg_modified",
        "seed": 42,
        "hyperparameters": {"margin": 0.3},
        "backbone": {"source": "bert-mini"},
        "training_data": {"hash": "abc", "sentences": 300},
    }


@pytest.mark.parametrize("name", ["foreign", "fake"])
def test_of_an_encoder_that_triad_did_not_train_nothing_is_made_up(told: Api, name: str) -> None:
    content = card(told, name)
    of_training = ("objective", "hyperparameters", "seed", "backbone", "training_data")
    assert all(content[key] is None for key in (*of_training, "sts", "sts_average"))
    error = refusal(told.get(f"/v1/models/{name}/training"), 404)
    assert (error["code"], error["param"]) == ("no_training_record", "model")
    assert error["message"].startswith(f"model: '{name}' has no training record")


@pytest.mark.parametrize("name", ["any/where.json", "../trained.json"], ids=["among", "beside"])
def test_metrics_among_the_pipelines_or_beside_the_folder_are_joined_by_version_alone(
    site: Site, told: Api, name: str
) -> None:
    site.measure(name, version="another", encoder="trained-42", average=10.0)
    assert card(told)["sts"] is None
    site.measure(name, version=site.trained.version)
    content = card(told)
    assert (content["sts"], content["sts_average"]) == ({"STS-B": 62.5}, 62.5)
    assert content["sts_average_label"] == "avg of 1: STS-B"
    assert content["sts_data"] == "sample"
    assert content["cosine_quantiles"] == [0.1, 0.9]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b'{"version": 3}'])
def test_damaged_metrics_are_passed_over(site: Site, told: Api, content: bytes) -> None:
    site.measure("b.json", version=site.trained.version)
    (site.metrics / "a.json").write_bytes(content)
    assert card(told)["sts_average"] == 62.5


@pytest.mark.parametrize(
    ("name", "hint"),
    [("trained-43", "did you mean 'trained-42'? "), ("nothing-like-it", "")],
)
@pytest.mark.parametrize("path", ["/v1/models/{}", "/v1/models/{}/training"])
def test_an_unknown_encoder_is_told_with_the_nearest(
    told: Api, path: str, name: str, hint: str
) -> None:
    error = refusal(told.get(path.format(name)), 404)
    assert (error["code"], error["param"]) == ("model_not_found", "model")
    assert error["message"] == (
        f"model: no encoder {name!r} is served; {hint}GET /v1/models lists them."
    )


def test_the_training_curve_is_given_with_its_settings(told: Api, bert: Tiny) -> None:
    assert told.get("/v1/models/trained-42/training").json() == {
        "object": "training",
        "model": "trained-42",
        "version": bert.served.version,
        **{key: value for key, value in RECORD.items() if key not in ("backbone", "data")},
    }


def test_results_are_the_pipelines_as_they_are_now(site: Site, told: Api) -> None:
    error = refusal(told.get("/v1/results"), 404)
    assert (error["code"], error["param"]) == ("no_results", None)
    assert "`make repro` makes it" in error["message"]
    site.results.write_text('{"objectives": {"mpt": {}}, "mean": NaN}', encoding="utf-8")
    assert told.get("/v1/results").json() == {
        "object": "results",
        "objectives": {"mpt": {}},
        "mean": None,  # JSON knows no NaN
    }
