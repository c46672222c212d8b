"""The service as the page sees it: HTTP requests in, plain values out, failures as sentences.

Nothing here imports the service: the page works with one on another machine as well.
"""

import time
from dataclasses import dataclass
from typing import Any

import httpx
import numpy as np
import numpy.typing as npt

Cosines = npt.NDArray[np.float64]

# The service admits so many texts a request (serve.limits.items): longer lists are divided.
_TEXTS = 1024
_SECONDS = 60.0
# How often, and how long at most, a service that is busy is asked again.
_TRIES = 3
_LONGEST_WAIT = 2.0


class ApiError(Exception):
    """The service refused a request, or did not answer.

    Attributes:
        message: one sentence for the person at the page.
        kind: `down`, `key` (an API key is wanted), `busy`, `missing`, or `refused`.
    """

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind


@dataclass(frozen=True)
class Similarities:
    """What one encoder says of texts: cosines, and the names of texts that it cut."""

    cosines: Cosines
    truncated: tuple[str, ...]


class Api:
    """A service; each call is one request or a few, and holds nothing of them.

    Args:
        url: where it is, like http://127.0.0.1:3000.
        transport: for tests.
    """

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._client = httpx.Client(
            base_url=self.url, timeout=_SECONDS, transport=transport, trust_env=False
        )

    def models(self, key: str = "") -> list[dict[str, Any]]:
        """The served encoders' cards."""
        cards: list[dict[str, Any]] = self._get("/v1/models", key)["data"]
        return cards

    def training(self, model: str, key: str = "") -> dict[str, Any] | None:
        """An encoder's training record; None for one that Triad did not train."""
        return self._get_or_none(f"/v1/models/{model}/training", key)

    def results(self, key: str = "") -> dict[str, Any] | None:
        """The comparison table; None before there is one."""
        return self._get_or_none("/v1/results", key)

    def pairs(
        self, models: list[str], pairs: list[tuple[str, str]], key: str = ""
    ) -> dict[str, Similarities]:
        """Each encoder's cosines of the pairs, (N,)."""
        size = max(1, _TEXTS // (2 * len(models)))
        parts: dict[str, list[Similarities]] = {model: [] for model in models}
        for start in range(0, len(pairs), size):
            chosen = [list(pair) for pair in pairs[start : start + size]]
            answer = self._post("/v1/similarity", {"models": models, "pairs": chosen}, key)
            for entry in answer["data"]:
                cut = tuple(_shifted(name, start) for name in entry["truncated"])
                parts[entry["model"]].append(Similarities(np.array(entry["similarities"]), cut))
        return {
            model: Similarities(
                np.concatenate([part.cosines for part in found]),
                tuple(name for part in found for name in part.truncated),
            )
            for model, found in parts.items()
        }

    def matrix(
        self, models: list[str], sentences: list[str], key: str = ""
    ) -> dict[str, Similarities]:
        """Each encoder's cosines of all sentences with all, (N, N)."""
        body = {"models": models, "sources": sentences, "targets": sentences}
        answer = self._post("/v1/similarity", body, key)
        return {
            entry["model"]: Similarities(np.array(entry["similarities"]), tuple(entry["truncated"]))
            for entry in answer["data"]
        }

    def search(
        self, model: str, query: str, documents: list[str], top: int, key: str = ""
    ) -> list[dict[str, Any]]:
        """The documents nearest to a query, best first, with `index` and `score`."""
        body = {"model": model, "query": query, "documents": documents, "top_k": top}
        found: list[dict[str, Any]] = self._post("/v1/search", body, key)["data"]
        return found

    def components(self, body: dict[str, Any], key: str = "") -> dict[str, Any]:
        """An objective's gradient components for a batch: see POST /v1/components."""
        return self._post("/v1/components", body, key)

    def _get_or_none(self, path: str, key: str) -> dict[str, Any] | None:
        try:
            return self._get(path, key)
        except ApiError as error:
            if error.kind == "missing":
                return None
            raise

    def _get(self, path: str, key: str) -> dict[str, Any]:
        return self._send("GET", path, None, key)

    def _post(self, path: str, body: dict[str, Any], key: str) -> dict[str, Any]:
        return self._send("POST", path, body, key)

    def _send(self, method: str, path: str, body: Any, key: str) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        for last in [False] * (_TRIES - 1) + [True]:
            try:
                answer = self._client.request(method, path, json=body, headers=headers)
            except (httpx.HTTPError, UnicodeEncodeError, ValueError) as error:
                raise self._unanswered(error) from error
            if answer.status_code != _BUSY or last:
                return _content(answer)
            time.sleep(_pause(answer))
        raise AssertionError("unreachable")

    def _unanswered(self, error: Exception) -> ApiError:
        if isinstance(error, UnicodeEncodeError):
            return ApiError("The API key has characters that no key has.", "key")
        if isinstance(error, ValueError):
            return ApiError(f"The request cannot be sent: {error}.", "refused")
        return ApiError(
            f"The service at {self.url} does not answer. Start it with `make serve`; this page "
            "goes on by itself when it is there.",
            "down",
        )


_BUSY = 429


def _pause(answer: httpx.Response) -> float:
    asked = answer.headers.get("retry-after", "")
    return min(float(asked) if asked.isdecimal() else 1.0, _LONGEST_WAIT)


def _content(answer: httpx.Response) -> dict[str, Any]:
    try:
        content = answer.json()
    except ValueError:
        content = None
    if answer.is_success and isinstance(content, dict):
        return content
    kinds = {401: "key", 404: "missing", _BUSY: "busy", 503: "down"}
    raise ApiError(_message(content, answer.status_code), kinds.get(answer.status_code, "refused"))


def _message(content: Any, status: int) -> str:
    try:
        message = str(content["error"]["message"])
    except (KeyError, TypeError):
        return f"The service gave no answer that this page can read (status {status})."
    return message[:1].upper() + message[1:]


def _shifted(name: str, start: int) -> str:
    """`pairs[3][0]` of a part, as it is called in the whole list."""
    _, index, rest = name.split("[", 2)
    return f"pairs[{start + int(index.rstrip(']'))}][{rest}"
