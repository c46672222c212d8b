"""Requests that make no sense, in every way that comes to mind, from a seed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from tests.serve.e2e.wire import JSON_TYPE, head, post

if TYPE_CHECKING:
    from collections.abc import Iterator

RIGHT: dict[str, dict[str, Any]] = {
    "/v1/embeddings": {"input": ["a", "b"], "encoding_format": "float"},
    "/v1/similarity": {"pairs": [["a", "b"]]},
    "/v1/search": {"query": "a", "documents": ["b"], "top_k": 1},
    "/v1/tokenize": {"input": "a"},
    "/v1/components": {
        "anchors": ["a", "b"],
        "positives": ["b", "c"],
        "objective": "mpt",
        "hyperparameters": {"margin": 1},
        "step": 1,
    },
}
POSTS = tuple(RIGHT)
GETS = ("/", "/docs", "/livez", "/metrics", "/openapi.json", "/readyz", "/v1/models", "/v1/results")
METHODS = ("DELETE", "GET", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "TRACE")
FIELDS = (
    *("dimensions", "documents", "encoding_format", "input", "model", "models", "normalize"),
    *("pairs", "query", "sources", "targets", "top_k", "truncate", "user", "__class__"),
    *("anchors", "positives", "objective", "hyperparameters", "seed", "step"),
)
HEADERS = (
    *("Accept", "Authorization", "Content-Encoding", "Content-Type", "Cookie", "Host", "Origin"),
    *("Range", "X-Forwarded-For", "X-Request-Id", "traceparent"),
)
_ODD = ("", "[", "]/a?b", ":99999", "\t;=,,", "%00", "00-00-00", "bytes=9-1,,-")
_HUGE = (0, -1, 2**31, 2**63, -(2**63) - 1, 2**64, 10**400, 1e308, -0.0, 5e-324)
_TEXTS = (
    *("", " ", "\0", "\ufeff", "\u202e\u200b", "a" * 5000, "float", "base64", "<script>"),
    *("vicreg-42", "vicreg_modified-42", "{0}{x}%s%n", "../../etc/passwd"),
    *("\U0001d57f\U0001d58a \N{VIOLIN}" * 20, "'; DROP TABLE models; --"),
)


class Nonsense:
    """Requests, each whole by itself; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._choose = self._random.choice

    def __iter__(self) -> Iterator[bytes]:
        bodies = (self._almost, self._almost, self._almost, self._broken_json, self._random_body)
        kinds = (*bodies, self._path, self._method, self._headers)
        while True:
            yield self._choose(kinds)()

    def invalid(self) -> bytes:
        """What is not even HTTP."""
        return self._random.randbytes(self._random.randrange(1, 400)) + b"\r\n\r\n"

    def _value(self, depth: int = 0) -> Any:
        """Some JSON."""
        if depth < 3 and self._random.random() < 0.3:
            items = [self._value(depth + 1) for _ in range(self._random.randrange(4))]
            return items if self._random.random() < 0.8 else {self._choose(FIELDS): items}
        plain = (None, True, False, self._choose(_HUGE), self._choose(_TEXTS), self._choose(_TEXTS))
        return self._choose(plain)

    def _almost(self) -> bytes:
        """A right request with some other values, and some fields that belong elsewhere."""
        path = self._choose(POSTS)
        content = RIGHT[path] | {"model": "vicreg-42"}
        for _ in range(self._random.randrange(3)):
            names = self._choose((tuple(content), FIELDS))
            content[self._choose(names)] = self._value()
        return post(path, content)

    def _broken_json(self) -> bytes:
        whole = json.dumps({"model": "vicreg-42", "input": self._choose(_TEXTS)})
        deep = self._choose(("[", '{"input":', '{"a":[')) * self._random.randrange(1, 5000)
        broken = (
            whole[: self._random.randrange(len(whole))],
            deep,
            whole.replace("}", ',"input":"\\ud800"}'),
            whole.replace("}", ',"input":"\\udfff\\ud800"}'),
            whole.replace("}", f',"dimensions":{"9" * 5000}}}'),
            whole.replace("}", ',"dimensions":NaN}'),
            whole.replace("}", ',"dimensions":1e999}'),
            whole + whole,
            f"\ufeff{whole}",
            json.dumps(self._value()),
        )
        return post(self._choose(POSTS), self._choose(broken).encode())

    def _random_body(self) -> bytes:
        body = self._random.randbytes(self._random.randrange(300))
        if self._random.random() < 0.5:
            body = b'{"model":"vicreg-42","input":"' + body.replace(b'"', b"") + b'"}'
        return post(self._choose(POSTS), body)

    def _path(self) -> bytes:
        some = "".join(f"%{byte:02x}" for byte in self._random.randbytes(8))
        word = self._choose(("..", "a" * 2000, "%00", "%ff", some, "vicreg-42", "*", "?", ";"))
        start = self._choose(("/", "/v1/", "/v1/models/", "/docs/assets/", "/v1/models//"))
        end = self._choose(("", "/", "/training", "?a=%ff", f"?{some}={some}", "/../.."))
        return head("GET", start + word + end)

    def _method(self) -> bytes:
        path = self._choose(POSTS + GETS)
        return head(self._choose(METHODS), path, "Content-Length: 2") + b"{}"

    def _headers(self) -> bytes:
        value = "".join(map(chr, self._random.choices(range(0x80, 0x100), k=20)))
        name = self._choose(HEADERS)
        kind = "Accept: */*" if name == "Content-Type" else JSON_TYPE
        odd = f"{name}: {value}{self._choose(_ODD)}"
        return head("POST", self._choose(POSTS), odd, kind, "Content-Length: 2") + b"{}"
