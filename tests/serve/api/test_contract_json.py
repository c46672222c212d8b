"""Bodies: whatever bytes come, there is a request or a refusal, and never a fault."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serve.api.contract import EmbeddingsRequest, parse
from serve.errors import ApiError
from tests.serve.api.test_contract import EMBEDDINGS, VALID, refused
from tests.serve.served import PROPERTY

if TYPE_CHECKING:
    from serve.api.contract import Request

QUICK = settings(PROPERTY, max_examples=25)
KINDS = [kind for kind, _ in VALID]
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
deep = json.loads("[" * 150 + "]" * 150)


def read_or_refused(kind: type[Request], body: bytes) -> Request | None:
    try:
        return parse(kind, body)
    except ApiError as refusal:
        error = refusal
    assert error.status == 400
    assert error.message.endswith(".")
    assert orjson.loads(orjson.dumps(error.body)) == error.body
    return None


@pytest.mark.parametrize("kind", KINDS)
@QUICK
@given(body=st.binary())
def test_any_bytes_are_refused(kind: type[Request], body: bytes) -> None:
    assert read_or_refused(kind, body) is None


@pytest.mark.parametrize(("kind", "content"), VALID)
@QUICK
@given(data=st.data(), value=values)
def test_any_value_of_any_field_is_read_or_refused(
    kind: type[Request], content: dict[str, Any], data: st.DataObject, value: object
) -> None:
    name = data.draw(st.sampled_from(sorted(kind.model_fields)))
    read_or_refused(kind, json.dumps(content | {name: value}).encode())


@QUICK
@given(inputs=st.lists(texts, min_size=1) | st.lists(ids, min_size=1))
def test_any_texts_and_any_ids_are_read_as_they_are(inputs: list[Any]) -> None:
    body = json.dumps(EMBEDDINGS | {"input": inputs}).encode()
    assert parse(EmbeddingsRequest, body).inputs == inputs


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
    assert (
        refused(EmbeddingsRequest, body).message == f"the body must be a JSON object, got {given}."
    )


@pytest.mark.parametrize("digits", [20, 300, 4300])
def test_huge_whole_numbers_are_read_where_numbers_may_be(digits: int) -> None:
    body = b'{"model": "m", "input": "a", "dimensions": %s}' % (b"9" * digits)
    assert parse(EmbeddingsRequest, body).dimensions == 10**digits - 1


@pytest.mark.parametrize("digits", [300, 4300])
def test_huge_whole_numbers_are_refused_where_they_may_not(digits: int) -> None:
    body = b'{"model": "m", "input": "a", "normalize": -%s}' % (b"9" * digits)
    assert refused(EmbeddingsRequest, body).message.endswith(", got a number.")


def test_of_a_field_given_twice_the_last_counts() -> None:
    body = b'{"model": "m", "input": "first", "input": "last"}'
    assert parse(EmbeddingsRequest, body).inputs == ["last"]


def test_a_message_never_repeats_a_long_name_of_a_field() -> None:
    body = json.dumps(EMBEDDINGS | {"x" * 10_000: 1}).encode()
    assert len(refused(EmbeddingsRequest, body).message) < 500
