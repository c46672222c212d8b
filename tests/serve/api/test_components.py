"""POST /v1/components: an objective's gradient for a batch of sentences, taken apart."""

from __future__ import annotations

import json
import re
import shutil
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from pipeline.objectives import OBJECTIVES, Objective
from pipeline.objectives.foreign import foreign
from serve.components import (
    Losses,
    choose_objective,
    dropout_views,
    list_objectives,
    take_apart,
)
from serve.errors import ApiError
from tests.objectives.conftest import make_views
from tests.serve.api.test_docs import assert_described
from tests.serve.fakes import Fake, served
from tests.serve.served import PARAMS, Api, limits, refusal, serving
from tests.tiny import change_json, corpus

if TYPE_CHECKING:
    from serve.encoders.registry import ServedEncoder
    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # as sums in float32 differ
ANCHORS, POSITIVES = corpus()[:6], corpus()[6:12]
LONG = " ".join(corpus()[:30])
PATH = "/v1/components"
GIVEN: dict[str, Any] = {"model": "bert", "anchors": ANCHORS, "positives": POSITIVES}
DROPOUT = GIVEN | {"positives": None}
NAMES = [*OBJECTIVES, *PARAMS.losses]

SIGMOID = {"loss": "pipeline.objectives.sigmoid:sigmoid_loss", "temperature": 0.1, "bias": -10.0}
LOSSES: Losses = {
    "siglip": SIGMOID,
    "siglip_repaired": SIGMOID | {"repair": {"margin": 0.4}},
    "nowhere": {"loss": "no_such_library.losses:Loss"},
}


