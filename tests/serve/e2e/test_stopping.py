"""How the service ends, and what becomes of those who wait for it."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import psutil  # type: ignore[import-untyped]
import pytest

from tests.serve.e2e.process import eventually
from tests.serve.e2e.store import WIDE, long_texts
from tests.serve.e2e.wire import PATIENCE, Connection, post

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

EMBEDDINGS = "/v1/embeddings"
SHORT = {"model": "vicreg-42", "input": "A man is playing a guitar."}
REQUESTS, TEXTS = 16, 10
DRAIN = 4.0  # seconds; a busy machine answers within a few tenths


def ended_cleanly(server: Server) -> bool:
    said = server.output
    return not [word for word in ("Traceback", "Error") if word in said]


def terminate(server: Server, *, all_processes: bool = False) -> None:
    """Send SIGTERM while requests wait: all are answered, and it says "not ready" for a while."""
    with ThreadPoolExecutor(REQUESTS + 1) as pool:
        waiting = [
            pool.submit(
                server.post, EMBEDDINGS, {"model": WIDE, "input": long_texts(TEXTS, TEXTS * number)}
            )
            for number in range(REQUESTS)
        ]
        eventually(lambda: server.series()["triad_queue_texts"] >= TEXTS)
        for process in server.tree if all_processes else [server.process]:
            process.send_signal(signal.SIGTERM)
        begun = time.monotonic()
        eventually(lambda: server.readiness() == 503, DRAIN)
        late = pool.submit(server.post, EMBEDDINGS, SHORT)
        time.sleep(0.25 * DRAIN)
        models = server.get("/v1/models")
        still_draining = time.monotonic() - begun < DRAIN
        answers = [future.result() for future in waiting]

    assert [answer.status for answer in answers] == [200] * REQUESTS
    assert {len(answer.embeddings) for answer in answers} == {TEXTS}
    assert still_draining
    assert (models.status, late.result().status) == (200, 200)
    assert server.process.wait(20) == 0
    assert time.monotonic() - begun > DRAIN
    assert ended_cleanly(server)


@pytest.fixture(scope="module")
def doomed(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """For the two tests below; the last ends it."""
    with store.serving(tmp_path_factory.mktemp("doomed"), drain_seconds=DRAIN) as server:
        yield server


def test_a_killed_worker_is_replaced(doomed: Server) -> None:
    killed = doomed.worker
    killed.kill()
    killed.wait(PATIENCE)
    doomed.wait_for(200)
    assert doomed.worker.pid != killed.pid
    assert doomed.post(EMBEDDINGS, SHORT).status == 200


def test_sigterm_answers_everybody_who_waits_and_says_not_ready_for_a_while(doomed: Server) -> None:
    terminate(doomed)


@pytest.mark.verify
def test_so_it_does_when_all_its_processes_get_it_as_systemd_sends_it(
    launch: Callable[..., Server],
) -> None:
    terminate(launch(drain_seconds=DRAIN), all_processes=True)


@pytest.mark.verify
def test_who_does_not_read_an_answer_cannot_keep_it_from_ending(
    launch: Callable[..., Server],
) -> None:
    server = launch(drain_seconds=0.0, stop_seconds=1.0)
    texts = [f"text {number}" for number in range(1000)]
    with Connection(server.address, receive_buffer=4096) as connection:
        content = {"model": "vicreg-42", "sources": texts, "targets": texts}
        connection.send(post("/v1/similarity", content))
        connection.wait()
        server.process.send_signal(signal.SIGTERM)
        psutil.wait_procs([server.process], 15)
        assert not server.process.is_running()


@pytest.mark.verify
def test_sigint_ends_it_quietly_and_leaves_no_process(launch: Callable[..., Server]) -> None:
    server = launch()
    everyone = server.tree
    assert server.stop(signal.SIGINT, 20) == 0
    assert ended_cleanly(server)
    assert not [process for process in everyone if process.is_running()]
