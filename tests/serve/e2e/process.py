"""A service in a process of its own, started as a user starts it, and stopped whatever happens.

Not here: what it serves (store.py).
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psutil  # type: ignore[import-untyped]

from tests.serve.e2e.wire import PATIENCE, Answer, Connection, head, post
from tests.tiny import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

BENTOML = str(Path(sys.executable).with_name("bentoml"))
COMMAND = (BENTOML, "serve", "serve.service:TriadService")
# Of the environment of whoever runs the tests; on CI, some libraries phone home less.
_LEFT_OUT = ("BENTOML_", "CI", "HOST", "JENKINS_URL", "PORT", "TF_BUILD", "TRIAD_")


def eventually(holds: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"it does not hold after {seconds:g} s"
        time.sleep(0.05)


def free_port(host: str = "127.0.0.1") -> int:
    with socket.socket() as one:
        one.bind((host, 0))
        return int(one.getsockname()[1])


def environment(more: Mapping[str, str]) -> dict[str, str]:
    """What the command sees."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(_LEFT_OUT)}
    return kept | {"BENTOML_DO_NOT_TRACK": "True", **more}


class Server:
    """`bentoml serve`, with its output in a file of `folder`, to be ended by `with`."""

    def __init__(
        self, folder: Path, more: Mapping[str, str], command: tuple[str, ...] = COMMAND
    ) -> None:
        host = more.get("HOST", "127.0.0.1")
        port = more.get("PORT") or str(free_port(host))
        self.address = (host, int(port))
        self.url = f"http://{host}:{port}"
        self._output = folder / "output"
        with self._output.open("wb") as output:
            self.process = psutil.Popen(
                command,
                cwd=ROOT,
                env=environment({**more, "PORT": port}),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        self._known = {self.process}  # an orphan is in nobody's tree

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.is_running():
            self._known.update(self.tree)
        for process in self._known:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        self.process.wait(PATIENCE)

    @property
    def output(self) -> str:
        """All that it has said, the log among it."""
        return self._output.read_text(encoding="utf-8")

    @property
    def records(self) -> list[dict[str, Any]]:
        """The service's own lines of the log, as far as they are whole."""
        whole = self.output.rpartition("\n")[0].splitlines()
        return [json.loads(line) for line in whole if line.startswith("{")]

    @property
    def tree(self) -> list[psutil.Process]:
        """All its processes."""
        return [self.process, *self.process.children(recursive=True)]

    @property
    def worker(self) -> psutil.Process:
        """The process that answers."""
        (worker,) = (
            child
            for child in self.process.children()
            if "_bentoml_impl.worker.service" in child.cmdline()
        )
        self._known.add(worker)
        return worker

    def ask(self, request: bytes) -> Answer:
        """The answer on a connection of its own."""
        with Connection(self.address) as connection:
            return connection.ask(request)

    def get(self, path: str) -> Answer:
        return self.ask(head("GET", path))

    def post(self, path: str, content: object) -> Answer:
        return self.ask(post(path, content))

    def series(self) -> dict[str, float]:
        """Its metrics: name and labels -> value."""
        text = self.get("/metrics").body.decode()
        pairs = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    def listening(self) -> set[tuple[str, int]]:
        """Where its processes wait for connections."""
        return {tuple(one.laddr) for one in self._connections() if one.status == "LISTEN"}

    def peers(self) -> set[str]:
        """Addresses that its processes are connected to."""
        return {one.raddr.ip for one in self._connections() if one.raddr}

    def _connections(self) -> list[Any]:
        found: list[Any] = []
        for process in self.tree:
            with suppress(psutil.NoSuchProcess):  # one that exported may end meanwhile
                found += process.net_connections("inet")
        return found

    def readiness(self) -> int:
        """The status of /readyz; 0 while nobody answers."""
        try:
            return self.get("/readyz").status
        except ConnectionError:
            return 0

    def wait_for(self, readiness: int) -> None:
        """Until /readyz answers so, as long as the process lives."""

        def answers() -> bool:
            assert self.process.poll() is None, f"it has ended: {self.output}"
            return self.readiness() == readiness

        eventually(answers)

    def stop(self, number: int = signal.SIGTERM, seconds: float = PATIENCE) -> int:
        """Signal the command; its exit status."""
        self.process.send_signal(number)
        return int(self.process.wait(seconds))
