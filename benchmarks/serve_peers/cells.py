"""Measuring one cell - one subject under one load in one round - and summing up its rounds.

Everything is measured within the same seconds: texts answered, CPU time of the server's processes,
and what the machine did besides, by which one sees whether its cores were quiet.
"""

from __future__ import annotations

import importlib
import time
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.loadgen import Load, press
from benchmarks.spread import spread

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from benchmarks.serve_peers.encode import Encode
    from benchmarks.serve_peers.process import Server

psutil: Any = importlib.import_module("psutil")  # has no types


@dataclass(frozen=True)
class Cell:
    """One round's figures.

    Attributes:
        texts_per_second: throughput.
        cpu_ms_per_text: user and system, of the server's processes; the load is not in it.
        latencies_ms: of each request, or of each call of encode.
        statuses: answers of each status.
        elsewhere: cores that were busy with neither the subject nor the load.
        stolen: cores that the hypervisor gave to others.
    """

    texts_per_second: float
    cpu_ms_per_text: float
    latencies_ms: np.ndarray
    elsewhere: float
    stolen: float
    statuses: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class _Reading:
    """CPU seconds so far: of the subject, of the load, of the machine, stolen from it."""

    subject: float
    load: float
    machine: float
    stolen: float

    @staticmethod
    def now(subject: float) -> _Reading:
        times = psutil.cpu_times()
        busy = times.user + times.nice + times.system + times.irq + times.softirq
        return _Reading(subject, time.process_time(), busy, times.steal)


def measure_server(server: Server, requests: Iterator[bytes], load: Load) -> Cell:
    """A server under a load."""
    server.refresh()
    outcome = press(server.port, requests, load, lambda: _Reading.now(server.cpu()))
    before, after, seconds = outcome.before, outcome.after, outcome.seconds
    cpu = after.subject - before.subject
    return Cell(
        texts_per_second=outcome.texts_per_second,
        cpu_ms_per_text=1000 * cpu / outcome.texts if outcome.texts else float("nan"),
        latencies_ms=1000 * outcome.latencies,
        elsewhere=_elsewhere(before, after, cpu) / seconds,
        stolen=(after.stolen - before.stolen) / seconds,
        statuses=outcome.statuses,
    )


def measure_encode(encode: Encode, texts: int, load: Load) -> Cell:
    """`SentenceTransformer.encode` with so many texts a call, for the same time."""
    encode.measure(texts, load.lead_in)
    before = _Reading.now(0.0)
    found = encode.measure(texts, load.seconds)
    after = _Reading.now(0.0)
    return Cell(
        texts_per_second=found["texts"] / found["seconds"],
        cpu_ms_per_text=1000 * found["cpu"] / found["texts"],
        latencies_ms=1000 * np.array(found["latencies"]),
        elsewhere=_elsewhere(before, after, found["cpu"]) / found["seconds"],
        stolen=(after.stolen - before.stolen) / found["seconds"],
    )


def _elsewhere(before: _Reading, after: _Reading, subject: float) -> float:
    return after.machine - before.machine - (after.load - before.load) - subject


def summary(
    cells: Sequence[Cell], encode: Sequence[Cell], in_process_ms: Sequence[float]
) -> dict[str, Any]:
    """All rounds of one subject under one load.

    Args:
        cells: each round's.
        encode: encode's, of the same rounds.
        in_process_ms: CPU time a text of our backend in process, of the same rounds; may be empty.
    """
    statuses = sum((Counter(cell.statuses) for cell in cells), Counter())
    latencies = np.concatenate([cell.latencies_ms for cell in cells])
    p50, p99 = np.percentile(latencies, [50, 99]) if len(latencies) else (np.nan, np.nan)
    encode_p50 = np.median(np.concatenate([cell.latencies_ms for cell in encode]))
    speeds = [cell.texts_per_second for cell in cells]
    cpu = [cell.cpu_ms_per_text for cell in cells]
    found = {
        "texts_per_second": spread(speeds),
        "to_encode": spread(
            [mine / other.texts_per_second for mine, other in zip(speeds, encode, strict=True)]
        ),
        "cpu_ms_per_text": spread(cpu),
        "latency_ms": {"count": len(latencies), "p50": float(p50), "p99": float(p99)},
        "p99_to_p50": float(p99 / p50),
        "p50_to_encode": float(p50 / encode_p50),
        "statuses": {str(status): count for status, count in sorted(statuses.items())},
        "failures": sum(count for status, count in statuses.items() if status != 200),
        "elsewhere_cores": max(cell.elsewhere for cell in cells),
        "stolen_cores": max(cell.stolen for cell in cells),
    }
    if in_process_ms:
        pairs = zip(cpu, in_process_ms, strict=True)
        found["cpu_to_in_process"] = spread([mine / other for mine, other in pairs])
    return found
