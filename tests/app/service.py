"""A stand-in for the service: cosines that are known for every pair of texts, and any refusal."""

import hashlib
import json
from collections.abc import Callable
from typing import Any

import httpx

from app.client import Client

URL = "http://triad.test"
ITEMS = 2048


def cosine(model: str, first: str, second: str) -> float:
    digest = hashlib.sha256("\0".join([model, *sorted([first, second])]).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def is_long(text: str) -> bool:
    return text.startswith("long")


class Service:
    """Answers as the service does, and keeps the bodies that it was sent."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        self.bodies.append(body)
        if request.url.path == "/v1/search":
            return httpx.Response(200, json={"data": self._found(body)})
        data = [self._similar(model, body) for model in body["models"]]
        return httpx.Response(200, json={"data": data})

    def _similar(self, model: str, body: dict[str, Any]) -> dict[str, Any]:
        similarities: list[Any]
        if "pairs" in body:
            pairs: list[list[str]] = body["pairs"]
            both = [(i, side) for i in range(len(pairs)) for side in (0, 1)]
            texts = {f"pairs[{i}][{side}]": pairs[i][side] for i, side in both}
            similarities = [cosine(model, *pair) for pair in pairs]
        else:
            sides = ("sources", "targets")
            texts = {f"{side}[{i}]": text for side in sides for i, text in enumerate(body[side])}
            similarities = [
                [cosine(model, one, other) for other in body["targets"]] for one in body["sources"]
            ]
        assert len(texts) * len(body["models"]) <= ITEMS
        cut = [place for place, text in texts.items() if is_long(text)]
        return {"model": model, "similarities": similarities, "truncated": cut}

    def _found(self, body: dict[str, Any]) -> list[dict[str, Any]]:
        assert len(body["documents"]) + 1 <= ITEMS
        found = [
            {"index": index, "score": cosine(body["model"], body["query"], text), "document": text}
            for index, text in enumerate(body["documents"])
        ]
        return sorted(found, key=lambda one: -one["score"])[: body["top_k"]]


def api(handler: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client(URL, httpx.MockTransport(handler))


def answering(*answers: httpx.Response) -> Client:
    """A service that gives these answers, the last one again and again."""
    waiting = list(answers)
    return api(lambda _: waiting.pop(0) if len(waiting) > 1 else waiting[0])


def refusal(status: int, message: str, code: str = "", **headers: str) -> httpx.Response:
    error = {"message": message, "type": "", "param": None, "code": code}
    return httpx.Response(status, json={"error": error}, headers=headers)
