"""Tiny encoders, exported once a session, and services that serve them.

`server` is for tests that do no harm; `launch` starts one of a test's own.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from pipeline.encoder.encoder import SentenceEncoder
from pipeline.encoder.version import folder_version
from serve.encoders.export import export
from tests.serve.e2e.process import Server, running
from tests.serve.e2e.store import Launch, Made, Store, write_params
from tests.tiny import change_json, write_bert

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

# One layer is exported sooner than several, and can be as slow.
_WIDE = {"hidden_size": 256, "intermediate_size": 8192}


@pytest.fixture(scope="session", autouse=True)
def no_proxy() -> Iterator[None]:
    """For the client libraries: nothing here leaves the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    place, exported = tmp_path_factory.mktemp("encoders"), tmp_path_factory.mktemp("exported")

    def make(name: str, **shape: Any) -> Made:
        folder = write_bert(place / name, num_hidden_layers=1, **shape)
        SentenceEncoder.load(folder, "cpu").save(folder)
        if name == "first":
            change_json(folder / "config.json", matryoshka_dimensions=[16])
        export(folder, exported)
        return Made(folder, folder_version(folder))

    logging.disable(logging.WARNING)  # torch's exporter about what is not installed
    store = Store(exported, make("first"), make("wide", **_WIDE))
    logging.disable(logging.NOTSET)
    return store


@pytest.fixture(scope="session")
def server(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves `first-1` and `wide-1`; for everybody, so leave it as it is."""
    folder = tmp_path_factory.mktemp("server")
    encoders = {"first/1": store.first.folder, "wide/1": store.wide.folder}
    with running(folder, write_params(folder, store.exported, encoders)) as server:
        server.wait_for(200)
        yield server


@pytest.fixture
def launch(store: Store, tmp_path: Path) -> Iterator[Launch]:
    with ExitStack() as stack:

        def started(
            served: Mapping[str, Path], more: Mapping[str, str] | None = None, **changes: Any
        ) -> Server:
            params = write_params(tmp_path, store.exported, served, **changes)
            return stack.enter_context(running(tmp_path, params, more))

        yield started
