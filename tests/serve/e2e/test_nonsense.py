"""Requests that make no sense, thousands of them: each is answered, and harms nobody."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING

import pytest

from tests.serve.e2e.nonsense import Nonsense
from tests.serve.e2e.process import eventually, running
from tests.serve.e2e.store import write_params
from tests.serve.e2e.wire import Connection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import psutil  # type: ignore[import-untyped]

    from tests.serve.e2e.process import Server
    from tests.serve.e2e.store import Store

SEED = 20240811
FEW, PROBES, WARM = 400, 10_000, 3000
CONNECTIONS = 8
INVALID_EACH = 50  # one in so many is not even HTTP


class Crowd:
    """Several connections that ask in turn, and count how they are answered."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._connections: list[Connection] = []
        self.statuses: Counter[int] = Counter()
        self.faults: list[bytes] = []

    def ask(self, requests: Iterable[bytes]) -> None:
        requests = iter(requests)
        self._connections = [Connection(self._server.address) for _ in range(CONNECTIONS)]
        while several := list(islice(requests, CONNECTIONS)):
            for connection, request in zip(self._connections, several, strict=False):
                connection.send(request)
            for place, request in enumerate(several):
                answer = self._connections[place].answer()
                self.statuses[answer.status] += 1
                if answer.status >= 500:
                    self.faults.append(request[:500])
                if answer.headers.get("connection") == "close":
                    self._connections[place].close()
                    self._connections[place] = Connection(self._server.address)
        for connection in self._connections:
            connection.close()


def anonymous(process: psutil.Process) -> int:
    """Bytes of its own memory, code and other files left out.

    Those are not its own only as long as another process has the same ones open, so that USS and
    PSS change with what else runs on the machine.
    """
    memory = process.memory_info()
    return int(memory.rss - memory.shared)


@dataclass(frozen=True)
class State:
    """What the service holds while nobody asks for anything."""

    worker: int
    memory: int
    files: int
    series: frozenset[str] = field(repr=False)

    @classmethod
    def of(cls, server: Server) -> State:
        worker = server.worker
        eventually(lambda: not worker.net_connections("tcp4")[1:])  # but the one that listens
        files = worker.num_fds()  # before the next connection
        return cls(worker.pid, anonymous(worker), files, frozenset(server.series()))


@dataclass(frozen=True)
class Aftermath:
    """How it was answered, and the state after the first probes and after all of them."""

    crowd: Crowd
    invalid: Counter[int]
    warm: State
    end: State


@pytest.fixture(scope="module")
def aftermath(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Aftermath]:
    folder = tmp_path_factory.mktemp("nonsense")
    # OpenVINO keeps what it has compiled for the last dozens of shapes of batches, so that its
    # memory grows for longer than the first requests take.
    params = write_params(folder, store, store.both, backend="onnxruntime-f32")
    with running(folder, params) as server:
        server.wait_for(200)
        nonsense = Nonsense(SEED)
        crowd, invalid, states = Crowd(server), Counter[int](), []
        for count in (WARM, PROBES - WARM):
            crowd.ask(islice(nonsense, count - count // INVALID_EACH))
            for _ in range(count // INVALID_EACH):
                with Connection(server.address) as connection:
                    invalid[connection.ask(nonsense.invalid()).status] += 1
            states.append(State.of(server))
        yield Aftermath(crowd, invalid, *states)


def test_a_few_hundred_requests_that_make_no_sense_are_refused_and_harm_nobody(
    server: Server,
) -> None:
    worker = server.worker
    nonsense, crowd = Nonsense(SEED), Crowd(server)
    crowd.ask(islice(nonsense, FEW))
    assert crowd.faults == []
    assert crowd.statuses.total() == FEW
    assert crowd.statuses.keys() >= {200, 307, 400, 404, 405, 415}
    for _ in range(FEW // INVALID_EACH):
        with Connection(server.address) as connection:
            assert connection.ask(nonsense.invalid()).status == 400
    assert server.worker == worker


@pytest.mark.verify
def test_nonsense_never_gets_a_5xx(aftermath: Aftermath) -> None:
    assert aftermath.crowd.faults == []
    assert aftermath.crowd.statuses.keys() >= {200, 307, 400, 404, 405, 415}
    assert aftermath.crowd.statuses.total() + aftermath.invalid.total() == PROBES


@pytest.mark.verify
def test_what_is_no_http_always_gets_400(aftermath: Aftermath) -> None:
    assert aftermath.invalid.keys() == {400}


@pytest.mark.verify
def test_the_same_process_answers_after_nonsense(aftermath: Aftermath) -> None:
    assert aftermath.end.worker == aftermath.warm.worker


@pytest.mark.verify
def test_nonsense_leaves_no_file_open(aftermath: Aftermath) -> None:
    assert aftermath.end.files == aftermath.warm.files


@pytest.mark.verify
def test_nonsense_leaves_no_memory_taken(aftermath: Aftermath) -> None:
    assert aftermath.end.memory <= 1.02 * aftermath.warm.memory


@pytest.mark.verify
def test_nonsense_makes_no_time_series_of_its_own(aftermath: Aftermath) -> None:
    assert len(aftermath.end.series) < 500
    assert len(aftermath.end.series - aftermath.warm.series) <= 20
    assert not [name for name in aftermath.end.series if "%" in name or "passwd" in name]
