"""Encoders that change, break or appear while the service runs."""

from __future__ import annotations

import os
import re
import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.vectors import cosines
from pipeline.encoder.version import folder_version
from tests.serve.e2e.process import eventually
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


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the encoders that are served."""
    return tmp_path_factory.mktemp("reloading") / "models"


@pytest.fixture(scope="module")
def server(store: Store, models: Path) -> Iterator[Server]:
    """No test changes an encoder that another asks for."""
    names = ("replaced/1", "weights/1", "config/1")
    with store.serving(models.parent, dict.fromkeys(names, store.small)) as server:
        yield server


def version(server: Server, name: str) -> object:
    return server.get(f"/v1/models/{name}-1").json["version"]


def replace(served: Path, encoder: Path) -> None:
    """Put a changed encoder into the place of a served one, as one should: by renaming."""
    served.rename(served.with_name(".old"))
    encoder.rename(served)


def test_an_encoder_is_replaced_under_load_without_a_wrong_answer(
    server: Server, models: Path, store: Store, tmp_path: Path
) -> None:
    vectors = {
        name: SentenceEncoder.load(folder, "cpu").encode(TEXTS)
        for name, folder in (("old", store.small), ("new", store.wide))
    }
    seen: list[list[str]] = [[] for _ in range(CLIENTS)]
    over = threading.Event()

    def whose(found: np.ndarray) -> str:
        alike = [
            name
            for name, expected in vectors.items()
            if found.shape == expected.shape and cosines(found, expected).min() > SAME
        ]
        return alike[0] if alike else f"nobody's: {found}"

    def ask(mine: list[str]) -> None:
        request = post("/v1/embeddings", {"model": "replaced-1", "input": TEXTS})
        with Connection(server.address) as connection:
            while not over.is_set():
                answer = connection.ask(request)
                right = answer.status == 200
                mine.append(
                    whose(np.array(answer.embeddings, np.float32)) if right else repr(answer)
                )

    shutil.copytree(store.wide, tmp_path / "new")
    with ThreadPoolExecutor(CLIENTS) as clients:
        asking = [clients.submit(ask, mine) for mine in seen]
        try:
            eventually(lambda: all(len(mine) > 3 for mine in seen))
            replace(models / "replaced/1", tmp_path / "new")
            eventually(lambda: version(server, "replaced") == folder_version(store.wide))
            eventually(lambda: all(mine[-1] == "new" for mine in seen))
        finally:
            over.set()
    for client, mine in zip(asking, seen, strict=True):
        client.result()
        assert mine == sorted(mine, reverse=True)  # the old one's, then the new one's
        assert set(mine) == {"old", "new"}


def test_a_damaged_encoder_is_refused_with_the_reason_and_the_old_one_stays(
    server: Server, models: Path, store: Store, tmp_path: Path
) -> None:
    damaged = {"weights": "model.safetensors", "config": "config.json"}
    for name, file in damaged.items():
        half = shutil.copytree(store.small, tmp_path / name) / file
        os.truncate(half, half.stat().st_size // 2)
    for name in damaged:  # both before the service looks
        replace(models / name / "1", tmp_path / name)

    def refusals(name: str) -> list[str]:
        return re.findall(rf"encoder {name}-1 refused, the loaded one stays: (.*)", server.output)

    eventually(lambda: all(refusals(name) for name in damaged))
    time.sleep(1.2)  # two more looks: it is not tried again and again
    assert [len(refusals(name)) for name in damaged] == [1, 1]
    assert "deserializing" in refusals("weights")[0]
    assert "config.json" in refusals("config")[0]
    for name in damaged:
        asked = server.post("/v1/embeddings", {"model": f"{name}-1", "input": TEXTS})
        assert asked.status == 200
        assert version(server, name) == folder_version(store.small)
    assert server.readiness() == 200
