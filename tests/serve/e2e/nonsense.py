"""Requests that make no sense, in every way that comes to mind, from a seed."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from tests.serve.e2e.wire import JSON_TYPE, head, post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

POSTS = ("/v1/embeddings", "/v1/similarity", "/v1/search", "/v1/tokenize", "/v1/components")
GETS = ("/", "/docs", "/livez", "/metrics", "/openapi.json", "/readyz", "/v1/models", "/v1/results")
METHODS = ("DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PROPFIND", "PUT", "TRACE")
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
    "",
    " ",
    "\0",
    "\ufeff",
    "\u202e\u200b",
    "a" * 5000,
    "vicreg-42",
    "vicreg_modified-42",
    "float",
    "base64",
    "{0}{x}%s%n",
    "../../etc/passwd",
    "\U0001d57f\U0001d58a \N{VIOLIN}" * 20,
    "'; DROP TABLE models; --",
    "<script>",
)


class Nonsense:
    """Requests, each whole by itself; equal seeds give equal ones."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._kinds: tuple[Callable[[], bytes], ...] = (
            self._fields,
            self._fields,
            self._fields,
            self._almost,
            self._almost,
            self._broken_json,
            self._random_body,
            self._path,
            self._method,
            self._headers,
        )

    def __iter__(self) -> Iterator[bytes]:
        while True:
            yield self._random.choice(self._kinds)()

    def invalid(self) -> bytes:
        """What is not even HTTP."""
        return self._random.randbytes(self._random.randrange(1, 400)) + b"\r\n\r\n"

    def _value(self, depth: int = 0) -> Any:
        """Some JSON."""
        choose = self._random.choice
        if depth < 3 and self._random.random() < 0.3:
            items = [self._value(depth + 1) for _ in range(self._random.randrange(4))]
            return items if self._random.random() < 0.8 else {choose(FIELDS): items}
        return choose((None, True, False, choose(_HUGE), choose(_TEXTS), choose(_TEXTS)))

    def _fields(self) -> bytes:
        names = self._random.sample(FIELDS, self._random.randrange(5))
        content = {name: self._value() for name in names} | {"model": "vicreg-42"}
        return post(self._random.choice(POSTS), content)

    def _almost(self) -> bytes:
        """A request that would be right but for one value."""
        path = self._random.choice(POSTS)
        right: dict[str, dict[str, Any]] = {
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
        content = right[path] | {"model": "vicreg-42"}
        content[self._random.choice(list(content))] = self._value()
        return post(path, content)

    def _broken_json(self) -> bytes:
        whole = json.dumps({"model": "vicreg-42", "input": self._random.choice(_TEXTS)})
        cut = whole[: self._random.randrange(len(whole))]
        deep = self._random.choice(("[", '{"input":', '{"a":[')) * self._random.randrange(1, 5000)
        broken = (
            cut,
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
        return post(self._random.choice(POSTS), self._random.choice(broken).encode())

    def _random_body(self) -> bytes:
        body = self._random.randbytes(self._random.randrange(300))
        if self._random.random() < 0.5:
            body = b'{"model":"vicreg-42","input":"' + body.replace(b'"', b"") + b'"}'
        return post(self._random.choice(POSTS), body)

    def _path(self) -> bytes:
        some = "".join(f"%{byte:02x}" for byte in self._random.randbytes(8))
        word = self._random.choice(
            ("..", "a" * 2000, "%00", "%ff", some, "vicreg-42", "*", "?", ";")
        )
        start = self._random.choice(("/", "/v1/", "/v1/models/", "/docs/assets/", "/v1/models//"))
        end = self._random.choice(("", "/", "/training", "?a=%ff", f"?{some}={some}", "/../.."))
        return head("GET", start + word + end)

    def _method(self) -> bytes:
        method = self._random.choice([name for name in METHODS if name != "HEAD"])
        path = self._random.choice(POSTS + GETS)
        return head(method, path, "Content-Length: 2") + b"{}"

    def _headers(self) -> bytes:
        value = "".join(map(chr, self._random.choices(range(0x80, 0x100), k=20)))
        name = self._random.choice(HEADERS)
        kind = "Accept: */*" if name == "Content-Type" else JSON_TYPE
        odd = f"{name}: {value}{self._random.choice(_ODD)}"
        return head("POST", self._random.choice(POSTS), odd, kind, "Content-Length: 2") + b"{}"
