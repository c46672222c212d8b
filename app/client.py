"""A client of the service: HTTP requests in, plain values out, every failure as one sentence.

The page uses it, and so may anybody's script. It is here and not beside the service because the
page may run on another machine: it needs httpx and numpy, and nothing of the service.
"""

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict
from urllib.parse import quote

import httpx
import numpy as np
import numpy.typing as npt

Cosines = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Card = dict[str, Any]

_UNKNOWN = {"[UNK]", "<unk>"}
_AROUND = {"[CLS]", "[SEP]", "<s>", "</s>"}
# The service admits so many texts a request, times its encoders (serve.limits.items is 2048): more
# pairs are divided. No other list of the page is longer.
_TEXTS = 1024
_SECONDS = 60.0
_CONNECT_SECONDS = 5.0
# How often a service that is busy is asked, and how many seconds are waited for it altogether.
_TRIES = 3
_WAITED = 5.0
_BUSY = 429
_KINDS = {401: "key", 404: "missing", _BUSY: "busy", 502: "down", 503: "down", 504: "down"}


class ApiError(Exception):
    """The service refused a request, or did not answer.

    Attributes:
        message: one sentence for the person at the page.
        kind: `down`, `key` (an API key is wanted), `busy`, `missing`, or `refused`.
        code: the service's own word for it; empty where it gave none.
    """

    def __init__(self, message: str, kind: str, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.code = code


@dataclass(frozen=True)
class Similarities:
    """What one encoder says of texts: cosines, and the names of texts that it cut."""

    cosines: Cosines
    truncated: tuple[str, ...]


class Hit(TypedDict):
    """A document that a search found, and its place among those that were given."""

    index: int
    score: float
    document: str


@dataclass(frozen=True)
class BothViews:
    """Embeddings of a batch in both views, (N, D) each, and the names of texts that were cut."""

    anchor: Vectors
    positive: Vectors
    truncated: tuple[str, ...]


class Client:
    """A service; each call is one request or a few, and holds nothing of them.

    May be called from several threads. Every method raises ApiError, and nothing else, where the
    service cannot be asked or its answer cannot be used; `key` is an API key.

    Args:
        url: where it is, like http://127.0.0.1:3000.
        transport: for tests.

    Raises:
        ValueError: `url` is no address.
    """

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(
                f"url: {url!r} is no address of a service; give one like http://127.0.0.1:3000."
            )
        self.url = url.rstrip("/")
        # The environment's proxies are not for a service that is, mostly, on this machine.
        self._http = httpx.Client(
            base_url=self.url,
            timeout=httpx.Timeout(_SECONDS, connect=_CONNECT_SECONDS),
            transport=transport,
            trust_env=False,
        )

    def models(self, key: str = "") -> list[Card]:
        """The served encoders' cards."""
        answer = self._send("GET", "/v1/models", None, key)
        with self._understood():
            cards: list[Card] = list(answer["data"])
            _check(all(isinstance(card["id"], str) for card in cards))
            return cards

    def cards(self, key: str = "") -> dict[str, Card]:
        """The served encoders' cards by their ids."""
        return {card["id"]: card for card in self.models(key)}

    def training(self, model: str, key: str = "") -> dict[str, Any] | None:
        """An encoder's training record; None for one that Triad did not train."""
        name = quote(model, safe="").replace(".", "%2E")  # a path may not hold `..` as it is
        path = f"/v1/models/{name}/training"
        return self._send_or_none(path, "no_training_record", key)

    def results(self, key: str = "") -> dict[str, Any] | None:
        """The comparison table; None before there is one."""
        return self._send_or_none("/v1/results", "no_results", key)

    def losses(self, key: str = "") -> list[Card]:
        """The losses of others that the service takes apart, with their hyperparameters."""
        answer = self._send("GET", "/v1/objectives", None, key)
        with self._understood():
            return [card for card in answer["data"] if card["loss"] is not None]

    def pairs(
        self, models: Sequence[str], pairs: Sequence[tuple[str, str]], key: str = ""
    ) -> dict[str, Similarities]:
        """Each encoder's cosines of the pairs, (N,)."""
        models = list(dict.fromkeys(models))
        cosines = {model: np.empty(len(pairs)) for model in models}
        truncated: dict[str, list[str]] = {model: [] for model in models}
        size = _TEXTS // (2 * max(1, len(models)))
        for start in range(0, len(pairs), size):
            part = [list(pair) for pair in pairs[start : start + size]]
            cosines_by_model = self._similarities(
                {"models": models, "pairs": part}, (len(part),), key
            )
            for model, similar in cosines_by_model.items():
                cosines[model][start : start + size] = similar.cosines
                with self._understood():
                    truncated[model] += [_shifted(cut, start) for cut in similar.truncated]
        return {model: Similarities(cosines[model], tuple(truncated[model])) for model in models}

    def matrix(
        self, models: Sequence[str], sentences: Sequence[str], key: str = ""
    ) -> dict[str, Similarities]:
        """Each encoder's cosines of all sentences with all, (N, N)."""
        texts = {"sources": list(sentences), "targets": list(sentences)}
        body = {"models": list(dict.fromkeys(models)), **texts}
        return self._similarities(body, (len(sentences), len(sentences)), key)

    def search(
        self, model: str, query: str, documents: Sequence[str], top: int, key: str = ""
    ) -> list[Hit]:
        """The documents nearest to a query, best first."""
        body = {"model": model, "query": query, "documents": list(documents), "top_k": top}
        answer = self._send("POST", "/v1/search", body, key)
        with self._understood():
            return [
                Hit(
                    index=entry["index"],
                    score=float(entry["score"]),
                    document=documents[entry["index"]],
                )
                for entry in answer["data"]
            ]

    def views(
        self,
        model: str,
        anchors: Sequence[str],
        positives: Sequence[str] | None = None,
        seed: int = 0,
        key: str = "",
    ) -> BothViews:
        """The embeddings of a batch: two dropout views of the anchors where no positives are."""
        # Any objective: only the embeddings of the answer are used.
        extras = {"objective": "info_nce", "embeddings": True}
        answer = self.components(model, anchors, positives, seed, extras, key)
        with self._understood():
            views = answer["embeddings"]
            anchor, positive = (
                np.array(views[side], np.float32) for side in ("anchor", "positive")
            )
            _check(anchor.shape == positive.shape and anchor.ndim == 2)
            _check(len(anchor) == len(anchors) and bool(np.isfinite([anchor, positive]).all()))
            return BothViews(anchor, positive, tuple(map(str, answer["truncated"])))

    def components(
        self,
        model: str,
        anchors: Sequence[str],
        positives: Sequence[str] | None,
        seed: int,
        extras: Mapping[str, Any],
        key: str = "",
    ) -> dict[str, Any]:
        """What /v1/components answers for a batch; `extras` are its other fields."""
        body = {
            "model": model,
            "anchors": list(anchors),
            "positives": None if positives is None else list(positives),
            "seed": seed,
            **extras,
        }
        return self._send("POST", "/v1/components", body, key)

    def unknown(self, model: str, texts: Sequence[str], key: str = "") -> tuple[int, int]:
        """How many tokens of texts an encoder does not know, and how many they have."""
        answer = self._send("POST", "/v1/tokenize", {"model": model, "input": list(texts)}, key)
        with self._understood():
            tokens = [token for text in answer["data"] for token in text["tokens"]]
            words = [token for token in tokens if token not in _AROUND]
            return sum(token in _UNKNOWN for token in words), len(words)

    def _similarities(
        self, body: Mapping[str, Any], shape: tuple[int, ...], key: str
    ) -> dict[str, Similarities]:
        """By encoder, in the order of the request."""
        answer = self._send("POST", "/v1/similarity", body, key)
        with self._understood():
            entries = {entry["model"]: entry for entry in answer["data"]}
            similarities = {}
            for model in body["models"]:
                cosines = np.array(entries[model]["similarities"], float)
                _check(cosines.shape == shape and bool(np.isfinite(cosines).all()))
                similarities[model] = Similarities(
                    cosines, tuple(map(str, entries[model]["truncated"]))
                )
            return similarities

    def _send_or_none(self, path: str, code: str, key: str) -> dict[str, Any] | None:
        """What is there; None where the service says by `code` that there is nothing."""
        try:
            return self._send("GET", path, None, key)
        except ApiError as error:
            if error.code == code:
                return None
            raise

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, key: str
    ) -> dict[str, Any]:
        """The answer's JSON object; a service that is busy is asked again."""
        headers, content = _headers(key), None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = _encoded(body)
        waited = 0.0
        for _ in range(_TRIES - 1):
            answer = self._answer(method, path, content, headers)
            pause = _pause(answer)
            if answer.status_code != _BUSY or waited + pause > _WAITED:
                return self._content(answer)
            time.sleep(pause)
            waited += pause
        return self._content(self._answer(method, path, content, headers))

    def _answer(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> httpx.Response:
        try:
            return self._http.request(method, path, content=content, headers=headers)
        except httpx.InvalidURL as error:
            raise ApiError("The encoder's name is none; choose another encoder.", "missing") from (
                error
            )
        except httpx.ConnectTimeout as error:
            raise self._down() from error
        except httpx.TimeoutException as error:
            raise ApiError(
                f"The service at {self.url} gave no answer within {_SECONDS:.0f} seconds; try "
                "again, or with fewer texts.",
                "busy",
            ) from error
        except httpx.HTTPError as error:
            raise self._down() from error

    def _content(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            content = answer.json()
        except (ValueError, RecursionError):
            content = None
        if answer.is_success and isinstance(content, dict):
            return content
        kind = _KINDS.get(answer.status_code, "refused")
        message, code = _refusal(content)
        if message:
            raise ApiError(message[:1].upper() + message[1:], kind, code)
        if kind == "down":  # a proxy's answer, not the service's
            raise self._down()
        raise ApiError(
            f"The service at {self.url} gave an answer that this page cannot read (status "
            f"{answer.status_code}): is it Triad's?",
            kind,
        )

    def _down(self) -> ApiError:
        return ApiError(
            f"The service at {self.url} does not answer. Start it with `make serve`; this page "
            "goes on by itself when it is there.",
            "down",
        )

    @contextmanager
    def _understood(self) -> Iterator[None]:
        """Whatever goes wrong inside is the answer's fault."""
        try:
            yield
        except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
            raise ApiError(
                f"The service at {self.url} gave an answer that this page cannot read: is it "
                "Triad's, and of the same version?",
                "refused",
            ) from error


def _check(condition: bool) -> None:
    if not condition:
        raise ValueError


def _shifted(name: str, start: int) -> str:
    """`pairs[3][0]` of a part, as it is called in the whole list."""
    what, index, rest = name.replace("]", "[", 1).split("[", 2)
    return f"{what}[{start + int(index)}]{rest}"


def _headers(key: str) -> dict[str, str]:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ApiError(
            "The API key has characters that no key has; give it as you received it.", "key"
        )
    return {"Authorization": f"Bearer {key}"} if key else {}


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise ApiError(
            "The request cannot be sent: a text has half a surrogate pair, or a number is not "
            "finite; correct it.",
            "refused",
        ) from error


def _pause(answer: httpx.Response) -> float:
    """Seconds after which to come back; a date, which may also stand there, is not read."""
    header = answer.headers.get("Retry-After", "")
    return float(header) if header.isascii() and header.isdigit() else 1.0


def _refusal(content: Any) -> tuple[str, str]:
    """The service's sentence and its word for programs; empty where there are none."""
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "", ""
    return error["message"], str(error.get("code", ""))
