"""POST /v1/embeddings: the encoder's own embeddings, in OpenAI's shape."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tests.serve.fakes import Fake, embedding, row, words
from tests.serve.served import Api, refusal
from tests.tiny import LONGEST, WIDTH, corpus

if TYPE_CHECKING:
    from collections.abc import Mapping

    import httpx

    from tests.serve.conftest import Tiny

CLOSE = 1e-5  # float32, other order of sums
TEXTS = [*corpus()[:5], "日本の秋は、山が赤くなります。", corpus()[0]]
LONG = " ".join(corpus()[:30])


def ask(api: Api, given: object, **more: Any) -> httpx.Response:
    return api.post("/v1/embeddings", {"model": "bert", "input": given} | more)


def embeddings(response: httpx.Response) -> np.ndarray:
    assert response.status_code == 200, response.text
    return np.array([one["embedding"] for one in response.json()["data"]], np.float32)


def unit_rows(rows: np.ndarray) -> np.ndarray:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_the_answer_has_openais_shape(real: Api) -> None:
    content = ask(real, TEXTS).json()
    assert list(content) == ["object", "data", "model", "usage"]
    assert (content["object"], content["model"]) == ("list", "bert")
    assert [one["index"] for one in content["data"]] == list(range(len(TEXTS)))
    for one in content["data"]:
        assert one["object"] == "embedding"
        assert len(one["embedding"]) == WIDTH
        assert one["truncated"] is False


def test_texts_and_their_ids_give_the_same(real: Api, bert: Tiny) -> None:
    rows = bert.served.tokenizer.encode(TEXTS)
    by_text = embeddings(ask(real, TEXTS))
    for given in (rows, [ids[1:-1] for ids in rows]):
        assert np.abs(embeddings(ask(real, given)) - by_text).max() < CLOSE
    for one in (TEXTS[2], rows[2]):
        assert np.abs(embeddings(ask(real, one)) - by_text[2:3]).max() < CLOSE


def test_usage_counts_real_tokens_and_no_padding(real: Api, bert: Tiny) -> None:
    """Equal texts count each time, as they are computed once only to save time."""
    tokens = sum(map(len, bert.served.tokenizer.encode(TEXTS)))
    usage = ask(real, TEXTS).json()["usage"]
    assert usage == {"prompt_tokens": tokens, "total_tokens": tokens}


def test_a_cut_text_is_marked_and_counted_as_it_was_encoded(real: Api, bert: Tiny) -> None:
    response = ask(real, ["short", LONG, LONG])
    content = response.json()
    assert [one["truncated"] for one in content["data"]] == [False, True, True]
    assert response.headers["X-Truncated"] == "2"
    short = len(bert.served.tokenizer.encode(["short"])[0])
    assert content["usage"]["prompt_tokens"] == short + 2 * LONGEST
    assert np.abs(embeddings(response)[1] - unit_rows(bert.reference.encode([LONG]))).max() < CLOSE


@pytest.mark.parametrize(
    ("model", "normalize", "length_one"),
    [
        ("bert", None, True),
        ("bert", False, False),
        ("unit", None, True),
        ("unit", False, False),
    ],
)
def test_embeddings_have_length_one_unless_the_request_says_otherwise(
    real: Api, bert: Tiny, model: str, normalize: bool | None, length_one: bool
) -> None:
    expected = bert.reference.encode(TEXTS)
    found = embeddings(ask(real, TEXTS, model=model, normalize=normalize))
    assert np.abs(found - (unit_rows(expected) if length_one else expected)).max() < CLOSE


class TestPrompts:
    def test_a_named_one_is_put_before_each_text(self, api: Api) -> None:
        texts = [words(5), words(6, 7)]
        body = {"model": "fake", "input": texts, "prompt_name": "query"}
        whole = {"model": "fake", "input": [f"{words(90)} {text}" for text in texts]}
        prompted, typed = (api.post("/v1/embeddings", one) for one in (body, whole))
        assert np.array_equal(embeddings(prompted), embeddings(typed))

    def test_an_unknown_one_is_refused_with_those_that_there_are(self, api: Api) -> None:
        body = {"model": "fake", "input": words(5), "prompt_name": "doc"}
        error = refusal(api.post("/v1/embeddings", body), 400)
        assert error["param"] == "prompt_name"
        assert error["message"] == ("prompt_name: fake has no prompt 'doc'; it has query, passage.")


@pytest.mark.parametrize("normalize", [None, True, False])
@pytest.mark.parametrize("dimensions", [8, 16])
def test_a_declared_dimension_is_cut_and_then_of_length_one(
    real: Api, bert: Tiny, dimensions: int, normalize: bool | None
) -> None:
    found = embeddings(ask(real, TEXTS, dimensions=dimensions, normalize=normalize))
    expected = unit_rows(bert.reference.encode(TEXTS)[:, :dimensions])
    assert found.shape == (len(TEXTS), dimensions)
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
    fake.zero.add(row(5))
    asked = {"model": "fake", "input": [words(5), words(6)], "normalize": True}
    found = embeddings(api.post("/v1/embeddings", asked))
    assert np.array_equal(found[0], np.zeros(4))
    assert np.abs(found[1] - unit_rows(embedding(row(6))[None])[0]).max() < CLOSE
