"""A service that finds nothing when it starts, and exports by itself what appears.

Its processes are watched from within: whom do they talk to? HOST is another address of the
loopback interface. The tests share it in the order of this file.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.process import Server, eventually, running
from tests.serve.e2e.store import copied, write_params

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.serve.e2e.store import Store

pytestmark = pytest.mark.verify
HOST = "127.0.0.2"
TEXT = {"model": "first-1", "input": "A man is playing a guitar."}
# On the path of all its processes, Python imports this first.
WITNESS = """
import os, sys

def witness(event, arguments):
    if event in ("socket.connect", "socket.sendto"):
        told = arguments[1]
    elif event in ("socket.getaddrinfo", "socket.gethostbyname"):
        told = arguments[0]
    else:
        return
    with open(os.environ["WITNESS"], "a") as file:
        print(event, told, file=file)

sys.addaudithook(witness)
"""


@dataclass(frozen=True)
class Watched:
    """A service, its folder, and the file that tells whom it called or looked up."""

    server: Server
    folder: Path
    witness: Path


@pytest.fixture(scope="module")
def watched(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("watched")
    witness = folder / "witness"
    (folder / "sitecustomize.py").write_text(WITNESS, encoding="utf-8")
    more = {"HOST": HOST, "PYTHONPATH": str(folder), "WITNESS": str(witness)}
    with running(
        folder, write_params(folder, store, {}, exported=str(folder / "exported")), more
    ) as server:
        eventually(lambda: "no_encoder" in server.try_get("/v1/models"))
        yield Watched(server, folder, witness)


def test_without_an_encoder_it_says_so_and_lives(watched: Watched) -> None:
    asked = watched.server.post("/v1/embeddings", TEXT)
    assert asked.status == 503
    assert asked.error == "no encoder is served (none was found); see the log."
    assert watched.server.readiness() == 503
    assert watched.server.get("/livez").status == 200


def test_it_listens_where_host_says_and_elsewhere_on_the_loopback_address_only(
    watched: Watched,
) -> None:
    found = watched.server.listening()
    assert watched.server.address in found
    assert {host for host, _ in found} == {HOST, "127.0.0.1"}


def test_it_becomes_ready_with_the_first_encoder_that_appears(
    watched: Watched, store: Store
) -> None:
    (watched.folder / "models" / "first").mkdir(parents=True)
    encoder = copied(store.small.folder, watched.folder / "copy")
    encoder.rename(watched.folder / "models" / "first" / "1")
    watched.server.wait_for(200)
    assert watched.server.post("/v1/embeddings", TEXT).status == 200
    assert (watched.folder / "exported" / store.small.version / "export.json").is_file()


def test_it_calls_no_other_machine_and_looks_none_up(watched: Watched) -> None:
    watched.server.wait_for(200)
    told = watched.witness.read_text(encoding="utf-8").splitlines()
    local = ("127.0.0.1", HOST, " /")  # the last: a socket of the file system
    assert any(HOST in line for line in told)  # the witness sees what the supervisor does
    assert [line for line in told if not any(place in line for place in local)] == []
    assert watched.server.peers() <= {"127.0.0.1", HOST}
