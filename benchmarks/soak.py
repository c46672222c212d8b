"""Whether the service stays right and small under a long, mixed, unkind load.

    python -m benchmarks.soak --minutes 10 --out FILE

64 clients send 1 to 64 texts, from a few words to more than the model reads; 5 % of what they do
is bad input of many kinds, 5 % is given up shortly after sending (serve_peers/traffic.py). Every
vector of every answer is compared with `SentenceTransformer.encode`'s, computed beforehand.
Memory is the PSS of all the server's processes, each second; its growth is that of the straight
line nearest to the last half. Exit status 1: one of the verdicts is no.
"""

from __future__ import annotations

import argparse
import asyncio
import dataclasses
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import uvloop
from prometheus_client.parser import text_string_to_metric_families
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from benchmarks.serve_peers import machine, peers
from benchmarks.serve_peers.encode import Encode
from benchmarks.serve_peers.messages import ask, get
from benchmarks.serve_peers.process import Server, stop_servers_when_terminated
from benchmarks.serve_peers.texts import mixed_pool, read_tokenizer
from benchmarks.serve_peers.traffic import AGREEMENT, PATH, Client, Expected, Tally

if TYPE_CHECKING:
    from collections.abc import Mapping

# What the service calls its counters and their labels.
REQUESTS, ROUTE, STATUS = "triad_requests_total", "route", "status"
GROWTH = 0.01  # of memory, over the last half
_SETTLE = 3.0  # seconds between the last answer and the last look at the counters
_MIB = 2**20


@dataclasses.dataclass(frozen=True)
class Verdict:
    """One thing that must hold."""

    what: str
    holds: bool
    found: str


def expected(encoder: Path, count: int, folder: Path) -> Expected:
    """A pool of texts and their vectors by sentence-transformers, whose process ends again."""
    pool = mixed_pool(read_tokenizer(encoder), count)
    config = json.loads((encoder / "sentence_bert_config.json").read_text(encoding="utf-8"))
    with Encode(encoder, pool.texts, folder) as encode:
        return Expected(pool, encode.vectors(0, count), config["max_seq_length"])


async def soak(server: Server, given: Expected, options: argparse.Namespace) -> Any:
    """Let the clients loose; their tally, and memory in MiB of each second."""
    tally = Tally()
    deadline = time.monotonic() + 60 * options.minutes
    watching = asyncio.create_task(_watch(server, tally))
    clients = [Client(server.port, given, tally, seed) for seed in range(options.clients)]
    await asyncio.gather(*(client.run(deadline, options.think) for client in clients))
    watching.cancel()
    return tally, (await asyncio.gather(watching, return_exceptions=False))[0]


async def _watch(server: Server, tally: Tally) -> list[float]:
    memory: list[float] = []
    try:
        while True:
            if await asyncio.to_thread(server.running):
                memory.append(await asyncio.to_thread(server.pss) / _MIB)
            else:
                tally.wrong["a process of the server has ended"] += 1
            await asyncio.sleep(1)
    except asyncio.CancelledError:
        return memory


