"""What is made of texts: embeddings in OpenAI's shape, similarities, search results, tokens."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.serve.fakes import Fake, embedding, row, served, words
from tests.serve.served import Api, refusal, serving
from tests.tiny import LONGEST, WIDTH, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # float32, other order of sums
TEXTS = [*corpus()[:5], "日本の秋は、山が赤くなります。", corpus()[0]]
FIRST, SECOND = corpus()[:4], corpus()[4:8]
LONG = " ".join(corpus()[:30])


def ask(api: Api, given: object, **more: Any) -> httpx.Response:
    return api.post("/v1/embeddings", {"model": "bert", "input": given} | more)


def embeddings(response: httpx.Response) -> np.ndarray:
    assert response.status_code == 200, response.text
    return np.array([one["embedding"] for one in response.json()["data"]], np.float32)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_answer_has_openais_shape_and_counts_tokens_without_padding(
    real: Api, bert: Tiny
) -> None:
    """Equal texts count each time, as they are computed once only to save time."""
    content = ask(real, TEXTS).json()
    assert list(content) == ["object", "data", "model", "usage"]
    assert (content["object"], content["model"]) == ("list", "bert")
    assert [one["index"] for one in content["data"]] == list(range(len(TEXTS)))
    for one in content["data"]:
        assert (one["object"], one["truncated"]) == ("embedding", False)
        assert len(one["embedding"]) == WIDTH
    tokens = sum(map(len, bert.served.tokenizer.encode(TEXTS)))
    assert content["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}


def test_texts_and_their_ids_give_the_same(real: Api, bert: Tiny) -> None:
    rows = bert.served.tokenizer.encode(TEXTS)
    by_text = embeddings(ask(real, TEXTS))
    for given in (rows, [ids[1:-1] for ids in rows]):
        assert np.abs(embeddings(ask(real, given)) - by_text).max() < CLOSE
    for one in (TEXTS[2], rows[2]):
        assert np.abs(embeddings(ask(real, one)) - by_text[2:3]).max() < CLOSE


def test_a_cut_text_is_marked_and_counted_as_it_was_encoded(real: Api, bert: Tiny) -> None:
    response = ask(real, ["short", LONG, LONG])
    content = response.json()
    assert [one["truncated"] for one in content["data"]] == [False, True, True]
    assert response.headers["X-Truncated"] == "2"
    short = len(bert.served.tokenizer.encode(["short"])[0])
    assert content["usage"]["prompt_tokens"] == short + 2 * LONGEST
    assert np.abs(embeddings(response)[1] - unit_rows(bert.reference.encode([LONG]))).max() < CLOSE


@pytest.mark.parametrize("normalize", [None, True, False])
@pytest.mark.parametrize("model", ["bert", "unit"])
@pytest.mark.parametrize("dimensions", [None, 8, 16])
def test_embeddings_are_cut_and_of_length_one_unless_they_are_wanted_as_they_are(
    real: Api, bert: Tiny, dimensions: int | None, model: str, normalize: bool | None
) -> None:
    asked = {"model": model, "dimensions": dimensions, "normalize": normalize}
    expected = bert.reference.encode(TEXTS)[:, :dimensions]
    if dimensions or normalize is not False:
        expected = unit_rows(expected)
    found = embeddings(ask(real, TEXTS, **asked))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < CLOSE


@pytest.mark.parametrize("dimensions", [1, 9, 33, 10**18, 10**4000])
def test_other_dimensions_are_refused_with_those_that_are_declared(
    real: Api, dimensions: int
) -> None:
    error = refusal(ask(real, TEXTS, dimensions=dimensions), 400)
    assert (error["code"], error["param"]) == ("invalid_value", "dimensions")
    assert error["message"].startswith("dimensions: bert was trained for 8, 16, 32, got ")


@pytest.mark.parametrize("more", [{}, {"dimensions": 8}, {"normalize": False}])
def test_base64_is_the_same_as_numbers(real: Api, more: Mapping[str, Any]) -> None:
    data = ask(real, TEXTS, encoding_format="base64", **more).json()["data"]
    rows = [np.frombuffer(base64.b64decode(one["embedding"]), "<f4") for one in data]
    assert np.array_equal(np.stack(rows), embeddings(ask(real, TEXTS, **more)))


def test_a_vector_of_zeros_stays_one_when_it_is_scaled(api: Api, fake: Fake) -> None:
    fake.faults[row(5)] = 0
    found = embeddings(ask(api, [words(5), words(6)], model="fake", normalize=True))
    assert np.array_equal(found[0], np.zeros(4))
    assert np.abs(found[1] - unit_rows(embedding(row(6))[None])[0]).max() < CLOSE


@pytest.mark.parametrize(
    ("default", "name", "prompt"),
    [(None, None, []), (None, "query", [90]), ("query", None, [90]), ("query", "passage", [91])],
)
def test_a_prompt_is_put_before_texts_and_not_before_ids(
    fake: Fake, default: str | None, name: str | None, prompt: list[int]
) -> None:
    with serving(served(fake, default_prompt=default)) as api:
        for given in ([words(5), words(6, 7)], [[8]]):
            assert ask(api, given, model="fake", prompt_name=name).status_code == 200
    assert set(fake.computed) == {row(*prompt, 5), row(*prompt, 6, 7), row(8)}


def test_an_unknown_prompt_is_refused_with_those_that_there_are(api: Api) -> None:
    error = refusal(ask(api, words(5), model="fake", prompt_name="doc"), 400)
    assert error["param"] == "prompt_name"
    assert error["message"] == "prompt_name: fake has no prompt 'doc'; it has query, passage."


def answer(api: Api, path: str, **fields: Any) -> Any:
    response = api.post(path, {"model": "bert"} | fields)
    assert response.status_code == 200, response.text
    return response.json()


def similarity(api: Api, **fields: Any) -> dict[str, Any]:
    """What one encoder says."""
    (data,) = answer(api, "/v1/similarity", **fields)["data"]
    return dict(data)


def cosines(tiny: Tiny, first: list[str], second: list[str]) -> np.ndarray:
    """All of one with all of the other, in float64."""
    one, other = (
        unit_rows(tiny.reference.encode(some).astype(np.float64)) for some in (first, second)
    )
    return np.asarray(one @ other.T)


class TestSimilarity:
    def test_pairs_give_their_cosines_and_sources_with_targets_a_matrix(
        self, real: Api, bert: Tiny
    ) -> None:
        expected = cosines(bert, FIRST, SECOND)
        data = similarity(real, pairs=list(zip(FIRST, SECOND, strict=True)))
        assert (data["model"], data["version"]) == ("bert", bert.served.version)
        assert data["truncated"] == []
        assert np.abs(np.array(data["similarities"]) - np.diag(expected)).max() < CLOSE
        matrix = similarity(real, sources=FIRST, targets=SECOND[:3])["similarities"]
        assert np.abs(np.array(matrix) - expected[:, :3]).max() < CLOSE

    def test_several_models_answer_in_the_order_asked_for(self, real: Api, bert: Tiny) -> None:
        pairs = [[FIRST[0], SECOND[0]]]
        content = answer(real, "/v1/similarity", model=None, models=["unit", "bert"], pairs=pairs)
        assert [data["model"] for data in content["data"]] == ["unit", "bert"]
        first, second = (data["similarities"] for data in content["data"])
        assert first == pytest.approx(second, abs=CLOSE)
        tokens = sum(map(len, bert.served.tokenizer.encode(pairs[0])))
        assert content["usage"]["total_tokens"] == 2 * tokens

    def test_equal_texts_have_cosine_one_and_none_is_greater(self, real: Api) -> None:
        found = similarity(real, pairs=[[text, text] for text in corpus()[:30]])["similarities"]
        assert min(found) > 1 - CLOSE
        assert max(found) <= 1

    def test_a_vector_of_zeros_is_like_nothing(self, api: Api, fake: Fake) -> None:
        fake.faults[row(5)] = 0
        pairs = [[words(5), words(6)], [words(5), words(5)]]
        assert similarity(api, model="fake", pairs=pairs)["similarities"] == [0, 0]

    def test_cut_texts_are_named_as_the_request_has_them(self, real: Api) -> None:
        data = similarity(real, sources=["a", LONG], targets=[LONG, "b"])
        assert data["truncated"] == ["sources[1]", "targets[0]"]
        asked = {"model": "bert", "pairs": [["a", "b"], ["a", LONG]]}
        assert similarity(real, **asked)["truncated"] == ["pairs[1][1]"]
        error = refusal(real.post("/v1/similarity", asked | {"truncate": False}), 400)
        assert error["param"] == "pairs"
        assert error["message"].startswith("pairs[1][1]: has ")


class TestSearch:
    def test_documents_come_in_the_order_of_their_cosines(self, real: Api, bert: Tiny) -> None:
        content = answer(real, "/v1/search", query=FIRST[0], documents=SECOND)
        assert (content["model"], content["version"]) == ("bert", bert.served.version)
        scores = cosines(bert, FIRST[:1], SECOND)[0]
        order = np.argsort(-scores)
        assert [one["index"] for one in content["data"]] == order.tolist()
        assert [one["document"] for one in content["data"]] == [SECOND[i] for i in order]
        found = [one["score"] for one in content["data"]]
        assert np.abs(np.array(found) - scores[order]).max() < CLOSE
        assert {one["object"] for one in content["data"]} == {"search_result"}

    @pytest.mark.parametrize(
        ("top_k", "given"), [(1, 1), (None, 10), (12, 12), (13, 12), (10**30, 12)]
    )
    def test_as_many_are_given_as_asked_for_and_there_or_ten(
        self, real: Api, top_k: int | None, given: int
    ) -> None:
        content = answer(real, "/v1/search", query="a", documents=corpus()[:12], top_k=top_k)
        assert len(content["data"]) == given

    def test_equal_scores_keep_the_order_of_the_request(self, api: Api) -> None:
        documents = [words(7), words(5), words(7), words(5), words(5)]
        content = answer(api, "/v1/search", model="fake", query=words(5), documents=documents)
        assert [one["index"] for one in content["data"]] == [1, 3, 4, 0, 2]

    def test_cut_documents_are_marked_and_a_cut_query_is_told(self, real: Api) -> None:
        asked = {"model": "bert", "query": LONG, "documents": ["a", LONG]}
        response = real.post("/v1/search", asked)
        marks = {one["index"]: one["truncated"] for one in response.json()["data"]}
        assert marks == {0: False, 1: True}
        assert response.headers["X-Truncated"] == "2"

    @pytest.mark.parametrize(
        ("query", "document", "name"), [(LONG, "a", "query"), ("a", LONG, "documents[1]")]
    )
    def test_where_nothing_may_be_cut_the_text_is_named(
        self, real: Api, query: str, document: str, name: str
    ) -> None:
        asked = {"model": "bert", "query": query, "documents": ["a", document], "truncate": False}
        error = refusal(real.post("/v1/search", asked), 400)
        assert error["message"].startswith(f"{name}: has ")
        assert error["param"] == name.partition("[")[0]


class TestTokenize:
    def test_tokens_are_the_encoders(self, real: Api, bert: Tiny) -> None:
        content = answer(real, "/v1/tokenize", input=FIRST)
        assert (content["object"], content["model"]) == ("list", "bert")
        assert (content["version"], content["max_length"]) == (bert.served.version, LONGEST)
        for index, (one, text) in enumerate(zip(content["data"], FIRST, strict=True)):
            ids = bert.reference.tokenizer(text)["input_ids"]
            assert (one["index"], one["ids"], one["count"]) == (index, ids, len(ids))
            assert one["tokens"] == bert.reference.tokenizer.convert_ids_to_tokens(ids)
            assert one["truncated"] is False

    def test_nothing_is_cut_and_what_would_be_is_marked(self, real: Api, bert: Tiny) -> None:
        (one,) = answer(real, "/v1/tokenize", input=LONG)["data"]
        assert one["count"] == len(one["ids"]) == len(bert.served.tokenizer.encode([LONG])[0])
        assert one["count"] > LONGEST
        assert one["truncated"] is True
