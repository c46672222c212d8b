"""All subjects at once: started, warmed up, measured in rounds, and their vectors compared."""

from __future__ import annotations

import contextlib
import json
import sys
from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.loadgen import Load
from benchmarks.serve_peers import in_process, peers
from benchmarks.serve_peers.cells import Cell, measure_encode, measure_server, summary
from benchmarks.serve_peers.encode import Encode
from benchmarks.serve_peers.messages import ask
from benchmarks.serve_peers.process import Server

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from pathlib import Path

# Name -> clients, texts of each request.
LOADS = {"16x32": (16, 32), "64x1": (64, 1), "1x1": (1, 1)}
ENCODE_CALL = 512
_CHECKED = 256  # texts whose vectors are compared
_IN_PROCESS = 4096  # texts whose CPU time is taken in process


class Benchmark:
    """Everybody at once: started, warmed up, measured in rounds."""

    def __init__(self, options: argparse.Namespace, texts: list[str], folder: Path) -> None:
        self.options = options
        self.texts = texts
        self.folder = folder
        self.not_run: dict[str, str] = {}
        self.cells: dict[tuple[str, str], list[Cell]] = {}
        self.in_process_ms: list[float] = []
        self._requests: dict[tuple[str, int], Iterator[bytes]] = {}
        self._sent: Counter[tuple[str, int]] = Counter()  # texts, of requests of each size

    def subjects(self) -> list[peers.Peer]:
        """Who takes part; the others' reasons go to `not_run`."""
        encoder, infinity = self.options.encoder, self.options.infinity
        params = peers.write_params(self.folder / "params.yaml", {peers.MODEL: encoder})
        every = [peers.ours(params), peers.bento(encoder)]
        if infinity is None:
            self.not_run["infinity"] = "no --infinity PYTHON was given"
        else:
            every.insert(1, peers.infinity(infinity, encoder))
        self.not_run |= dict.fromkeys(self.options.skip, "left out with --skip")
        return [peer for peer in every if peer.name not in self.options.skip]

    def run(self) -> dict[str, float]:
        """Measure all cells; returns the least cosine of each server."""
        with contextlib.ExitStack() as stack:
            encode = stack.enter_context(Encode(self.options.encoder, self.texts, self.folder))
            servers = []
            for peer in self.subjects():
                say(f"starting {peer.name}")
                servers.append(stack.enter_context(Server(peer, self.folder)))
            for server in servers:
                # Half the texts for large requests, half for small ones: none comes again.
                half = len(self.texts) // 2
                self._requests[server.peer.name, 32] = server.requests(self.texts[:half], 32)
                self._requests[server.peer.name, 1] = server.requests(self.texts[half:], 1)
            self._warm_up(servers, encode)
            for number in range(self.options.rounds):
                self._round(number, servers, encode)
            say("comparing vectors")
            wanted = encode.vectors(0, _CHECKED)
            return {server.peer.name: self._agreement(server, wanted) for server in servers}

    def _warm_up(self, servers: list[Server], encode: Encode) -> None:
        for name in LOADS:
            for server in servers:
                self._server(server, self._load(name, self.options.warm_up))
            encode.measure(_encode_call(name), self.options.warm_up)

    def _round(self, number: int, servers: list[Server], encode: Encode) -> None:
        subjects: list[Server | Encode] = [encode, *servers]
        first = number % len(subjects)
        for name in LOADS:
            load = self._load(name, self.options.seconds)
            for subject in subjects[first:] + subjects[:first]:
                if isinstance(subject, Encode):
                    cell, who = measure_encode(subject, _encode_call(name), load), "encode"
                else:
                    cell, who = self._server(subject, load), subject.peer.name
                self.cells.setdefault((who, name), []).append(cell)
                say(f"round {number + 1}, {name}, {who}: {cell.texts_per_second:.1f} texts/s")
        self._in_process()

    def _in_process(self) -> None:
        texts = self.folder / "in_process.json"
        texts.write_text(json.dumps(self.texts[:_IN_PROCESS]), encoding="utf-8")
        found = in_process.measured(self.options.encoder, texts)
        if "cpu_per_text" in found:
            self.in_process_ms.append(1000 * found["cpu_per_text"])
        else:
            self.not_run["CPU time in process"] = found["not_run"]

    def _server(self, server: Server, load: Load) -> Cell:
        which = server.peer.name, load.texts
        cell = measure_server(server, self._requests[which], load)
        self._sent[which] += load.texts * sum(cell.statuses.values())
        return cell

    def _load(self, name: str, seconds: float) -> Load:
        return Load(*LOADS[name], seconds=seconds, lead_in=self.options.lead_in)

    def _agreement(self, server: Server, wanted: np.ndarray) -> float:
        found = []
        for start in range(0, _CHECKED, 32):
            status, body = ask(server.port, server.request(self.texts[start : start + 32]))
            if status != 200:
                raise ConnectionError(f"{server.peer.name}: {status} {body[:200]!r}")
            found.append(server.peer.vectors(body))
        return float(peers.cosines(np.concatenate(found), wanted).min())

    def summaries(self) -> dict[str, dict[str, Any]]:
        """Of every subject under every load."""
        rounds = self.options.rounds
        in_process_ms = self.in_process_ms if len(self.in_process_ms) == rounds else []
        found: dict[str, dict[str, Any]] = {}
        for (who, name), cells in self.cells.items():
            relative = in_process_ms if who == "ours" else []
            found.setdefault(who, {})[name] = summary(cells, self.cells["encode", name], relative)
        return found

    def times_through_texts(self) -> dict[str, float]:
        """How often a server got the texts of its large or small requests, whichever is more."""
        half = len(self.texts) // 2
        names = dict.fromkeys(who for who, _ in self._sent)
        return {who: max(self._sent[who, 1], self._sent[who, 32]) / half for who in names}


def _encode_call(name: str) -> int:
    return 1 if name == "1x1" else ENCODE_CALL


def say(line: str) -> None:
    """Progress, beside the report."""
    print(line, file=sys.stderr, flush=True)
