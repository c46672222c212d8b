"""How fast the service is, beside encoding in process and beside other servers on the same cores.

    python -m benchmarks.serve --infinity infinity/bin/python --mini DIR DIR --out FILE

Subjects: our service (`ours`); `SentenceTransformer.encode` in process, batches of 32 in float32
(`encode`); infinity-emb's server (`infinity`); sentence-transformers in a batchable BentoML
service (`bento`). All run the same MiniLM on the cores that this process may use, are up all the
time, and are loaded one at a time, in another order each round; the load shares their cores.
Throughput is counted in the midst of a steady closed loop (see loadgen.py).
`encode` is called with 512 texts, as many as 16 clients x 32 have under way. Every request has
texts that its server has not seen (or the report says how often). Vectors travel as base64, as
OpenAI's clients ask for them, but from `bento`, which has only JSON numbers.

Also: the least cosine of each server's vectors with encode's; CPU time a text of the servers'
processes, and of our backend without a server (serve_peers/in_process.py); from the start of our
service with two mini encoders to its first 200 of /readyz, and its memory (PSS).

infinity-emb needs older packages, hence an environment of its own (its extra `optimum`, for ONNX
and BetterTransformer, is left out: its BetterTransformer needs transformers below 4.49):

    python3.11 -m venv infinity
    infinity/bin/pip install 'infinity-emb[server,torch]==0.0.78' 'torch==2.13.0' \
        'transformers<5'

Exit status 1: something was not answered with 200, or a cosine of ours is below 0.9999.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from benchmarks.serve_peers import machine, peers, tables
from benchmarks.serve_peers.mini import measure_mini
from benchmarks.serve_peers.process import stop_servers_when_terminated
from benchmarks.serve_peers.rounds import LOADS, Benchmark
from benchmarks.serve_peers.texts import count_tokens, distinct_texts, read_tokenizer
from benchmarks.spread import spread

AGREEMENT = 0.9999


def problems(result: dict[str, Any]) -> list[str]:
    """What makes the numbers void."""
    found = [
        f"{who}, {name}: {cell['failures']} requests failed: {cell['statuses']}"
        for who, cells in result["cells"].items()
        for name, cell in cells.items()
        if cell["failures"]
    ]
    if result["mini"] and result["mini"]["statuses"].keys() != {"200"}:
        found.append(f"two mini encoders: {result['mini']['statuses']}")
    ours = result["agreement"].get("ours", 1.0)
    if not ours >= AGREEMENT:
        found.append(f"ours: least cosine {ours:.6f} is below {AGREEMENT}")
    return found


def main() -> None:
    """Command line."""
    options = _parser().parse_args()
    stop_servers_when_terminated()
    tokenizer = read_tokenizer(options.encoder)
    texts = distinct_texts(tokenizer, options.texts)
    tokens = count_tokens(tokenizer, texts[:10_000])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        benchmark = Benchmark(options, texts, folder)
        agreement = benchmark.run()
        mini = None
        if options.mini and "ours" not in options.skip:
            mini = measure_mini(options.mini, options.starts, texts, folder)
        else:
            benchmark.not_run["start and memory"] = "no --mini DIR DIR was given, or no ours"
    described = machine.described()
    result = {
        "machine": described,
        "infinity_versions": machine.versions_of(options.infinity) if options.infinity else None,
        "texts": {
            "count": len(texts),
            "mean_tokens": float(tokens.mean()),
            "least_tokens": int(tokens.min()),
            "most_tokens": int(tokens.max()),
        },
        "rounds": options.rounds,
        "seconds": options.seconds,
        "lead_in": options.lead_in,
        "loads": list(LOADS),
        "not_run": benchmark.not_run,
        "cells": benchmark.summaries(),
        "agreement": agreement,
        "in_process_cpu_ms": spread(benchmark.in_process_ms) if benchmark.in_process_ms else None,
        "times_through_texts": benchmark.times_through_texts(),
        "mini": mini,
    }
    result["problems"] = problems(result)
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
    Console(width=180).print(*tables.report(result), sep="\n")
    sys.exit(1 if result["problems"] else 0)


def _encoder(value: str) -> Path:
    folder = Path(value)
    if not (folder / "config.json").is_file():
        raise argparse.ArgumentTypeError(f"{value} is no encoder's folder")
    return folder


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--encoder", type=_encoder, default=peers.minilm(), help="MiniLM's folder")
    parser.add_argument("--infinity", type=Path, help="interpreter that has infinity-emb")
    parser.add_argument("--mini", type=_encoder, nargs=2, help="two encoders for start and memory")
    parser.add_argument("--skip", nargs="*", default=[], choices=["ours", "infinity", "bento"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="counted, of a cell")
    parser.add_argument("--lead-in", type=float, default=2.0, help="seconds before these")
    parser.add_argument("--warm-up", type=float, default=5.0, help="seconds of each load at first")
    parser.add_argument("--starts", type=int, default=3, help="of the service, with --mini")
    parser.add_argument("--texts", type=int, default=200_000, help="different ones")
    parser.add_argument("--out", type=Path, help="JSON file of all figures")
    return parser


if __name__ == "__main__":
    main()
