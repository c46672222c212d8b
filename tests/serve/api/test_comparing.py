"""/v1/similarity, /v1/search, /v1/tokenize, BentoML's methods: what is made of embeddings."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from serve.api.contract import CompareRequest, EncodeRequest, check
from tests.serve.fakes import Fake, row, words
from tests.serve.served import Api, refusal
from tests.tiny import LONGEST, corpus

if TYPE_CHECKING:
    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # float32, other order of sums
FIRST, SECOND = corpus()[:4], corpus()[4:8]
LONG = " ".join(corpus()[:30])


def ask(api: Api, path: str, **fields: Any) -> Any:
    response = api.post(path, fields)
    assert response.status_code == 200, response.text
    return response.json()


def cosines(tiny: Tiny, first: list[str], second: list[str]) -> np.ndarray:
    """All of one with all of the other, in float64."""
    rows = [tiny.reference.encode(some).astype(np.float64) for some in (first, second)]
    one, other = (some / np.linalg.norm(some, axis=1, keepdims=True) for some in rows)
    return np.asarray(one @ other.T)


class TestSimilarity:
    def test_pairs_give_their_cosines(self, real: Api, bert: Tiny) -> None:
        pairs = list(zip(FIRST, SECOND, strict=True))
        content = ask(real, "/v1/similarity", model="bert", pairs=pairs)
        (data,) = content["data"]
        assert (data["model"], data["version"]) == ("bert", bert.served.version)
        expected = np.diag(cosines(bert, FIRST, SECOND))
        assert np.abs(np.array(data["similarities"]) - expected).max() < CLOSE
        assert data["truncated"] == []

    def test_sources_and_targets_give_a_matrix(self, real: Api, bert: Tiny) -> None:
        asked = {"model": "bert", "sources": FIRST, "targets": SECOND[:3]}
        (data,) = ask(real, "/v1/similarity", **asked)["data"]
        found = np.array(data["similarities"])
        assert found.shape == (4, 3)
        assert np.abs(found - cosines(bert, FIRST, SECOND[:3])).max() < CLOSE

    def test_several_models_answer_in_the_order_asked_for(self, real: Api, bert: Tiny) -> None:
        asked = {"models": ["unit", "bert"], "pairs": [[FIRST[0], SECOND[0]]]}
        content = ask(real, "/v1/similarity", **asked)
        assert [data["model"] for data in content["data"]] == ["unit", "bert"]
        first, second = (data["similarities"] for data in content["data"])
        assert first == pytest.approx(second, abs=CLOSE)
        tokens = sum(map(len, bert.served.tokenizer.encode([FIRST[0], SECOND[0]])))
        assert content["usage"]["total_tokens"] == 2 * tokens

    def test_equal_texts_have_cosine_one_and_none_is_greater(self, real: Api) -> None:
        pairs = [[text, text] for text in corpus()[:30]]
        (data,) = ask(real, "/v1/similarity", model="bert", pairs=pairs)["data"]
        assert min(data["similarities"]) > 1 - CLOSE
        assert max(data["similarities"]) <= 1

    def test_a_vector_of_zeros_is_like_nothing(self, api: Api, fake: Fake) -> None:
        fake.zero.add(row(5))
        pairs = [[words(5), words(6)], [words(5), words(5)]]
        (data,) = ask(api, "/v1/similarity", model="fake", pairs=pairs)["data"]
        assert data["similarities"] == [0, 0]

    def test_cut_texts_are_named_as_the_request_has_them(self, real: Api) -> None:
        asked: dict[str, Any] = {"model": "bert", "sources": ["a", LONG], "targets": [LONG, "b"]}
        (data,) = ask(real, "/v1/similarity", **asked)["data"]
        assert data["truncated"] == ["sources[1]", "targets[0]"]
        asked = {"model": "bert", "pairs": [["a", "b"], ["a", LONG]]}
        (data,) = ask(real, "/v1/similarity", **asked)["data"]
        assert data["truncated"] == ["pairs[1][1]"]
        error = refusal(real.post("/v1/similarity", asked | {"truncate": False}), 400)
        assert error["param"] == "pairs"
        assert error["message"].startswith("pairs[1][1]: has ")


def search(api: Api, **fields: Any) -> list[dict[str, Any]]:
    data: list[dict[str, Any]] = ask(api, "/v1/search", **fields)["data"]
    return data


class TestSearch:
    def test_documents_come_in_the_order_of_their_cosines(self, real: Api, bert: Tiny) -> None:
        content = ask(real, "/v1/search", model="bert", query=FIRST[0], documents=SECOND)
        assert (content["model"], content["version"]) == ("bert", bert.served.version)
        scores = cosines(bert, FIRST[:1], SECOND)[0]
        order = np.argsort(-scores)
        assert [one["index"] for one in content["data"]] == order.tolist()
        assert [one["document"] for one in content["data"]] == [SECOND[i] for i in order]
        found = [one["score"] for one in content["data"]]
        assert np.abs(np.array(found) - scores[order]).max() < CLOSE
        assert {one["object"] for one in content["data"]} == {"search_result"}

    @pytest.mark.parametrize(("top_k", "given"), [(1, 1), (3, 3), (4, 4), (5, 4), (10**30, 4)])
    def test_as_many_are_given_as_asked_for_and_there(
        self, real: Api, top_k: int, given: int
    ) -> None:
        asked = {"model": "bert", "query": FIRST[0], "documents": SECOND, "top_k": top_k}
        assert len(search(real, **asked)) == given

    def test_equal_scores_keep_the_order_of_the_request(self, api: Api) -> None:
        documents = [words(7), words(5), words(7), words(5), words(5)]
        data = search(api, model="fake", query=words(5), documents=documents)
        assert [one["index"] for one in data] == [1, 3, 4, 0, 2]

    def test_cut_documents_are_marked_and_a_cut_query_is_told(self, real: Api) -> None:
        asked = {"model": "bert", "query": LONG, "documents": ["a", LONG]}
        response = real.post("/v1/search", asked)
        marks = {one["index"]: one["truncated"] for one in response.json()["data"]}
        assert marks == {0: False, 1: True}
        assert response.headers["X-Truncated"] == "2"

    @pytest.mark.parametrize(
        ("fields", "name"),
        [
            ({"query": LONG, "documents": ["a"]}, "query"),
            ({"query": "a", "documents": ["a", LONG]}, "documents[1]"),
        ],
    )
    def test_where_nothing_may_be_cut_the_text_is_named(
        self, real: Api, fields: dict[str, Any], name: str
    ) -> None:
        asked = {"model": "bert", "truncate": False} | fields
        error = refusal(real.post("/v1/search", asked), 400)
        assert error["message"].startswith(f"{name}: has ")
        assert error["param"] == name.partition("[")[0]


class TestTokenize:
    def test_tokens_are_the_encoders(self, real: Api, bert: Tiny) -> None:
        content = ask(real, "/v1/tokenize", model="bert", input=FIRST)
        assert (content["object"], content["model"]) == ("list", "bert")
        assert (content["version"], content["max_length"]) == (bert.served.version, LONGEST)
        for index, (one, text) in enumerate(zip(content["data"], FIRST, strict=True)):
            ids = bert.reference.tokenizer(text)["input_ids"]
            assert (one["index"], one["ids"], one["count"]) == (index, ids, len(ids))
            assert one["tokens"] == bert.reference.tokenizer.convert_ids_to_tokens(ids)
            assert one["truncated"] is False

    def test_nothing_is_cut_and_what_would_be_is_marked(self, real: Api, bert: Tiny) -> None:
        (one,) = ask(real, "/v1/tokenize", model="bert", input=LONG)["data"]
        assert one["count"] == len(one["ids"]) == len(bert.served.tokenizer.encode([LONG])[0])
        assert one["count"] > LONGEST
        assert one["truncated"] is True


class TestBentoMLsMethods:
    """What the service's class gives to other services in its process; its routes are the same."""

    def test_encode_gives_the_encoders_vectors(self, real: Api, bert: Tiny) -> None:
        routes, expected = real.app.state.routes, bert.reference.encode(FIRST)
        raw = check(EncodeRequest, {"texts": FIRST, "model": None, "normalize": False})
        assert np.abs(asyncio.run(routes.encode(raw)) - expected).max() < CLOSE
        unit = asyncio.run(routes.encode(check(EncodeRequest, {"texts": FIRST})))
        assert np.abs(np.linalg.norm(unit, axis=1) - 1).max() < CLOSE
        assert np.abs(real.post("/encode", {"texts": FIRST}).json() - unit).max() < CLOSE

    def test_similarity_compares_pairs_or_all_with_all(self, real: Api, bert: Tiny) -> None:
        routes, matrix = real.app.state.routes, cosines(bert, FIRST, SECOND)
        texts = {"sources": FIRST, "targets": SECOND}
        found = asyncio.run(routes.compare(check(CompareRequest, texts)))
        assert np.abs(found - matrix).max() < CLOSE
        pairs = [list(pair) for pair in zip(FIRST, SECOND, strict=False)]
        asked = real.post("/similarity", {"pairs": pairs, "model": "bert"})
        assert np.abs(asked.json() - np.diag(matrix)).max() < CLOSE
