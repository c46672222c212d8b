"""Two tiny encoders, exported once a session, and services that serve them.

`server` and `locked` are for tests that do no harm; `launch` starts one of a test's own. A server
takes seconds to start: what can be asked of `server` is not asked of another.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import pytest

from tests.serve.e2e.store import Store, make_store
from tests.serve.e2e.wire import Connection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from tests.serve.e2e.process import Server

KEY = "a-key-of-the-tests"


@pytest.fixture(scope="session", autouse=True)
def no_proxy() -> Iterator[None]:
    """For the client libraries: nothing here leaves the machine."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NO_PROXY", "127.0.0.1")
        yield


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="session")
def server(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves `vicreg-42` and `vicreg_modified-42`; for everybody, so leave it as it is."""
    with store.serving(tmp_path_factory.mktemp("server")) as server:
        yield server


@pytest.fixture(scope="session")
def locked(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Serves the same to those who have KEY, and 32 texts at once; leave it as it is, too."""
    folder, keys = tmp_path_factory.mktemp("locked"), {"TRIAD_API_KEYS": f"another,{KEY}"}
    limits = {"items": 32, "queue_texts": 32}
    with store.serving(folder, environment=keys, limits=limits) as server:
        yield server


@pytest.fixture
def launch(store: Store, tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Starts a service of the test's own, which ends with it."""
    with ExitStack() as stack:

        def started(environment: Mapping[str, str] | None = None, **changes: Any) -> Server:
            serving = store.serving(tmp_path, environment=environment, **changes)
            return stack.enter_context(serving)

        yield started


@pytest.fixture
def connection(server: Server) -> Iterator[Connection]:
    """One of the test's own to `server`."""
    with Connection(server.address) as connection:
        yield connection
