"""The page in a process of its own, as `python -m app` starts it."""

from __future__ import annotations

import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx

from tests.serve.e2e.process import ROOT, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def page_alone(api: str) -> Iterator[str]:
    """The page in a process of its own; its address."""
    port = free_port()
    command = [sys.executable, "-m", "app", "--api", api, "--port", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/demo/"
    try:
        deadline = time.monotonic() + 60
        while True:
            try:
                httpx.get(url, trust_env=False)
                break
            except httpx.TransportError:
                assert process.poll() is None
                assert time.monotonic() < deadline
                time.sleep(0.1)
        yield url
    finally:
        process.terminate()
        process.wait(30)
