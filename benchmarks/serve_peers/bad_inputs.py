"""Requests for embeddings that must be refused, and with which status."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class BadInput:
    """A body that is wrong in one way.

    Attributes:
        name: what is wrong.
        body: of the request.
        status: that it must be answered with.
    """

    name: str
    body: bytes
    status: int


def bad_inputs(model: str) -> list[BadInput]:
    """One of each kind, for a service of this model with OpenAI's limit of 2,048 inputs."""
    text = "A text that is fine."
    fields: dict[str, dict[str, Any]] = {
        "empty text": {"input": ""},
        "blank text": {"input": " \n"},
        "empty list": {"input": []},
        "one empty text of three": {"input": [text, "", text]},
        "a number": {"input": 5},
        "a number among texts": {"input": [text, 7]},
        "null": {"input": None},
        "an object": {"input": {"text": text}},
        "token id beyond the vocabulary": {"input": [1_000_000_000]},
        "too many texts": {"input": ["a"] * 2049},
        "unknown field": {"input": text, "temperature": 0.5},
        "unknown format": {"input": text, "encoding_format": "hex"},
        "negative dimensions": {"input": text, "dimensions": -1},
        "no input": {},
    }
    bodies = {
        "invalid JSON": b'{"model": "',
        "invalid UTF-8": b'{"model": "' + model.encode() + b'", "input": "\xff"}',
        "no object": b"[1, 2]",
        "nothing": b"",
        "no model": json.dumps({"input": text}).encode(),
    } | {name: json.dumps({"model": model} | given).encode() for name, given in fields.items()}
    unknown = json.dumps({"model": f"not-{model}", "input": text}).encode()
    return [
        *(BadInput(name, body, 400) for name, body in bodies.items()),
        BadInput("unknown model", unknown, 404),
    ]
