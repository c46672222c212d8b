"""A server as a tree of processes: started, waited for, measured, stopped."""

from __future__ import annotations

import importlib
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any, Self

from benchmarks.serve_peers.messages import HOST, ask, get, post
from benchmarks.serve_peers.texts import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from types import TracebackType

    from benchmarks.serve_peers.peers import Peer

psutil: Any = importlib.import_module("psutil")  # has no types
_POLL = 0.01  # seconds between two questions whether it is ready
_STOP = 60.0  # seconds that it may take to end by itself


def stop_servers_when_terminated() -> None:
    """Let SIGTERM end us as an error does, so that servers are stopped on the way out."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


class Server:
    """A running server; what it writes goes into a file."""

    def __init__(self, peer: Peer, folder: Path, patience: float = 300.0) -> None:
        """Start it, and return when it is ready.

        Args:
            peer: what to start.
            folder: for its log and what it writes.
            patience: seconds within which it must be ready.

        Raises:
            ChildProcessError: it ended, or is not ready in time.
        """
        self.peer = peer
        self.port = _free_port()
        self.log = folder / f"{peer.name}.log"
        began = time.perf_counter()
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(  # noqa: S603 - a command of peers.py
                [part.replace("{port}", str(self.port)) for part in peer.command],
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=ROOT,
                env=self._environment(folder),
                start_new_session=True,  # an interrupt reaches us first, and we stop it
            )
        try:
            self.start_seconds = self._ready(began, patience)
        except BaseException:
            self.stop()
            raise
        self.refresh()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def refresh(self) -> None:
        """Look again at which processes there are; `cpu` and `pss` add up over these."""
        root = psutil.Process(self._process.pid)
        self.processes = [root, *root.children(recursive=True)]

    def cpu(self) -> float:
        """Seconds of user and system that the processes have taken so far.

        Raises:
            psutil.NoSuchProcess: one of them has ended.
        """
        times = [process.cpu_times() for process in self.processes]
        return float(sum(one.user + one.system for one in times))

    def pss(self) -> int:
        """Bytes in memory, what is shared with others divided by the number of those sharing."""
        return sum(int(p.memory_full_info().pss) for p in self.processes)

    def running(self) -> bool:
        """Whether every one of the processes still runs."""
        return all(p.is_running() and p.status() != psutil.STATUS_ZOMBIE for p in self.processes)

    def requests(self, texts: list[str], size: int) -> Iterator[bytes]:
        """Requests of so many texts each, made now, and again from the start without end."""
        starts = range(0, len(texts) - size + 1, size)
        made = [self.request(texts[start : start + size]) for start in starts]
        return itertools.cycle(made)

    def request(self, texts: list[str]) -> bytes:
        """One request of these texts."""
        return post(self.port, self.peer.path, self.peer.content(texts))

    def stop(self) -> None:
        """End it: by request, and by force what is still there after a minute."""
        try:
            root = psutil.Process(self._process.pid)
            everyone = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            everyone = []
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        _, left = psutil.wait_procs(everyone, timeout=_STOP)
        for process in left:
            process.kill()
        self._process.wait()

    def _environment(self, folder: Path) -> dict[str, str]:
        inherited = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        fixed = {
            "HF_HUB_OFFLINE": "1",
            "BENTOML_DO_NOT_TRACK": "True",
            # Two services that share it would find each other's metrics.
            "BENTOML_HOME": str(folder / f"{self.peer.name}.bentoml"),
        }
        own = {k: v.replace("{port}", str(self.port)) for k, v in self.peer.environment.items()}
        return inherited | fixed | own

    def _ready(self, began: float, patience: float) -> float:
        question = get(self.port, self.peer.ready)
        while (seconds := time.perf_counter() - began) < patience:
            if self._process.poll() is not None:
                raise ChildProcessError(f"{self._failed('ended before it was ready')}")
            try:
                if ask(self.port, question, timeout=5.0)[0] == 200:
                    return time.perf_counter() - began
            except OSError:
                pass
            time.sleep(_POLL)
        raise ChildProcessError(self._failed(f"is not ready after {seconds:.0f} s"))

    def _failed(self, how: str) -> str:
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join([f"{self.peer.name}: {how}; the end of its log:", *lines[-20:]])


def _free_port() -> int:
    with socket.socket() as one:
        one.bind((HOST, 0))
        port: int = one.getsockname()[1]
        return port
