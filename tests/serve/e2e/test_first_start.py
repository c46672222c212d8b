"""A service that finds nothing when it starts, and exports by itself what appears.

Its processes are watched from within: whom do they talk to? HOST is another address of the
loopback interface.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from pipeline.encoder.version import folder_version
from tests.serve.e2e.process import eventually

if TYPE_CHECKING:
    from pathlib import Path

    from tests.serve.e2e.store import Store

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


@pytest.mark.verify
def test_without_an_encoder_it_waits_for_the_first_and_exports_it_and_calls_no_other_machine(
    store: Store, tmp_path: Path
) -> None:
    (tmp_path / "sitecustomize.py").write_text(WITNESS, encoding="utf-8")
    witness, exported = tmp_path / "witness", tmp_path / "exported"
    environment = {"HOST": HOST, "PYTHONPATH": str(tmp_path), "WITNESS": str(witness)}
    with store.serving(tmp_path, {}, environment, readiness=503, exported=str(exported)) as server:
        eventually(lambda: b"no_encoder" in server.get("/v1/models").body)
        asked = server.post("/v1/embeddings", TEXT)
        assert asked.status == 503
        assert asked.error == "no encoder is served (none was found); see the log."
        assert server.readiness() == 503
        assert server.get("/livez").status == 200

        listening = server.listening()
        assert server.address in listening
        assert {host for host, _ in listening} == {HOST, "127.0.0.1"}

        shutil.copytree(store.small, tmp_path / "models" / "first" / ".copy")
        (tmp_path / "models" / "first" / ".copy").rename(tmp_path / "models" / "first" / "1")
        server.wait_for(200)
        assert server.post("/v1/embeddings", TEXT).status == 200
        assert (exported / folder_version(store.small) / "export.json").is_file()

        told = witness.read_text(encoding="utf-8").splitlines()
        local = ("127.0.0.1", HOST, " /")  # the last: a socket of the file system
        assert any(HOST in line for line in told)  # the witness sees what the supervisor does
        assert [line for line in told if not any(place in line for place in local)] == []
        assert server.peers() <= {"127.0.0.1", HOST}
