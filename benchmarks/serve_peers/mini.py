"""From the start of our service with two encoders until it is ready, and its memory."""

from __future__ import annotations

import itertools
from collections import Counter
from typing import TYPE_CHECKING, Any

from benchmarks.loadgen import Load, press
from benchmarks.serve_peers import peers
from benchmarks.serve_peers.messages import post
from benchmarks.serve_peers.process import Server
from benchmarks.spread import spread

if TYPE_CHECKING:
    from pathlib import Path

_MIB = 2**20


def measure_mini(folders: list[Path], starts: int, texts: list[str], folder: Path) -> Any:
    """Seconds to ready of each start, and memory of the last, of our service with two encoders.

    The first start may have to export the encoders; the later ones find them exported, and their
    files in the system's cache.
    """
    encoders = {f"mini-{number}": one for number, one in enumerate(folders, 1)}
    params = peers.write_params(folder / "mini.yaml", encoders)
    seconds, idle, warm = [], 0, 0
    statuses: Counter[int] = Counter()
    for _ in range(starts):
        with Server(peers.ours(params), folder) as server:
            seconds.append(server.start_seconds)
            idle = server.pss()
            for model in encoders:
                content = peers.openai_content(texts[:32], model)
                request = post(server.port, server.peer.path, content)
                load = Load(16, 32, seconds=3.0, lead_in=0.0)
                statuses.update(press(server.port, itertools.repeat(request), load, int).statuses)
            server.refresh()
            warm = server.pss()
    return {
        "encoders": [str(one) for one in folders],
        "statuses": {str(status): count for status, count in statuses.items()},
        "start_seconds": spread(seconds),
        "idle_mib": idle / _MIB,
        "warm_mib": warm / _MIB,
    }
