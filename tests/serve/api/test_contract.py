"""Requests: what may be asked, and which sentence refuses whatever else comes."""

from __future__ import annotations

import json
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from serve.api.contract import (
    ComponentsRequest,
    EmbeddingsRequest,
    Request,
    SearchRequest,
    SimilarityRequest,
    TokenizeRequest,
    parse,
)
from serve.errors import ApiError
from tests.serve.served import PROPERTY

EMBEDDINGS: dict[str, Any] = {"model": "m", "input": ["a text"]}
PAIRS: dict[str, Any] = {"model": "m", "pairs": [["a", "b"]]}
MATRIX: dict[str, Any] = {"models": ["m", "n"], "sources": ["a"], "targets": ["b", "c"]}
SEARCH: dict[str, Any] = {"model": "m", "query": "q", "documents": ["a", "b"]}
TOKENIZE: dict[str, Any] = {"model": "m", "input": "a text"}
COMPONENTS: dict[str, Any] = {"model": "m", "anchors": ["a", "b"], "hyperparameters": {"ratio": 2}}
VALID = [
    (EmbeddingsRequest, EMBEDDINGS),
    (SimilarityRequest, PAIRS),
    (SimilarityRequest, MATRIX),
    (SearchRequest, SEARCH),
    (TokenizeRequest, TOKENIZE),
    (ComponentsRequest, COMPONENTS),
]
each_kind = pytest.mark.parametrize(("kind", "content"), VALID)
GONE = object()


def refused(kind: type[Request], body: bytes) -> ApiError:
    with pytest.raises(ApiError) as caught:
        parse(kind, body)
    assert caught.value.status == 400
    assert caught.value.message.endswith(".")
    assert "\n" not in caught.value.message
    assert orjson.loads(orjson.dumps(caught.value.body)) == caught.value.body
    return caught.value


def changed(content: dict[str, Any], changes: dict[str, Any]) -> bytes:
    merged = content | changes
    return json.dumps({key: value for key, value in merged.items() if value is not GONE}).encode()


@each_kind
def test_null_is_as_good_as_absent_where_a_field_may_be_absent(
    kind: type[Request], content: dict[str, Any]
) -> None:
    optional = [name for name, field in kind.model_fields.items() if not field.is_required()]
    nulls = dict.fromkeys(name for name in optional if name not in content)
    asked = parse(kind, json.dumps(content).encode())
    assert parse(kind, changed(content, nulls)) == asked
    assert asked.model_fields_set == set(content)