def ask(api: Api, asked: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer, which is as the document says."""
    response = api.post(PATH, asked | more)
    assert response.status_code == 200, response.text
    assert_described(api, "post", PATH, response)
    content: dict[str, Any] = response.json()
    return content


def objective_of(name: str) -> Objective:
    """As the service has it; a loss of others needs its library."""
    if name in OBJECTIVES:
        return OBJECTIVES[name]()
    pytest.importorskip(PARAMS.losses[name]["loss"].partition(".")[0])
    return foreign(name, PARAMS.losses[name])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asked", [GIVEN, DROPOUT], ids=["given", "dropout"])
def test_the_components_are_those_of_the_pipeline(
    real: Api, name: str, asked: dict[str, Any]
) -> None:
    objective = objective_of(name)
    content = ask(real, asked, objective=name, embeddings=True)
    assert (content["object"], content["objective"]) == ("components", name)
    assert content["views"] == ("given" if asked["positives"] else "dropout")
    assert content["hyperparameters"] == objective.hyperparameters.model_dump()
    assert content["truncated"] == []
    views = content["embeddings"]
    anchor, positive = (torch.tensor(views[view]).double() for view in ("anchor", "positive"))
    for piece, expected in objective.components(anchor, positive)._asdict().items():
        largest = max(1.0, expected.abs().max().item())
        np.testing.assert_allclose(content[piece], expected, atol=CLOSE * largest)
    # Cosines belong to what the formulas speak of, which may be normalized over the batch.
    h, p = (normalize(objective.normalize(view)) for view in (anchor, positive))
    np.testing.assert_allclose(content["cosines"], h @ p.T, atol=CLOSE)
    np.testing.assert_allclose(content["own_cosines"], h @ h.T, atol=CLOSE)
    step = content["step"]
    np.testing.assert_allclose(step["positive"]["before"], (h * p).sum(dim=1), atol=CLOSE)
    hardest = step["hardest_negative"]["index"]
    assert all(0 <= j < 6 and j != i for i, j in enumerate(hardest))


@pytest.mark.parametrize("name", NAMES)
def test_no_value_of_a_hyperparameter_is_a_fault(real: Api, name: str) -> None:
    objective_of(name)
    listed = {one["id"]: one for one in real.get("/v1/objectives").json()["data"]}
    values = (0, -1, 5e-324, 1e-30, 1e30, 1e40, 1.7e308, 2**53, 10**19, 10**400, "own_view", "")
    for field in listed[name]["hyperparameters"]:
        for value in values:
            asked = GIVEN | {"objective": name, "hyperparameters": {field: value}}
            response = real.post(PATH, asked)
            assert response.status_code in {200, 400}, (field, value, response.text)
            if response.status_code == 400:
                param = refusal(response, 400)["param"]
                assert param == "hyperparameters" or name not in OBJECTIVES


@pytest.mark.parametrize("name", OBJECTIVES)
class TestTakingApart:
    def test_a_step_has_the_length_asked_for(self, name: str) -> None:
        """The moved anchor's angle to the old one is atan(length of its step)."""
        anchor, positive = make_views(seed=2)
        objective = OBJECTIVES[name]()
        gradient = objective.anchor_gradient(anchor, positive)
        length = gradient.norm(dim=1)
        step = 0.1 * length / length[length > 0].mean()
        h, p = (normalize(objective.normalize(view)) for view in (anchor, positive))
        after = torch.cosine_similarity(h - step[:, None] * normalize(gradient), p)
        told = take_apart(objective, anchor, positive, 0.1)["step"]["positive"]
        np.testing.assert_allclose(told["after"], after, atol=1e-5)
        np.testing.assert_allclose(told["before"], (h * p).sum(dim=1), atol=1e-5)

    def test_vectors_without_length_are_no_fault(self, name: str) -> None:
        anchor, positive = make_views()
        anchor[1], positive[2] = 0, 0
        told = take_apart(OBJECTIVES[name](), anchor, positive, 0.1)
        assert all(np.isfinite(told[key]).all() for key in ("cosines", "own_cosines", "weight"))
        assert np.isfinite(told["step"]["positive"]["after"]).all()


def test_embeddings_are_those_of_the_api_and_given_only_where_they_are_asked_for(real: Api) -> None:
    assert "embeddings" not in ask(real, GIVEN, objective="vicreg")
    views = ask(real, GIVEN, objective="vicreg", embeddings=True)["embeddings"]
    for view, texts in (("anchor", ANCHORS), ("positive", POSITIVES)):
        asked = {"model": "bert", "input": texts, "normalize": False}
        data = real.post("/v1/embeddings", asked).json()["data"]
        expected = [one["embedding"] for one in data]
        np.testing.assert_allclose(views[view], expected, rtol=0, atol=CLOSE)


def test_where_no_anchor_is_open_nothing_moves() -> None:
    anchor, _ = make_views()
    step = take_apart(OBJECTIVES["mpt"](margin=0.0), anchor, anchor, 1.0)["step"]
    for told in (step["positive"], step["hardest_negative"]):
        np.testing.assert_allclose(told["after"], told["before"], atol=1e-6)


def test_what_is_not_finite_is_null(real: Api) -> None:
    content = ask(real, GIVEN, objective="info_nce", hyperparameters={"temperature": 5e-324})
    assert "null" in json.dumps(content, allow_nan=False)


def test_dropout_gives_near_views_by_its_seed_and_counts_the_tokens_of_both(
    real: Api, bert: Tiny
) -> None:
    first, other, same = (ask(real, DROPOUT, objective="mpt", seed=seed) for seed in (7, 8, 7))
    assert first == same
    assert first["cosines"] != other["cosines"]
    aligned = np.diag(first["cosines"])
    assert (aligned > 0.5).all()
    assert (aligned < 1 - 1e-6).all()
    tokens = sum(map(len, bert.served.tokenizer.encode(ANCHORS)))
    assert first["usage"]["total_tokens"] == 2 * tokens


@pytest.mark.parametrize(
    ("positives", "names"),
    [(None, ["anchors[1]"]), ([LONG, "b"], ["anchors[1]", "positives[0]"])],
)
def test_cut_texts_are_named(real: Api, positives: list[str] | None, names: list[str]) -> None:
    asked = DROPOUT | {"objective": "info_nce", "anchors": ["a", LONG], "positives": positives}
    response = real.post(PATH, asked)
    assert response.json()["truncated"] == names
    assert response.headers["X-Truncated"] == str(len(names))
    error = refusal(real.post(PATH, asked | {"truncate": False}), 400)
    assert error["code"] == "context_length_exceeded"
    assert error["message"].startswith("anchors[1]: has ")


@pytest.mark.parametrize("asked", [GIVEN, DROPOUT], ids=["given", "dropout"])
@pytest.mark.parametrize(
    ("limit", "most", "status", "message"),
    [
        ("items", 5, 400, r"anchors: the request has \d+ texts, over the limit items=5; divide it"),
        (
            "tokens",
            9,
            400,
            r"anchors: the first \d+ texts have \d+ tokens, over the limit tokens=9",
        ),
        ("queue_texts", 5, 429, r"the queue is full: 0 texts wait and \d+ more would exceed the"),
    ],
)
def test_the_limits_hold_for_given_views_and_for_those_of_dropout(
    bert: Tiny, asked: dict[str, Any], limit: str, most: int, status: int, message: str
) -> None:
    with serving(bert.served, limits=limits(**{limit: most})) as api:
        error = refusal(api.post(PATH, asked | {"objective": "mpt"}), status)
    assert re.match(message, error["message"])


def test_without_torch_it_answers_501_and_the_others_go_on(
    real: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocked(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("serve.installed.find_spec", blocked)
    response = real.post(PATH, GIVEN | {"objective": "mpt"})
    error = refusal(response, 501)
    assert (error["code"], error["type"]) == ("torch_missing", "server_error")
    assert_described(real, "post", PATH, response)
    assert real.post("/v1/embeddings", {"model": "bert", "input": "a"}).status_code == 200


def test_ours_and_those_whose_library_is_installed_are_listed(real: Api) -> None:
    assert_described(real, "get", "/v1/objectives", real.get("/v1/objectives"))
    data = {one["id"]: one for one in list_objectives(LOSSES)}
    assert set(data) == {*OBJECTIVES, "siglip", "siglip_repaired"}
    assert data["mpt"]["loss"] is None
    assert data["mpt"]["hyperparameters"] == {"margin": 0.23}
    repair = {"repair.margin": 0.4, "repair.ratio": 1.5, "repair.temperature": None}
    assert data["siglip_repaired"]["loss"] == SIGMOID["loss"]
    assert data["siglip_repaired"]["hyperparameters"] == (
        {"temperature": 0.1, "bias": -10.0} | repair
    )


def trained(record: dict[str, Any] | None) -> ServedEncoder:
    """An encoder with that record."""
    return replace(served(Fake()), record=record)


def values(name: str, **changes: Any) -> dict[str, Any]:
    return OBJECTIVES[name](**changes).hyperparameters.model_dump()


def record(objective: str, **hyperparameters: Any) -> dict[str, Any]:
    return {"objective": objective, "hyperparameters": hyperparameters}


VICREG = {"margin": 0.5, "ratio": 1.25, "temperature": 0.1}
CHANGED = ("vicreg_modified", values("vicreg_modified", **VICREG | {"margin": 1.0}))
REPAIR = {"margin": 0.3, "ratio": 1.5, "temperature": None}
MINE = SIGMOID | {"bias": -7.0}
# What an encoder was trained with, what is asked for, what is changed, and what is chosen.
CHOICES: dict[str, tuple[Any, ...]] = {
    "its own": (record("mpt", margin=0.5), None, None, ("mpt", {"margin": 0.5})),
    "its own, changed": (record("vicreg_modified", **VICREG), None, {"margin": 1.0}, CHANGED),
    "its own by name": (record(CHANGED[0], **VICREG), CHANGED[0], {"margin": 1.0}, CHANGED),
    "another": (
        record("mpt", margin=0.5),
        "mhe_modified",
        {"ratio": 2},
        ("mhe_modified", values("mhe_modified", ratio=2)),
    ),
    "any, without a record": ({}, "mpt", None, ("mpt", values("mpt"))),
    "a loss of others": (record("mine", **MINE), None, None, ("mine", MINE | {"repair": None})),
    "one of ours, repaired": (
        record("mine", loss="vicreg_centred", repair={}),
        None,
        None,
        ("mine", {"loss": "vicreg_centred", "repair": REPAIR}),
    ),
    "one that the service names": (
        {},
        "siglip_repaired",
        {"bias": -5, "repair.margin": 0.2},
        ("siglip_repaired", SIGMOID | {"bias": -5, "repair": REPAIR | {"margin": 0.2}}),
    ),
}


class TestChoosing:
    @pytest.mark.parametrize(
        ("record", "asked", "changes", "chosen"), CHOICES.values(), ids=CHOICES
    )
    def test_an_objective_has_the_values_of_the_record_or_the_usual_ones_and_the_changes(
        self, record: dict[str, Any], asked: Any, changes: Any, chosen: object
    ) -> None:
        name, objective = choose_objective(trained(record), asked, changes, LOSSES)
        assert (name, objective.hyperparameters.model_dump()) == chosen

    @pytest.mark.parametrize("record", [{}, {"objective": None}, None])
    def test_an_encoder_without_a_record_needs_one_named(
        self, record: dict[str, Any] | None
    ) -> None:
        with pytest.raises(ApiError, match="was not trained here, so give one of info_nce, ") as it:
            choose_objective(trained(record), None, None, {})
        assert (it.value.status, it.value.param) == (400, "objective")

    @pytest.mark.parametrize(
        ("name", "changes", "message"),
        [
            ("vicregg", {}, "unknown objective 'vicregg'; did you mean 'vicreg'"),
            ("x" * 9999, {}, "unknown objective 'x{100}'; Known: info_nce, "),
            ("mpt", {"margins": 1}, "hyperparameters: mpt has no 'margins'; it has margin"),
            ("mpt", {"margin": 3}, r"hyperparameters: mpt\.margin: 3 is out of range"),
            ("mpt", {"margin": "wide"}, r"mpt\.margin: expected a number, got 'wide'"),
            ("vicreg_modified", {"gate": "open"}, r"\.gate: expected one of 'cross_view', "),
            ("sigmoid", {}, "unknown objective 'sigmoid'; did you mean 'siglip'"),
            ("pipeline.objectives.sigmoid:sigmoid_loss", {}, "unknown objective 'pipeline"),
            ("siglip", {"loss": "os:system"}, "siglip has no 'loss'; it has temperature, bias"),
            ("siglip", {"repair.margin": 0.3}, "siglip has no 'repair.margin'"),
            ("siglip", {"bias": "low"}, r"siglip\.bias: expected a number, got 'low'"),
            ("siglip_repaired", {"repair.margin": 9}, r"repair\.margin: 9 is out of range"),
            ("nowhere", {}, "no_such_library.losses:Loss cannot be imported"),
        ],
    )
    def test_what_there_is_not_is_refused(
        self, name: str, changes: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ApiError, match=message) as caught:
            choose_objective(trained(None), name, changes, LOSSES)
        assert caught.value.status == 400
        assert caught.value.message.endswith(".")
        assert len(caught.value.message) < 700

    def test_a_record_imports_nothing_that_the_service_does_not_name(self) -> None:
        encoder = trained(record("mine", loss="antigravity:fly"))
        with pytest.raises(ApiError, match=r"trained with antigravity:fly, which serve\.losses"):
            choose_objective(encoder, None, None, LOSSES)
        assert "antigravity" not in sys.modules


@pytest.mark.parametrize("gone", [False, True])
def test_a_folder_that_is_no_longer_the_served_one_is_not_taken_for_it(
    reader: Tiny, tmp_path: Path, gone: bool
) -> None:
    folder = Path(shutil.copytree(reader.folder, tmp_path / "copy"))
    encoder = replace(reader.served, folder=folder)
    if gone:
        shutil.rmtree(folder)
    else:
        change_json(folder / "config.json", hidden_act="relu")
    with pytest.raises(ApiError, match="is no longer what is served") as caught:
        dropout_views(encoder, [[1, 2]], seed=0, batch_tokens=4096)
    assert (caught.value.status, caught.value.code) == (503, "loading")


def test_dropout_changes_nobody_elses_random_numbers(reader: Tiny) -> None:
    state = torch.get_rng_state()
    dropout_views(reader.served, [[1, 2]], seed=0, batch_tokens=4096)
    assert torch.equal(torch.get_rng_state(), state)
