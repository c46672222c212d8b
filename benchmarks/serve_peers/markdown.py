"""The benchmark's JSON as the table of docs/results.md.

python -m benchmarks.serve_peers.markdown results/serving/speed.json > results/serving/speed.md
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

_WHO = {
    "encode": "`SentenceTransformer.encode`, in process",
    "ours": "Triad",
    "infinity": "infinity-emb",
    "bento": "BentoML, batchable",
}


def markdown(result: dict[str, Any]) -> str:
    """Medians over rounds, least and greatest behind them."""
    machine = result["machine"]
    about = (
        f"{machine['cpu']}, {machine['cores']} cores, avx512_bf16: "
        f"{'yes' if machine['avx512_bf16'] else 'no'}. all-MiniLM-L6-v2, "
        f"{result['texts']['mean_tokens']:.0f} tokens a text; median (least to greatest) of "
        f"{result['rounds']} rounds; the load shares the cores."
    )
    head = (
        "| | 16 clients x 32 texts, texts/s | to encode | 64 clients x 1 text, texts/s | to encode "
        "| 1 client x 1 text, median ms | p99 / median |"
    )
    lines = [about, "", head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for who, name in _WHO.items():
        if who not in result["cells"]:
            reason = result["not_run"].get(who, "no reason given")
            lines.append(f"| {name} | not run: {reason} | | | | | |")
            continue
        large, small, one = (result["cells"][who][load] for load in ("16x32", "64x1", "1x1"))
        speeds = [
            _spread(cell[key], digits)
            for cell in (large, small)
            for key, digits in (("texts_per_second", 0), ("to_encode", 2))
        ]
        latency = [f"{one['latency_ms']['p50']:.1f}", f"{one['p99_to_p50']:.1f}"]
        lines.append(f"| {' | '.join([name, *speeds, *latency])} |")
    ours = result["cells"].get("ours", {})
    ratios = [ours[load]["cpu_to_in_process"] for load in ("16x32", "64x1") if load in ours]
    if ratios:
        cpu = (
            "CPU time of the server's processes to the same backend's in process: "
            f"{_spread(ratios[0], 2)} and {_spread(ratios[1], 2)} at the two loads. Least cosine "
            f"to encode's vectors: {result['agreement']['ours']:.7f}."
        )
        lines += ["", cpu]
    mini = result["mini"]
    if mini:
        lines.append(
            f"Two mini encoders: ready {mini['start_seconds']['min']:.1f} s after the start, "
            f"{mini['warm_mib']:.0f} MiB of memory (PSS of all processes) after a load."
        )
    return "\n".join(lines) + "\n"


def _spread(values: dict[str, Any], digits: int) -> str:
    low, middle, high = (f"{values[key]:.{digits}f}" for key in ("min", "median", "max"))
    return f"{middle} ({low} to {high})"


if __name__ == "__main__":
    print(markdown(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))), end="")