Wrong = tuple[dict[str, Any], str, str]
# What is changed in a right request, the field to blame, and what is said of it.
WRONG_EMBEDDINGS: list[Wrong] = [
    ({"input": GONE}, "input", r"^input: missing; add it\.$"),
    ({"model": GONE}, "model", r"^model: missing; add it\.$"),
    ({"model": 7}, "model", r"^model: .*valid string, got 7\.$"),
    ({"input": None}, "input", r"^input: expected a text, .* got null\.$"),
    ({"input": 3}, "input", r"^input: expected a text, .* got a number\.$"),
    ({"input": True}, "input", r"^input: expected a text, .* got true or false\.$"),
    ({"input": ""}, "input", r"^input: the text is empty; give one"),
    ({"input": " \n\u2003"}, "input", r"^input: the text is blank; give one"),
    ({"input": []}, "input", r"^input: the list is empty; give at least one text\.$"),
    ({"input": ["a", "b", "c", ""]}, "input", r"^input\[3\]: the text is empty"),
    ({"input": ["a", " "]}, "input", r"^input\[1\]: the text is blank"),
    ({"input": ["a", 5]}, "input", r"^input\[1\]: expected a text, got a number\.$"),
    ({"input": [None]}, "input", r"^input\[0\]: expected a text, got null\.$"),
    ({"input": [5, "a"]}, "input", r"^input\[1\]: expected a token id, got a text\.$"),
    ({"input": [5, True]}, "input", r"^input\[1\]: expected a token id, got true or false"),
    ({"input": [5, -1]}, "input", r"^input\[1\]: expected a token id, got a negative"),
    ({"input": [[]]}, "input", r"^input\[0\]: the list is empty; give at least one token id"),
    ({"input": [[5], 5]}, "input", r"^input\[1\]: expected a list of token ids, got a number"),
    ({"input": [[5], [6, None]]}, "input", r"^input\[1\]\[1\]: expected a token id, got null"),
    ({"encoding_format": "hex"}, "encoding_format", "'float' or 'base64', got 'hex'"),
    ({"dimensions": 0}, "dimensions", "greater than or equal to 1, got 0"),
    ({"dimensions": True}, "dimensions", "valid integer, got true or false"),
    ({"truncate": "yes"}, "truncate", "valid boolean, got 'yes'"),
    ({"user": "u" * 500, "dimensions": "d" * 500}, "dimensions", "got a text"),
]
NOT_BOTH = r"^pairs: give either pairs, or both sources and targets\.$"
WRONG_PAIRS: list[Wrong] = [
    ({"model": GONE}, "model", r"^model: give either model or models\.$"),
    ({"models": ["n"]}, "model", r"^model: give either model or models\.$"),
    ({"model": GONE, "models": []}, "models", "^models: .*at least 1 item"),
    ({"model": GONE, "models": "m"}, "models", "valid list, got 'm'"),
    ({"model": GONE, "models": ["m", 7]}, "models", r"^models\[1\]: .*valid string, got 7"),
    ({"model": GONE, "models": ["m", "m"]}, "models", "^models: .* more than once"),
    ({"pairs": GONE}, "pairs", NOT_BOTH),
    ({"pairs": GONE, "sources": ["a"]}, "pairs", NOT_BOTH),
    ({"pairs": GONE, "targets": ["a"]}, "pairs", NOT_BOTH),
    ({"sources": ["a"], "targets": ["a"]}, "pairs", NOT_BOTH),
    ({"sources": ["a"]}, "pairs", NOT_BOTH),
    ({"pairs": []}, "pairs", "^pairs: expected a list of pairs of texts, got an empty one"),
    ({"pairs": "ab"}, "pairs", "^pairs: expected a list of pairs of texts, got a text"),
    ({"pairs": ["ab"]}, "pairs", r"^pairs\[0\]: expected two texts, got a text"),
    ({"pairs": [["a", "b"], ["a"]]}, "pairs", r"^pairs\[1\]: expected two texts, got a list"),
    ({"pairs": [["a", "b", "c"]]}, "pairs", r"^pairs\[0\]: .* got a list of 3"),
    ({"pairs": [["a", "b"], ["", "b"]]}, "pairs", r"^pairs\[1\]\[0\]: the text is empty"),
    ({"pairs": [["a", " "]]}, "pairs", r"^pairs\[0\]\[1\]: the text is blank"),
    ({"targets": "a"}, "targets", "^targets: expected a list of texts, got a text"),
]
WRONG_SEARCH: list[Wrong] = [
    ({"query": ""}, "query", "^query: the text is empty"),
    ({"query": ["a"]}, "query", "^query: expected a text, got a list"),
    ({"documents": []}, "documents", "^documents: the list is empty"),
    ({"top_k": 0}, "top_k", "greater than or equal to 1, got 0"),
]
WRONG_TOKENIZE: list[Wrong] = [
    ({"input": [3]}, "input", r"^input\[0\]: expected a text, got"),
    ({"input": {}}, "input", "^input: expected .*, got an object"),
]
WRONG_COMPONENTS: list[Wrong] = [
    ({"anchors": ["a"]}, "anchors", r"^anchors: give 2 to 64 texts, got 1\.$"),
    ({"anchors": ["a"] * 65}, "anchors", r"^anchors: give 2 to 64 texts, got 65\.$"),
    ({"anchors": "ab"}, "anchors", "^anchors: expected a list of texts, got a text"),
    ({"positives": ["a"]}, "positives", "^positives: give one for each of the 2 .*, got 1"),
    ({"seed": -1}, "seed", "greater than or equal to 0, got -1"),
    ({"seed": 1 << 63}, "seed", "^seed: .*less than"),
    ({"step": 0}, "step", "greater than 0, got 0"),
    ({"step": 10.5}, "step", r"less than or equal to 10, got 10\.5"),
    ({"step": "1"}, "step", "valid number, got '1'"),
    ({"hyperparameters": []}, "hyperparameters", "expected an object, got a list"),
    ({"hyperparameters": {"margin": True}}, "hyperparameters", "for 'margin', got true or fal"),
    ({"hyperparameters": {"margin": [1]}}, "hyperparameters", "for 'margin', got a list"),
    ({"hyperparameters": {"gate": "x" * 41}}, "hyperparameters", "word for 'gate' is too long"),
    ({"hyperparameters": {"m" * 999: None}}, "hyperparameters", "'m{40}', got null"),
    ({"hyperparameters": {"ratio": 10**400}}, "hyperparameters", "for 'ratio' is too large"),
    ({"hyperparameters": {"ratio": -(10**30)}}, "hyperparameters", "for 'ratio' is too large"),
]


@pytest.mark.parametrize(
    ("kind", "content", "changes", "param", "message"),
    [
        *((EmbeddingsRequest, EMBEDDINGS, *wrong) for wrong in WRONG_EMBEDDINGS),
        *((SimilarityRequest, PAIRS, *wrong) for wrong in WRONG_PAIRS),
        *((SearchRequest, SEARCH, *wrong) for wrong in WRONG_SEARCH),
        *((TokenizeRequest, TOKENIZE, *wrong) for wrong in WRONG_TOKENIZE),
        *((ComponentsRequest, COMPONENTS, *wrong) for wrong in WRONG_COMPONENTS),
    ],
)
def test_what_is_wrong_is_said_with_its_field(
    kind: type[Request], content: dict[str, Any], changes: dict[str, Any], param: str, message: str
) -> None:
    error = refused(kind, changed(content, changes))
    assert (error.code, error.param) == ("invalid_value", param)
    with pytest.raises(ApiError, match=message):
        raise error


