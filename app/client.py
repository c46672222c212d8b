"""The service as the page sees it: HTTP requests in, plain values out, failures as sentences.

Nothing here imports the service: the page works with one on another machine as well. Not here: how
a request is sent (transport.py).
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx
import numpy as np
import numpy.typing as npt

from app.transport import ApiError, Transport

__all__ = ["Api", "ApiError", "Similarities"]

Cosines = npt.NDArray[np.float64]

# The service admits so many texts a request, times its encoders (serve.limits.items is 2048): more
# pairs are divided. No other list of the page is longer.
_TEXTS = 1024


@dataclass(frozen=True)
class Similarities:
    """What one encoder says of texts: cosines, and the names of texts that it cut."""

    cosines: Cosines
    truncated: tuple[str, ...]


class Api:
    """A service; each call is one request or a few, and holds nothing of them.

    May be called from several threads. Every method raises ApiError, and nothing else, where the
    service cannot be asked or its answer cannot be used.

    Args:
        url: where it is, like http://127.0.0.1:3000.
        transport: for tests.
    """

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        self.url = url.rstrip("/")
        self._transport = Transport(self.url, transport)

    def models(self, key: str = "") -> list[dict[str, Any]]:
        """The served encoders' cards."""
        answer = self._transport.send("GET", "/v1/models", None, key)
        with self._understood():
            cards: list[dict[str, Any]] = list(answer["data"])
            _check(isinstance(card["id"], str) for card in cards)
            return cards

    def cards(self, key: str = "") -> dict[str, dict[str, Any]]:
        """The served encoders' cards by their ids."""
        return {card["id"]: card for card in self.models(key)}

    def training(self, model: str, key: str = "") -> dict[str, Any] | None:
        """An encoder's training record; None for one that Triad did not train."""
        path = f"/v1/models/{quote(model, safe='')}/training"
        return self._transport.send_or_none("GET", path, "no_training_record", key)

    def results(self, key: str = "") -> dict[str, Any] | None:
        """The comparison table; None before there is one."""
        return self._transport.send_or_none("GET", "/v1/results", "no_results", key)

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
            for model, entry in self._similarities({"models": models, "pairs": part}, models, key):
                with self._understood():
                    cosines[model][start : start + size] = _cosines(entry, (len(part),))
                    truncated[model] += [_shifted(cut, start) for cut in entry["truncated"]]
        return {model: Similarities(cosines[model], tuple(truncated[model])) for model in models}

    def matrix(
        self, models: Sequence[str], sentences: Sequence[str], key: str = ""
    ) -> dict[str, Similarities]:
        """Each encoder's cosines of all sentences with all, (N, N)."""
        models, count = list(dict.fromkeys(models)), len(sentences)
        texts = {"sources": list(sentences), "targets": list(sentences)}
        found = {}
        for model, entry in self._similarities({"models": models, **texts}, models, key):
            with self._understood():
                cosines = _cosines(entry, (count, count))
                found[model] = Similarities(cosines, tuple(map(str, entry["truncated"])))
        return found

    def search(
        self, model: str, query: str, documents: Sequence[str], top: int, key: str = ""
    ) -> list[dict[str, Any]]:
        """The documents nearest to a query, best first, with `index`, `score` and `document`."""
        body = {"model": model, "query": query, "documents": list(documents), "top_k": top}
        answer = self._transport.send("POST", "/v1/search", body, key)
        with self._understood():
            return [
                {**one, "score": float(one["score"]), "document": documents[one["index"]]}
                for one in answer["data"]
            ]

    def components(self, body: Mapping[str, Any], key: str = "") -> dict[str, Any]:
        """An objective's gradient components for a batch: see POST /v1/components."""
        return self._transport.send("POST", "/v1/components", body, key)

    def _similarities(
        self, body: dict[str, Any], models: list[str], key: str
    ) -> list[tuple[str, dict[str, Any]]]:
        answer = self._transport.send("POST", "/v1/similarity", body, key)
        with self._understood():
            entries = {entry["model"]: entry for entry in answer["data"]}
            return [(model, entries[model]) for model in models]

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


def _cosines(entry: Mapping[str, Any], shape: tuple[int, ...]) -> Cosines:
    found = np.array(entry["similarities"], float)
    _check([found.shape == shape, bool(np.isfinite(found).all())])
    return found


def _check(conditions: Iterable[bool]) -> None:
    if not all(conditions):
        raise ValueError


def _shifted(name: str, start: int) -> str:
    """`pairs[3][0]` of a part, as it is called in the whole list."""
    what, index, rest = name.replace("]", "[", 1).split("[", 2)
    return f"{what}[{start + int(index)}]{rest}"
