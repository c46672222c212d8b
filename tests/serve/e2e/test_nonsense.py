"""Requests that make no sense, thousands of them: each is answered, and harms nobody."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.nonsense import RIGHT, Nonsense
from tests.serve.e2e.process import eventually
from tests.serve.e2e.wire import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

SEED = 20240811
FEW, PROBES, WARM = 400, 10_000, 3000
CONNECTIONS = 8
INVALID_EACH = 50  # one in so many is not even HTTP


def statuses(server: Server, requests: Sequence[bytes]) -> list[int]:
    """Of one request after the other, on one connection as long as the service keeps it."""
    found = []
    connection = Connection(server.address)
    for request in requests:
        answer = connection.ask(request)
        found.append(answer.status)
        if answer.headers.get("connection") == "close":
            connection.close()
            connection = Connection(server.address)
    connection.close()
    return found


def ask(server: Server, nonsense: Nonsense, count: int) -> None:
    """Several clients at once: none meets a fault, and the same process lives on."""
    worker = server.worker
    requests = list(islice(nonsense, count))
    parts = [requests[start::CONNECTIONS] for start in range(CONNECTIONS)]
    seen: set[int] = set()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        for part, found in zip(
            parts, pool.map(statuses, [server] * len(parts), parts), strict=True
        ):
            faults = [
                request[:500] for request, status in zip(part, found, strict=True) if status >= 500
            ]
            assert not faults
            seen.update(found)
    assert seen >= {200, 307, 400, 404, 405, 415}
    for _ in range(count // INVALID_EACH):
        assert server.ask(nonsense.invalid()).status == 400
    assert server.worker == worker


def test_a_few_hundred_requests_that_make_no_sense_are_refused_and_harm_nobody(
    server: Server,
) -> None:
    ask(server, Nonsense(SEED), FEW)


def held(server: Server) -> tuple[int, int, set[str]]:
    """Open files, bytes of its own memory and time series, while nobody asks for anything.

    Code and other files are left out: those are its own only as long as no other process has the
    same ones open, so that USS and PSS change with what else runs on the machine.
    """
    worker = server.worker
    eventually(lambda: not worker.net_connections("tcp4")[1:])  # but the one that listens
    files, memory = worker.num_fds(), worker.memory_info()  # before the next connection
    return files, memory.rss - memory.shared, set(server.series())


@pytest.mark.verify
def test_thousands_of_them_leave_no_file_open_no_memory_taken_and_few_time_series(
    store: Store, tmp_path: Path
) -> None:
    # OpenVINO keeps what it has compiled for the last dozens of shapes of batches, so that its
    # memory grows for longer than the first requests take.
    with store.serving(tmp_path, backend="onnxruntime-f32") as server:
        # What is loaded when it is first asked for is no leak: torch, and the encoder with dropout.
        dropout = RIGHT["/v1/components"] | {"model": "vicreg-42", "positives": None}
        assert server.post("/v1/components", dropout).status == 200
        nonsense = Nonsense(SEED)
        ask(server, nonsense, WARM)
        files, memory, series = held(server)
        ask(server, nonsense, PROBES - WARM)
        files_then, memory_then, series_then = held(server)
    assert files_then == files
    assert memory_then <= 1.02 * memory
    assert len(series_then) < 500
    assert len(series_then - series) <= 20
    assert not [name for name in series_then if "%" in name or "passwd" in name]
