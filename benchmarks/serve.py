"""How fast the service is, beside encoding in process and beside other servers on the same cores.

    python -m benchmarks.serve --locust locust/bin/locust --infinity infinity/bin/infinity_emb

All run all-MiniLM-L6-v2 in float32 on the cores that this process may use:

encode    SentenceTransformer.encode in this process, batches of 32
ours      bentoml serve serve.service:TriadService, with params.yaml's settings
infinity  infinity-emb's server on torch, with its defaults
bento     sentence-transformers in a batchable BentoML service, with its defaults (plain_bento.py)

The servers are up all the time. First the vectors of each are compared with encode's; one that
gives others ends the run. Then, after a warm-up, all take turns in rounds, in another order each.
Clients are a closed loop of locust's, which shares the cores; a request counts by the share of its
time within the counted seconds, since servers answer in bursts. `encode` gets 512 texts a call, as
many as 16 clients x 32 have under way. Vectors travel as base64, but from bento, which has JSON
numbers only. Ratios are of the same round. At last our service is started anew with the two
reference encoders: how soon it is ready, and its memory.

locust and infinity-emb have environments of their own (infinity needs older packages):

    python3 -m venv locust && locust/bin/pip install locust numpy
    python3.11 -m venv infinity
    infinity/bin/pip install 'infinity-emb[server,torch]==0.0.78' 'torch==2.13.0' 'transformers<5'
"""

import base64
import contextlib
import itertools
import json
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from benchmarks import common
from benchmarks.common import ROOT, ratios, say, shown, spread
from benchmarks.servers import HOST, Server, answers_of, minilm, start_clients, triad
from pipeline.machine.device import resolve
from pipeline.results.layout import markdown_table

# Name -> clients, texts of each request, texts of each of encode's calls.
LOADS = {"16x32": (16, 32, 512), "64x1": (64, 1, 512), "1x1": (1, 1, 1)}
AGREEMENT = 0.9999  # least cosine of a server's vector with encode's
LEAD_IN = 2.0  # seconds of a load before the counted ones
MODEL = "minilm"
IN_WORDS = {
    "encode": "`SentenceTransformer.encode`, in process",
    "ours": "Triad",
    "infinity": "infinity-emb",
    "bento": "BentoML, batchable",
}


@dataclass(frozen=True)
class Cell:
    """One subject under one load in one round.

    Attributes:
        texts_per_second: throughput.
        latencies: seconds of each request, or of each of encode's calls.
    """

    texts_per_second: float
    latencies: list[float]


Measure = Callable[[str, float], Cell]  # name of a load, seconds
Cells = dict[str, dict[str, list[Cell]]]  # by subject and load, one a round