def growth(memory: list[float]) -> float:
    """Share by which memory grew over the last half: of the least squares line through it."""
    half = np.array(memory[len(memory) // 2 :])
    if len(half) < 2:
        return float("nan")
    slope, start = np.polyfit(np.arange(len(half)), half, 1)
    return float(slope * (len(half) - 1) / start)


def counted(server: Server) -> Counter[int]:
    """The service's own count of answers about embeddings, by status."""
    status, body = ask(server.port, get(server.port, "/metrics"))
    if status != 200:
        raise ConnectionError(f"/metrics: {status}")
    samples = (
        sample
        for family in text_string_to_metric_families(body.decode())
        for sample in family.samples
        if sample.name == REQUESTS and sample.labels[ROUTE] == PATH
    )
    return Counter({int(one.labels[STATUS]): int(one.value) for one in samples})


def reconcile(sent: Mapping[int, int], server: Mapping[int, int], cancelled: int) -> Verdict:
    """Whether the server counted every answer that clients got.

    Of requests that their clients gave up, it may have answered any number with any status.
    """
    excess = {
        status: server.get(status, 0) - sent.get(status, 0) for status in sorted({*sent, *server})
    }
    holds = min(excess.values(), default=0) >= 0 and sum(excess.values()) <= cancelled
    left = ", ".join(f"{status}: +{count}" for status, count in excess.items())
    return Verdict(
        "counters reconcile with what was sent",
        holds,
        f"sent {sum(sent.values())}, counted {sum(server.values())} ({left}), {cancelled} given up",
    )


def judge(tally: Tally, memory: list[float], server: Counter[int], ready: int) -> list[Verdict]:
    """Everything that must hold."""
    statuses = tally.by_status()
    errors = sum(count for status, count in statuses.items() if status >= 500)
    good = sum(count for (kind, _), count in tally.statuses.items() if kind == "good")
    bad = sum(statuses.values()) - good
    share = growth(memory)
    wrong = "; ".join(f"{what} ({count})" for what, count in tally.wrong.most_common(10))
    ends = f"{memory[len(memory) // 2]:.1f} to {memory[-1]:.1f} MiB" if memory else "not measured"
    return [
        Verdict("no 5xx", errors == 0, f"{errors} of {sum(statuses.values())} answers"),
        Verdict(
            f"every vector's cosine >= {AGREEMENT}",
            tally.checked > 0 and tally.least_cosine >= AGREEMENT,
            f"least {tally.least_cosine:.7f} of {tally.checked} vectors",
        ),
        Verdict("nothing went wrong (statuses, bodies, connections)", not tally.wrong, wrong),
        Verdict(
            "something of each kind was done",
            min(statuses[200], bad, tally.cancelled) > 0,
            f"{good} good, {bad} bad, {tally.cancelled} given up",
        ),
        Verdict(
            f"memory grows < {GROWTH:.0%} in the last half", share < GROWTH, f"{share:+.2%}, {ends}"
        ),
        reconcile(statuses, server, tally.cancelled),
        Verdict("ready in the end", ready == 200, f"/readyz: {ready}"),
    ]


def table(verdicts: list[Verdict], tally: Tally, memory: list[float], title: str) -> Table:
    """The verdicts, and what happened."""
    shown = Table(title=title, show_header=False)
    for verdict in verdicts:
        mark = "[green]yes[/]" if verdict.holds else "[bold red]NO[/]"
        shown.add_row(verdict.what, mark, escape(verdict.found))
    shown.add_section()
    for status, count in sorted(tally.by_status().items()):
        shown.add_row(f"answers {status}", str(count), "")
    p50, p99 = np.percentile(tally.latencies or [np.nan], [50, 99])
    shown.add_row("waited for Retry-After", "", f"{tally.waited:.0f} s of all clients")
    shown.add_row("latency of good requests", "", f"p50 {p50:.3f} s, p99 {p99:.3f} s")
    if memory:
        shown.add_row("memory (PSS)", "", f"{min(memory):.1f} to {max(memory):.1f} MiB")
    return shown


# Options that the figures depend on; paths are of one machine.
_TOLD = ("minutes", "clients", "think", "pool")


def main() -> None:
    """Command line."""
    options = _parser().parse_args()
    stop_servers_when_terminated()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        given = expected(options.encoder, options.pool, folder)
        params = peers.write_params(folder / "params.yaml", {peers.MODEL: options.encoder})
        with Server(peers.ours(params), folder) as server:
            before = counted(server)
            with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
                tally, memory = runner.run(soak(server, given, options))
            time.sleep(_SETTLE)
            counts = counted(server)
            counts.subtract(before)
            ready = ask(server.port, get(server.port, "/readyz"))[0]
    verdicts = judge(tally, memory, counts, ready)
    title = f"{options.clients} clients, {options.minutes:g} minutes, think {options.think:g} s"
    Console(width=140).print(table(verdicts, tally, memory, title))
    if options.out:
        result = {
            "machine": machine.described(),
            "options": {key: getattr(options, key) for key in _TOLD},
            "verdicts": [dataclasses.asdict(verdict) for verdict in verdicts],
            "statuses": {f"{kind}: {status}": n for (kind, status), n in tally.statuses.items()},
            "wrong": dict(tally.wrong),
            "cancelled": tally.cancelled,
            "counted": {str(status): count for status, count in counts.items()},
            "memory_mib": memory,
            "memory_growth": growth(memory),
        }
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    sys.exit(0 if all(verdict.holds for verdict in verdicts) else 1)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--encoder", type=Path, default=peers.minilm(), help="MiniLM's folder")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--think", type=float, default=0.5, help="mean pause of a client, seconds")
    parser.add_argument("--pool", type=int, default=2000, help="different texts")
    parser.add_argument("--out", type=Path, help="JSON file of all figures")
    return parser


if __name__ == "__main__":
    main()
