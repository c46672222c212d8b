"""The clients of serve.py and soak.py: a locustfile, which both start by themselves.

locust has an environment of its own:

    python3 -m venv locust && locust/bin/pip install locust numpy

The variable LOAD names a folder whose load.json says what to send; what came back is written to
answers.json beside it.
"""

import base64
import itertools
import json
import os
import random
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any

import gevent
import numpy as np
from locust import FastHttpUser, events, task

FOLDER = Path(os.environ["LOAD"])
LOAD = json.loads((FOLDER / "load.json").read_text(encoding="utf-8"))
HEADERS = {"Content-Type": "application/json", "Accept-Encoding": "identity"}
SIZES = (1, 1, 1, 2, 4, 8, 16, 32, 64)  # texts of a mixed request
# Inputs that must be answered with 400.
NONSENSE: dict[str, Any] = {
    "empty text": "",
    "empty list": [],
    "an empty text of three": ["A text.", "", "A text."],
    "a number among texts": ["A text.", 7],
    "null": None,
    "too many texts": ["A text."] * 2049,
}

# What came back.
requests: list[tuple[float, float, int]] = []  # Steady's: start and end (time.monotonic), status
statuses: Counter[str] = Counter()  # of Mixed's answers, by "kind: status"
wrong: Counter[str] = Counter()  # what must not happen, by what it was
cosines: list[float] = []  # the least of each of Mixed's good answers
latencies: list[float] = []  # seconds of these
counts: Counter[str] = Counter()  # vectors compared, requests given up


@events.quitting.add_listener  # type: ignore[untyped-decorator]
def write(**_: object) -> None:
    """Leave what came back."""
    answers = {
        "requests": requests,
        "statuses": statuses,
        "wrong": wrong,
        "cosines": cosines,
        "latencies": latencies,
        "counts": counts,
    }
    (FOLDER / "answers.json").write_text(json.dumps(answers), encoding="utf-8")


class Steady(FastHttpUser):  # type: ignore[misc]
    """Sends the next request as soon as the last one is answered.

    load.json has the `path`, and the `bodies` that are sent in turns.
    """

    bodies = itertools.cycle(LOAD.get("bodies", ()))

    @task  # type: ignore[untyped-decorator]
    def ask(self) -> None:
        """One request."""
        body = next(self.bodies)
        start = time.monotonic()
        response = self.client.post(LOAD["path"], data=body, headers=HEADERS)
        requests.append((start, time.monotonic(), response.status_code))


class Mixed(FastHttpUser):  # type: ignore[misc]
    """Asks for embeddings of 1 to 64 texts, asks for nonsense, gives up; looks at every vector.

    load.json has the `model`, the `texts` and the mean of pauses, `think`, in seconds; vectors.npy
    what each text must give.
    """

    path = "/v1/embeddings"

    def on_start(self) -> None:
        """Read the vectors."""
        self.expected = np.load(FOLDER / "vectors.npy", mmap_mode="r")

    def wait_time(self) -> float:
        """A pause of random length."""
        return random.expovariate(1 / LOAD["think"])

    @task(18)  # type: ignore[untyped-decorator]
    def good(self) -> None:
        """Texts whose vectors are known."""
        chosen = random.sample(range(len(LOAD["texts"])), random.choice(SIZES))
        encoding = random.choice(["base64", "base64", "base64", "float"])
        texts = [LOAD["texts"][index] for index in chosen]
        start = time.monotonic()
        response = self.answer("good", input=texts, encoding_format=encoding)
        if response.status_code != 200:
            wrong[f"good: status {response.status_code}"] += 1
            return
        latencies.append(time.monotonic() - start)
        rows = json.loads(response.content)["data"]
        if [row["index"] for row in rows] != list(range(len(chosen))):
            wrong["vectors are missing, or in another order"] += 1
            return
        vectors = np.array([decoded(row["embedding"]) for row in rows], np.float64)
        expected = self.expected[chosen]
        norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(expected, axis=1)
        cosines.append(float(((vectors * expected).sum(axis=1) / norms).min()))
        counts["vectors"] += len(chosen)

    @task(1)  # type: ignore[untyped-decorator]
    def bad(self) -> None:
        """Nonsense, which must be answered with its error."""
        name, nonsense = random.choice(list(NONSENSE.items()))
        response = self.answer(name, input=nonsense)
        if response.status_code != 400 or b'"error"' not in response.content:
            wrong[f"{name}: status {response.status_code}"] += 1

    @task(1)  # type: ignore[untyped-decorator]
    def given_up(self) -> None:
        """A request whose client is gone before the answer, and sometimes before its end."""
        texts = random.sample(LOAD["texts"], random.choice(SIZES))
        body = json.dumps({"model": LOAD["model"], "input": texts}).encode()
        head = f"POST {self.path} HTTP/1.1\r\nHost: triad\r\nContent-Length: {len(body)}\r\n\r\n"
        end = random.choice([None, None, None, -len(body) // 2])
        host, port = self.host.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall((head.encode() + body)[:end])
            gevent.sleep(random.uniform(0, 0.1))
        counts["given up"] += 1

    def answer(self, kind: str, **content: Any) -> Any:
        """An answer other than 429, which is waited out as its Retry-After says."""
        body = json.dumps({"model": LOAD["model"], **content})
        while True:
            response = self.client.post(self.path, data=body, headers=HEADERS)
            statuses[f"{kind}: {response.status_code}"] += 1
            if response.status_code != 429:
                return response
            gevent.sleep(int(response.headers["Retry-After"]))


def decoded(embedding: str | list[float]) -> Any:
    """A vector, from base64 or numbers."""
    if isinstance(embedding, str):
        return np.frombuffer(base64.b64decode(embedding), "<f4")
    return embedding
