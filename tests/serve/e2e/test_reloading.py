"""Encoders that change, break or appear while the service runs."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from tests.serve.e2e.process import eventually, running
from tests.serve.e2e.store import copied, write_params
from tests.serve.e2e.wire import Connection, post

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

pytestmark = pytest.mark.verify
TEXTS = ["A man is playing a guitar.", "no"]
CLIENTS = 3
SAME = 0.9999


@dataclass(frozen=True)
class Place:
    """A service and the folder of its encoders."""

    server: Server
    models: Path

    def replace(self, name: str, encoder: Path) -> None:
        """Put a changed encoder into the place of a served one, as one should: by renaming."""
        target = self.models / name
        target.rename(target.with_name(".old"))
        encoder.rename(target)


@pytest.fixture(scope="module")
def place(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """No test changes an encoder that another asks for."""
    folder = tmp_path_factory.mktemp("reloading")
    names = ("replaced/1", "weights/1", "config/1", "gone/1")
    params = write_params(folder, store, dict.fromkeys(names, store.small.folder))
    with running(folder, params) as server:
        server.wait_for(200)
        yield Place(server, folder / "models")


class Checking:
    """Clients that ask for the same vectors over and over, and note which encoder's they get."""

    def __init__(self, server: Server, vectors: dict[str, np.ndarray]) -> None:
        self.seen: list[list[str]] = [[] for _ in range(CLIENTS)]
        self.wrong: list[str] = []
        self._server = server
        self._vectors = vectors
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=[mine]) for mine in self.seen]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _ask(self, mine: list[str]) -> None:
        request = post("/v1/embeddings", {"model": "replaced-1", "input": TEXTS})
        with Connection(self._server.address) as connection:
            while not self._over.is_set():
                answer = connection.ask(request)
                if answer.status == 200:
                    mine.append(self._whose(answer.embeddings))
                else:
                    self.wrong.append(f"{answer.status}: {answer.body!r}")

    def _whose(self, found: list[list[float]]) -> str:
        for name, expected in self._vectors.items():
            if expected.shape == np.shape(found):
                norms = np.linalg.norm(expected, axis=1) * np.linalg.norm(found, axis=1)
                if ((expected * found).sum(axis=1) / norms > SAME).all():
                    return name
        self.wrong.append(f"nobody's vectors: {found}")
        return "nobody"


def test_an_encoder_is_replaced_under_load_without_a_wrong_answer(
    place: Place, store: Store, tmp_path: Path
) -> None:
    server = place.server
    assert server.version("replaced-1") == store.small.version
    made = {"old": store.small, "new": store.wide}
    vectors = {
        name: SentenceEncoder.load(one.folder, "cpu").encode(TEXTS) for name, one in made.items()
    }
    with Checking(server, vectors) as checking:
        eventually(lambda: all(len(mine) > 3 for mine in checking.seen))
        place.replace("replaced/1", copied(store.wide.folder, tmp_path / "new"))
        eventually(lambda: server.version("replaced-1") == store.wide.version)
        eventually(lambda: all(mine[-1] == "new" for mine in checking.seen))
    assert checking.wrong == []
    for mine in checking.seen:
        assert mine == sorted(mine, reverse=True)  # the old one's, then the new one's
        assert set(mine) == {"old", "new"}


def halved(file: Path) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def test_a_damaged_encoder_is_refused_with_the_reason_and_the_old_one_stays(
    place: Place, store: Store, tmp_path: Path
) -> None:
    server = place.server
    damaged = {"weights": "model.safetensors", "config": "config.json"}
    for name, file in damaged.items():
        halved(copied(store.small.folder, tmp_path / name) / file)
    for name in damaged:  # both before the service looks
        place.replace(f"{name}/1", tmp_path / name)

    def refusals(name: str) -> list[str]:
        start = f"encoder {name}-1 refused, the loaded one stays: "
        found = [message for message in server.messages if message.startswith(start)]
        return [message.removeprefix(start) for message in found]

    eventually(lambda: all(refusals(name) for name in damaged))
    time.sleep(1.2)  # two more looks: it is not tried again and again
    assert [len(refusals(name)) for name in damaged] == [1, 1]
    assert "deserializing" in refusals("weights")[0]
    assert "config.json" in refusals("config")[0]
    for name in damaged:
        assert server.version(f"{name}-1") == store.small.version
        asked = server.post("/v1/embeddings", {"model": f"{name}-1", "input": TEXTS})
        assert asked.status == 200
    assert server.readiness() == 200
