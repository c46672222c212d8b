"""What the page asks of the service: however many pairs, and answers that are what they seem."""

import json
from typing import Any
from urllib.parse import unquote

import httpx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.client import ApiError
from tests.app.properties import PROPERTY
from tests.app.service import Service, answering, api, cosine, is_long

MODELS = ["vicreg-42", "vicreg_modified-42"]


def text(number: int) -> str:
    return f"long {number}" if number % 7 == 0 else f"text {number}"


@PROPERTY
@given(count=st.integers(0, 600), models=st.integers(1, 3))
def test_pairs_of_many_requests_are_as_those_of_one(count: int, models: int) -> None:
    names = [f"m{number}" for number in range(models)]
    pairs = [(text(number), text(number + 3)) for number in range(count)]
    found = api(Service()).pairs(names, pairs)
    assert list(found) == names
    for name in names:
        assert found[name].cosines.tolist() == [cosine(name, *pair) for pair in pairs]
        assert found[name].truncated == tuple(
            f"pairs[{place}][{side}]"
            for place, pair in enumerate(pairs)
            for side in (0, 1)
            if is_long(pair[side])
        )


@pytest.mark.parametrize("count", [2, 40])
def test_a_matrix_has_the_cosines_of_all_with_all(count: int) -> None:
    sentences = [text(number) for number in range(count)]
    for name, found in api(Service()).matrix(MODELS, sentences).items():
        expected = [[cosine(name, one, other) for other in sentences] for one in sentences]
        assert np.array_equal(found.cosines, expected)
        places = [place for place, one in enumerate(sentences) if is_long(one)]
        assert sorted(found.truncated) == sorted(
            f"{side}[{place}]" for side in ("sources", "targets") for place in places
        )


@pytest.mark.parametrize("top", [1, 20, 5000])
def test_a_search_gives_the_nearest_first(top: int) -> None:
    documents = [text(number) for number in range(1000)]
    found = api(Service()).search("m", "music", documents, top)
    scores = [cosine("m", "music", document) for document in documents]
    best = sorted(range(len(documents)), key=lambda place: -scores[place])[:top]
    assert [(one["index"], one["score"]) for one in found] == [(n, scores[n]) for n in best]
    assert all(one["document"] == documents[one["index"]] for one in found)


def test_an_encoder_that_is_named_twice_is_asked_once() -> None:
    service = Service()
    assert list(api(service).pairs(["m", "m"], [("a", "b")])) == ["m"]
    assert [body["models"] for body in service.bodies] == [["m"]]


def test_any_text_arrives_as_it_was_given() -> None:
    pairs = [("\0 é 日本 🎻", '"\n\\')]
    service = Service()
    api(service).pairs(["m"], pairs)
    assert service.bodies[0]["pairs"] == [list(pairs[0])]


@pytest.mark.parametrize("model", ["a/b", "..", "a?b#c", "a.b", "ü", ""])
def test_an_encoders_name_is_one_part_of_the_path(model: str) -> None:
    paths = []

    def handler(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return httpx.Response(200, json={})

    api(handler).training(model)
    *before, name, last = paths[0].decode().split("/")
    assert (before, unquote(name), last) == (["", "v1", "models"], model, "training")


def test_both_views_of_a_batch_are_asked_for_and_given() -> None:
    rows = {"anchor": [[0.5, 1.0], [2.0, 3.0]], "positive": [[0.25, 1.0], [2.0, 4.0]]}

    def handler(request: httpx.Request) -> httpx.Response:
        assert (request.method, request.url.path) == ("POST", "/v1/components")
        body = json.loads(request.content)
        assert (body["model"], body["anchors"], body["positives"]) == ("m", ["a", "b"], None)
        assert (body["seed"], body["embeddings"]) == (3, True)
        return httpx.Response(200, json={"embeddings": rows, "truncated": ["anchors[1]"]})

    found = api(handler).views("m", ["a", "b"], seed=3)
    assert (found.anchor.tolist(), found.positive.tolist()) == (rows["anchor"], rows["positive"])
    assert found.truncated == ("anchors[1]",)


def test_losses_are_the_objectives_of_others() -> None:
    cards = [{"id": "info_nce", "loss": None}, {"id": "siglip", "loss": "somewhere:loss"}]
    assert answering(httpx.Response(200, json={"data": cards})).losses() == cards[1:]


def entry(similarities: object, model: str = "m", truncated: object = ()) -> object:
    return {"model": model, "similarities": similarities, "truncated": truncated}


def in_data(*contents: object) -> list[object]:
    return [{"data": content} for content in contents]


ARGUMENTS: dict[str, Any] = {
    "pairs": (["m"], [("a", "b")]),
    "models": (),
    "search": ("m", "q", ["a"], 1),
    "views": ("m", ["a", "b"]),
}
WRONG: dict[str, list[Any]] = {
    "pairs": in_data(
        None,
        {},
        "data",
        [],
        [None],
        [{"model": "m"}],
        [entry([0.5], model="another")],
        [entry([])],
        [entry([0.5, 0.5])],
        [entry([[0.5]])],
        [entry(["high"])],
        [entry([None])],
        [entry([float("nan")])],
        [entry([0.5], truncated=["pairs"])],
        [entry([0.5], truncated=[3])],
        [entry([0.5], truncated=None)],
    ),
    "models": in_data(None, 3, [3], [{}], [{"id": 3}]),
    "search": in_data(None, 3, [{}], [{"index": 9, "score": 1}], [{"index": 0}]),
    "views": [
        {"embeddings": embeddings, "truncated": []}
        for embeddings in (
            None,
            {"anchor": [[1.0], [2.0]]},
            {"anchor": [[1.0]], "positive": [[1.0]]},
            {"anchor": [1.0, 2.0], "positive": [1.0, 2.0]},
            {"anchor": [[1.0], [None]], "positive": [[1.0], [2.0]]},
        )
    ],
}


@pytest.mark.parametrize(
    ("method", "content"),
    [(method, content) for method, contents in WRONG.items() for content in contents],
)
def test_an_answer_of_another_shape_is_refused_in_a_sentence(method: str, content: object) -> None:
    service = answering(httpx.Response(200, content=json.dumps(content)))
    with pytest.raises(ApiError, match="an answer that this page cannot read") as caught:
        getattr(service, method)(*ARGUMENTS[method])
    assert caught.value.kind == "refused"
