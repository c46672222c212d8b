"""POST /v1/components: an objective's gradient for a batch of sentences, taken apart."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import torch

from pipeline.objectives import OBJECTIVES
from pipeline.objectives.foreign import foreign
from serve.components import changeable
from tests.serve.api.test_docs import described, validate
from tests.serve.served import PARAMS, Api, limits, refusal, running
from tests.tiny import corpus

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # as sums in float32 differ
ANCHORS, POSITIVES = corpus()[:6], corpus()[6:12]
LONG = " ".join(corpus()[:30])
PATH = "/v1/components"
ASKED: dict[str, Any] = {"model": "bert", "anchors": ANCHORS, "positives": POSITIVES}
DROPOUT = {"model": "bert", "anchors": ANCHORS, "objective": "info_nce"}


@pytest.fixture(scope="module")
def api(bert: Tiny) -> Iterator[Api]:
    with running(bert.served) as engine:
        yield Api(engine)


def ask(api: Api, **fields: Any) -> dict[str, Any]:
    response = api.post(PATH, fields)
    assert response.status_code == 200, response.text
    content: dict[str, Any] = response.json()
    return content


def embedded(api: Api, texts: list[str]) -> torch.Tensor:
    asked = {"model": "bert", "input": texts, "normalize": False}
    data = api.post("/v1/embeddings", asked).json()["data"]
    return torch.tensor([one["embedding"] for one in data])


@pytest.mark.parametrize("name", OBJECTIVES)
class TestEveryObjective:
    def test_the_components_are_those_of_the_pipeline(self, api: Api, name: str) -> None:
        content = ask(api, **ASKED, objective=name)
        anchor, positive = embedded(api, ANCHORS), embedded(api, POSITIVES)
        objective = OBJECTIVES[name]()
        pieces = objective.components(anchor.double(), positive.double())
        for piece, expected in pieces._asdict().items():
            largest = max(1.0, expected.abs().max().item())
            np.testing.assert_allclose(content[piece], expected, atol=CLOSE * largest)
        assert content["hyperparameters"] == objective.hyperparameters.model_dump()
        assert (content["object"], content["objective"]) == ("components", name)
        assert (content["views"], content["truncated"]) == ("given", [])

    def test_cosines_belong_to_what_the_formulas_speak_of(self, api: Api, name: str) -> None:
        content = ask(api, **ASKED, objective=name)
        normalize = OBJECTIVES[name]().normalize
        h, p = (
            torch.nn.functional.normalize(normalize(embedded(api, texts).double()), dim=1)
            for texts in (ANCHORS, POSITIVES)
        )
        np.testing.assert_allclose(content["cosines"], h @ p.T, atol=CLOSE)
        np.testing.assert_allclose(content["own_cosines"], h @ h.T, atol=CLOSE)
        np.testing.assert_allclose(
            content["step"]["positive"]["before"], np.diag(content["cosines"]), atol=CLOSE
        )

    def test_the_hardest_negative_is_another_sentence(self, api: Api, name: str) -> None:
        hardest = ask(api, **ASKED, objective=name)["step"]["hardest_negative"]
        assert all(0 <= j < 6 and j != i for i, j in enumerate(hardest["index"]))

    @pytest.mark.parametrize("positives", [POSITIVES, None])
    def test_the_answer_is_as_the_document_says(
        self, api: Api, name: str, positives: list[str] | None
    ) -> None:
        content = ask(api, **ASKED | {"positives": positives, "objective": name})
        validate(api, content, described(api, "post", PATH, 200))

    def test_no_value_of_a_hyperparameter_is_a_fault(self, api: Api, name: str) -> None:
        values = (0, -1, 5e-324, 1e-30, 1e30, 1e40, 1.7e308, 2**53, 10**19, 10**400, "own_view", "")
        for field in OBJECTIVES[name].hyperparameters.model_fields:
            for value in values:
                asked = ASKED | {"objective": name, "hyperparameters": {field: value}}
                response = api.post(PATH, asked)
                assert response.status_code in {200, 400}, (field, value, response.text)
                if response.status_code == 400:
                    assert refusal(response, 400)["param"] == "hyperparameters"


@pytest.mark.parametrize("name", PARAMS.losses)
class TestLossesOfOthers:
    def test_they_are_listed_and_taken_apart(self, api: Api, name: str) -> None:
        pytest.importorskip(PARAMS.losses[name]["loss"].partition(".")[0])
        listed = api.get("/v1/objectives").json()
        validate(api, listed, described(api, "get", "/v1/objectives", 200))
        assert name in {one["id"] for one in listed["data"]}
        content = ask(api, **ASKED, objective=name)
        validate(api, content, described(api, "post", PATH, 200))
        objective = foreign(name, PARAMS.losses[name])
        views = (embedded(api, texts).double() for texts in (ANCHORS, POSITIVES))
        for piece, expected in objective.components(*views)._asdict().items():
            largest = max(1.0, expected.abs().max().item())
            np.testing.assert_allclose(content[piece], expected, atol=1e-3 * largest)

    def test_no_value_is_a_fault(self, api: Api, name: str) -> None:
        pytest.importorskip(PARAMS.losses[name]["loss"].partition(".")[0])
        for field in changeable(PARAMS.losses[name]):
            for value in (0, -1, 1e-30, 1e40, 2**53, ""):
                asked = ASKED | {"objective": name, "hyperparameters": {field: value}}
                status = api.post(PATH, asked).status_code
                assert status in {200, 400}, (field, value)


def test_what_is_not_finite_is_null(api: Api) -> None:
    asked = ASKED | {"objective": "info_nce", "hyperparameters": {"temperature": 5e-324}}
    response = api.post(PATH, asked)
    assert "NaN" not in response.text
    assert "null" in response.text
    validate(api, response.json(), described(api, "post", PATH, 200))


class TestDropout:
    def test_without_positives_the_views_are_the_dropouts(self, api: Api) -> None:
        content = ask(api, **DROPOUT)
        assert content["views"] == "dropout"
        aligned = np.diag(content["cosines"])
        assert (aligned > 0.5).all()
        assert (aligned < 1 - 1e-6).all()

    def test_tokens_of_both_views_are_counted(self, api: Api, bert: Tiny) -> None:
        tokens = sum(map(len, bert.served.tokenizer.encode(ANCHORS)))
        assert ask(api, **DROPOUT)["usage"]["total_tokens"] == 2 * tokens


@pytest.mark.parametrize("positives", [POSITIVES, None])
def test_the_embeddings_of_both_views_are_given_where_they_are_asked_for(
    api: Api, positives: list[str] | None
) -> None:
    asked = ASKED | {"objective": "vicreg", "positives": positives}
    assert "embeddings" not in ask(api, **asked)
    content = ask(api, **asked, embeddings=True)
    validate(api, content, described(api, "post", PATH, 200))
    h, p = (torch.tensor(content["embeddings"][one]) for one in ("anchor", "positive"))
    if positives:
        torch.testing.assert_close(h, embedded(api, ANCHORS), rtol=0, atol=CLOSE)
        torch.testing.assert_close(p, embedded(api, POSITIVES), rtol=0, atol=CLOSE)
    pieces = OBJECTIVES["vicreg"]().components(h.double(), p.double())
    np.testing.assert_allclose(content["weight"], pieces.weight, atol=CLOSE)


class TestCutTexts:
    @pytest.mark.parametrize(
        ("positives", "names", "number"),
        [(None, ["anchors[1]"], 1), ([LONG, "b"], ["anchors[1]", "positives[0]"], 2)],
    )
    def test_they_are_named(
        self, api: Api, positives: list[str] | None, names: list[str], number: int
    ) -> None:
        asked = DROPOUT | {"anchors": ["a", LONG], "positives": positives}
        response = api.post(PATH, asked)
        assert response.json()["truncated"] == names
        assert response.headers["X-Truncated"] == str(number)
        error = refusal(api.post(PATH, asked | {"truncate": False}), 400)
        assert error["code"] == "context_length_exceeded"
        assert error["message"].startswith("anchors[1]: has ")


def test_texts_count_towards_the_limit_of_a_request(bert: Tiny) -> None:
    few = PARAMS.model_copy(update={"limits": limits(items=11)})
    with running(bert.served, params=few) as engine:
        error = refusal(Api(engine).post(PATH, ASKED | {"objective": "mpt"}), 400)
    assert "has 12 texts, over the limit items=11" in error["message"]


def test_without_torch_it_answers_501_and_the_others_go_on(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blocked(name: str) -> None:
        raise ModuleNotFoundError(name)

    monkeypatch.setattr("serve.installed.find_spec", blocked)
    error = refusal(api.post(PATH, ASKED | {"objective": "mpt"}), 501)
    assert (error["code"], error["type"]) == ("torch_missing", "server_error")
    validate(api, {"error": error}, described(api, "post", PATH, 501))
    assert api.post("/v1/embeddings", {"model": "bert", "input": "a"}).status_code == 200