def distinct_texts(count: int) -> list[str]:
    """Texts of about 20 tokens: the first half of one sentence and the second of another."""
    words = [line.split() for line in common.sentences()]
    random = np.random.default_rng(1)
    texts: dict[str, None] = {}
    while len(texts) < count:
        first, second = (words[index] for index in random.integers(len(words), size=2))
        halves = first[: len(first) // 2] + second[len(second) // 2 :]
        if 9 <= len(halves) <= 17:
            texts[" ".join(halves)] = None
    return list(texts)


def in_parts(texts: list[str], size: int) -> list[list[str]]:
    """Of so many texts each."""
    return [texts[start : start + size] for start in range(0, len(texts) - size + 1, size)]


def request(who: str, texts: list[str], model: str = MODEL) -> tuple[str, dict[str, Any]]:
    """Path and content."""
    if who == "bento":
        return "/encode", {"sentences": texts}
    return "/v1/embeddings", {"model": model, "input": texts, "encoding_format": "base64"}


def check_vectors(who: str, server: Server, texts: list[str], expected: np.ndarray) -> float:
    """The least cosine of a server's vectors with encode's.

    Raises:
        ValueError: it is too low, so that times would mean nothing.
    """
    path, content = request(who, texts)
    answer = httpx.post(server.url + path, json=content, timeout=60).raise_for_status().json()
    if who != "bento":
        rows = sorted(answer["data"], key=lambda row: row["index"])
        answer = [np.frombuffer(base64.b64decode(row["embedding"]), "<f4") for row in rows]
    vectors = np.array(answer, np.float64)
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(expected, axis=1)
    least = float(((vectors * expected).sum(axis=1) / norms).min())
    if not least >= AGREEMENT:
        raise ValueError(
            f"{who}: a vector's cosine with encode's is {least:.6f}, but must be at least "
            f"{AGREEMENT}; nothing was timed."
        )
    return least


def timed_encode(model: Any, texts: list[str]) -> Measure:
    """Encoding in this process."""

    def measure(load: str, seconds: float) -> Cell:
        calls = itertools.cycle(in_parts(texts, LOADS[load][2]))
        latencies = []
        start = time.perf_counter()
        while (called := time.perf_counter()) < start + seconds:
            model.encode(next(calls), batch_size=32)
            latencies.append(time.perf_counter() - called)
        count = len(latencies) * LOADS[load][2]
        return Cell(count / (time.perf_counter() - start), latencies)

    return measure


def timed_server(
    who: str, server: Server, texts: list[str], locust: str, model: str = MODEL
) -> Measure:
    """A server under locust's clients."""

    def measure(load: str, seconds: float) -> Cell:
        users, size, _ = LOADS[load]
        requests = [request(who, part, model) for part in in_parts(texts, size)]
        bodies = [json.dumps(content) for _, content in requests]
        content = json.dumps({"path": requests[0][0], "bodies": bodies})
        (server.folder / "load.json").write_text(content, encoding="utf-8")
        clients = start_clients(locust, "Steady", users, LEAD_IN + seconds + 1, server)
        starts, ends, statuses = np.array(answers_of(clients, server)["requests"]).T
        first = starts.min() + LEAD_IN
        last = first + seconds
        if (statuses != 200).any():
            raise ValueError(f"{who}: a request was not answered with 200; times mean nothing.")
        within = np.clip(np.minimum(ends, last) - np.maximum(starts, first), 0, None)
        count = size * float((within / (ends - starts)).sum())
        latencies = (ends - starts)[(ends > first) & (ends <= last)].tolist()
        if not latencies:
            raise ValueError(f"{who}: no answer within {seconds} s; give more --seconds.")
        return Cell(count / seconds, latencies)

    return measure


def start_servers(
    infinity: str | None, folder: Path, stack: contextlib.ExitStack
) -> dict[str, Server]:
    """Ours and its peers; infinity's if its program is given."""
    encoder = str(minilm())
    servers = {"ours": stack.enter_context(triad(folder / "ours", encoders={MODEL: encoder}))}
    where = f"--host {HOST} --port {{port}}"
    if infinity:
        command = f"{infinity} v2 --engine torch --device cpu --dtype float32 --url-prefix /v1 "
        command += f"{where} --served-model-name {MODEL} --model-id {encoder}"
        server = Server(
            command.split(),
            ready="/health",
            folder=folder / "infinity",
            environment={"DO_NOT_TRACK": "1"},
        )
        servers["infinity"] = stack.enter_context(server)
    command = f"{sys.executable} -m bentoml serve benchmarks.plain_bento:PlainBento {where}"
    server = Server(command.split(), ready="/readyz", folder=folder / "bento")
    servers["bento"] = stack.enter_context(server)
    return servers


def rounds_of(subjects: dict[str, Measure], rounds: int, seconds: float) -> Cells:
    """All loads of all subjects, which take turns after a warm-up."""
    cells: Cells = {who: {load: [] for load in LOADS} for who in subjects}
    for load, (who, measure) in itertools.product(LOADS, subjects.items()):
        say(f"warm-up, {load}: {who}")
        measure(load, min(seconds, 5.0))
    names = list(subjects)
    for number in range(rounds):
        turns = names[number % len(names) :] + names[: number % len(names)]
        for load, who in itertools.product(LOADS, turns):
            cell = subjects[who](load, seconds)
            cells[who][load].append(cell)
            say(f"round {number + 1}, {load}: {who} {cell.texts_per_second:.1f} texts/s")
    return cells


def summary(cells: list[Cell], encode: list[Cell]) -> dict[str, Any]:
    """One subject under one load in all rounds, beside encode's cells of the same rounds."""
    speeds, encode_speeds = ([c.texts_per_second for c in which] for which in (cells, encode))
    p50, p99 = np.percentile(
        [1000 * latency for cell in cells for latency in cell.latencies], [50, 99]
    )
    return {
        "texts_per_second": spread(speeds),
        "to_encode": ratios(speeds, encode_speeds),
        "latency_ms": {"p50": float(p50), "p99": float(p99)},
        "p99_to_p50": float(p99 / p50),
    }


def measure_start(texts: list[str], locust: str, folder: Path) -> dict[str, Any]:
    """Seconds until our service with two mini encoders is ready, and its memory after a load.

    The first of three starts may have to export the encoders.
    """
    reference = ROOT / "encoders" / "reference"
    encoders = {name: str(reference / name) for name in ("vicreg", "vicreg_modified")}
    seconds = []
    for number in range(3):
        with triad(folder / f"mini-{number}", encoders=encoders) as server:
            seconds.append(server.start_seconds)
            for name in encoders:
                timed_server("ours", server, texts, locust, name)("16x32", 3.0)
            warm = server.pss()
    return {"start_seconds": spread(seconds), "warm_mib": warm}


def markdown(result: dict[str, Any]) -> str:
    """The figures as docs/results.md shows them."""
    about = result["machine"]
    bf16 = "yes" if about["avx512_bf16"] else "no"
    rows = []
    for who, name in IN_WORDS.items():
        if who not in result["cells"]:
            rows.append([name, f"not run: {result['not_run'][who]}", *[""] * 5])
            continue
        large, small, single = (result["cells"][who][load] for load in LOADS)
        speeds = [
            shown(cell[key], digits)
            for cell in (large, small)
            for key, digits in (("texts_per_second", 0), ("to_encode", 2))
        ]
        latency = [f"{single['latency_ms']['p50']:.1f}", f"{single['p99_to_p50']:.1f}"]
        rows.append([name, *speeds, *latency])
    columns = ["", "16 clients x 32 texts, texts/s", "to encode", "64 clients x 1 text, texts/s"]
    columns += ["to encode", "1 client x 1 text, median ms", "p99 / median"]
    return f"""\
{about["cpu"]}, {about["cores"]} cores, avx512_bf16: {bf16}. all-MiniLM-L6-v2, \
{result["texts"]["mean_tokens"]:.0f} tokens a text; median (least to greatest) of \
{result["rounds"]} rounds; the load shares the cores.

{markdown_table([columns, *rows], left=1)}

Least cosine of Triad's vectors with encode's: {result["agreement"]["ours"]:.7f}.
Two mini encoders: ready {result["mini"]["start_seconds"]["min"]:.1f} s after the start, \
{result["mini"]["warm_mib"]:.0f} MiB of memory (PSS of all processes) after a load.
"""


def main() -> None:
    """Command line."""
    parser = common.parser("serve", __doc__)
    parser.add_argument("--locust", default="locust", help="locust's program")
    parser.add_argument("--infinity", help="infinity_emb's program; without it infinity is not run")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="counted, of a load")
    options = parser.parse_args()

    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - slow, and not for --help

    texts = distinct_texts(20_000)
    resolve("cpu")  # which gives torch as many threads as a container has cores
    model = SentenceTransformer(str(minilm()), device="cpu", model_kwargs={"dtype": "float32"})
    expected = model.encode(texts[:256])
    tokens = [len(ids) for ids in model.tokenizer(texts[:5000])["input_ids"]]
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = Path(name)
        say("starting the servers")
        servers = start_servers(options.infinity, folder, stack)
        agreement = {
            who: check_vectors(who, server, texts[:256], expected)
            for who, server in servers.items()
        }
        subjects = {"encode": timed_encode(model, texts)} | {
            who: timed_server(who, server, texts, options.locust) for who, server in servers.items()
        }
        cells = rounds_of(subjects, options.rounds, options.seconds)
        stack.close()  # the servers end
        mini = measure_start(texts, options.locust, folder)
    result = {
        "machine": common.machine(
            "bentoml", "openvino", "sentence-transformers", "torch", "transformers"
        ),
        "texts": {"count": len(texts), "mean_tokens": float(np.mean(tokens))},
        "rounds": options.rounds,
        "seconds": options.seconds,
        "not_run": {} if options.infinity else {"infinity": "no --infinity was given"},
        "cells": {
            who: {load: summary(of[load], cells["encode"][load]) for load in LOADS}
            for who, of in cells.items()
        },
        "agreement": agreement,
        "mini": mini,
    }
    print(markdown(result), end="")
    common.write(options, result, markdown(result))


if __name__ == "__main__":
    main()