@each_kind
def test_unknown_fields_are_refused_with_the_known_ones(
    kind: type[Request], content: dict[str, Any]
) -> None:
    error = refused(kind, changed(content, {"imput": 1}))
    assert (error.code, error.param) == ("unknown_field", "imput")
    assert error.message.startswith("imput: unknown field; the fields are ")
    assert all(name in error.message for name in kind.model_fields)


def test_a_message_never_repeats_a_long_name_of_a_field() -> None:
    error = refused(EmbeddingsRequest, changed(EMBEDDINGS, {"x" * 10_000: 1}))
    assert len(error.message) < 500


def test_tokenize_has_no_truncate_since_it_cuts_nothing() -> None:
    assert refused(TokenizeRequest, changed(TOKENIZE, {"truncate": True})).code == "unknown_field"


# With what Python writes and JSON does not know, and with surrogates.
scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(10**300, 10**320)
    | st.floats()
    | st.text(st.characters(exclude_categories=[]))
)
values = st.recursive(
    scalars, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12
)
texts = st.text().filter(lambda text: text.strip() != "")
ids = st.lists(st.integers(0), min_size=1)


@PROPERTY
@given(body=st.binary())
def test_any_bytes_are_refused(body: bytes) -> None:
    refused(EmbeddingsRequest, body)


@each_kind
@PROPERTY
@given(data=st.data(), value=values)
def test_any_value_of_any_field_is_refused_or_one_that_the_document_allows(
    kind: type[Request], content: dict[str, Any], data: st.DataObject, value: object
) -> None:
    name = data.draw(st.sampled_from(sorted(kind.model_fields)))
    body = json.dumps(content | {name: value}).encode()
    try:
        parse(kind, body)
    except ApiError:
        refused(kind, body)
    else:
        jsonschema.Draft202012Validator(kind.model_json_schema()).validate(json.loads(body))


@PROPERTY
@given(inputs=st.lists(texts, min_size=1) | st.lists(ids, min_size=1))
@example(inputs=[" spaces ", "\ttab\n", "a\u2028b", "\x00", "e\u0301", "\U0001f3bb"])
def test_any_texts_and_any_ids_are_read_as_they_are(inputs: list[Any]) -> None:
    assert parse(EmbeddingsRequest, changed(EMBEDDINGS, {"input": inputs})).inputs == inputs


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b'{"model": "m", "input": "a"} x',
        b"\xef\xbb\xbf" + json.dumps(EMBEDDINGS).encode(),
        json.dumps(EMBEDDINGS).encode("utf-16"),
        b'{"model": "m", "input": "\xff\xfe"}',
        b'{"model": "m", "input": "\\ud800"}',
        b'{"model": "m", "input": "\\udc00\\ud800"}',
        b'{"model": "m", "input": "a", "dimensions": NaN}',
        b'{"model": "m", "input": "a", "dimensions": -Infinity}',
        b'{"model": "m", "input": [%s]}' % (b"9" * 5000),
        b'{"model": "m", "input": "a", "dimensions": -%s}' % (b"9" * 5000),
        b'{"model": "m", "input": %s}' % (b"[" * 100_000),
        b'{"model": "m", "input": %s%s}' % (b"[" * 1000, b"]" * 1000),
        b"{'model': 'm'}",
    ],
)
def test_what_is_no_json_in_utf_8_is_said_to_be_none(body: bytes) -> None:
    error = refused(EmbeddingsRequest, body)
    assert error.code == "invalid_json"
    assert error.message.startswith("the body is no valid JSON in UTF-8: ")
    assert len(error.message) < 200


@pytest.mark.parametrize(
    ("body", "given"),
    [(b"[]", "a list"), (b'"a"', "a text"), (b"3", "a number"), (b"null", "null")],
)
def test_json_that_is_no_object_is_said_to_be_none(body: bytes, given: str) -> None:
    error = refused(EmbeddingsRequest, body)
    assert error.message == f"the body must be a JSON object, got {given}."


@pytest.mark.parametrize("digits", [20, 300, 4300])
def test_huge_whole_numbers_are_read_where_numbers_may_be_and_else_refused(digits: int) -> None:
    number = 10**digits - 1
    dimensions = changed(EMBEDDINGS, {"dimensions": number})
    assert parse(EmbeddingsRequest, dimensions).dimensions == number
    error = refused(EmbeddingsRequest, changed(EMBEDDINGS, {"normalize": -number}))
    assert error.message.endswith(f", got {-number}." if digits < 40 else ", got a number.")


def test_of_a_field_given_twice_the_last_counts() -> None:
    body = b'{"model": "m", "input": "first", "input": "last"}'
    assert parse(EmbeddingsRequest, body).inputs == ["last"]
