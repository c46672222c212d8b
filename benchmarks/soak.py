"""Whether the service stays right and small under a long, mixed, unkind load.

    python -m benchmarks.soak --locust locust/bin/locust --out FILE

64 clients of locust's (load.py says what they do, and how to install it) ask for embeddings of 1
to 64 texts, from a few words to more than the model reads; 5 % of what they do is nonsense, 5 % is
given up. Every vector is compared with `SentenceTransformer.encode`'s, computed beforehand. After a
sixth of the time the encoder's folder becomes another version with the same weights, which the
service exports and reloads under load. Memory is the PSS of all the server's processes, each
second; its growth is that of the straight line nearest to the last half. Exit status 1: a verdict
is no.
"""

import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from subprocess import Popen
from typing import Any

import httpx
import numpy as np

from benchmarks import common
from benchmarks.servers import Server, answers_of, minilm, start_clients, triad
from pipeline.results.layout import markdown_table

AGREEMENT = 0.9999  # least cosine of a vector with encode's
GROWTH = 0.01  # share by which memory may grow over the last half
MODEL = "minilm"
CHANGE = 1 / 6  # when the encoder's folder changes, as a share of the time


def mixed_texts(count: int) -> list[str]:
    """From a few words to 30 sentences, some not in plain ASCII."""
    random = np.random.default_rng(1)
    lines = common.sentences()
    texts = []
    for _ in range(count):
        joined = int(random.choice([0, 1, 5, 30], p=[0.3, 0.5, 0.15, 0.05]))
        chosen = [lines[index] for index in random.integers(len(lines), size=max(joined, 1))]
        if joined == 0:
            chosen = chosen[0].split()[: random.integers(1, 6)]
        elif random.random() < 0.1:
            chosen.insert(0, "Déjà vu: naïve 東京 🚀 —")
        texts.append(" ".join(chosen))
    return texts


def watch(
    server: Server, clients: Popen[bytes], encoder: Path, seconds: float
) -> tuple[list[float], list[str]]:
    """Change the encoder while the clients run.

    Returns:
        MiB of the server's memory, and the versions of the encoder that it serves, each second.
    """
    memory: list[float] = []
    versions: list[str] = []
    note = encoder / "note.txt"  # any file more makes another version
    start = time.monotonic()
    while clients.poll() is None:
        memory.append(server.pss())
        answer = httpx.get(f"{server.url}/v1/models/{MODEL}", timeout=60)
        versions.append(answer.raise_for_status().json()["version"])
        if not note.exists() and time.monotonic() > start + CHANGE * seconds:
            note.touch()
        time.sleep(1)
    return memory, versions


def growth(memory: list[float]) -> float:
    """Share by which memory grew over the last half: of the least squares line through it."""
    half = memory[len(memory) // 2 :]
    slope, start = np.polyfit(np.arange(len(half)), half, 1)
    return float(slope * (len(half) - 1) / start)


def judge(
    answers: dict[str, Any], memory: list[float], versions: list[str], ready: int
) -> list[dict[str, Any]]:
    """Everything that must hold: what, whether it does, and what was found."""
    statuses, counts = answers["statuses"], answers["counts"]
    total = sum(statuses.values())
    by_status: Counter[int] = Counter()
    for kind, count in statuses.items():
        by_status[int(kind.rsplit(": ", 1)[1])] += count
    errors = sum(count for status, count in by_status.items() if not 200 <= status < 500)
    least = float(np.min(answers["cosines"] or [np.nan]))
    done = counts.get("vectors", 0), by_status[400], counts.get("given up", 0)
    verdicts = [
        ("no 5xx, no lost connection", errors == 0, f"{errors} of {total} answers"),
        (f"every vector's cosine >= {AGREEMENT}", least >= AGREEMENT, f"least {least:.7f}"),
        ("nothing else went wrong", not answers["wrong"], str(answers["wrong"] or "")),
        (
            "something of each kind was done",
            min(done) > 0,
            "{} vectors compared, {} nonsense, {} given up".format(*done),
        ),
        (
            "the changed encoder was reloaded",
            len(set(versions)) == 2,
            f"{len(set(versions))} versions",
        ),
        (
            f"memory grows < {GROWTH:.0%} in the last half",
            growth(memory) < GROWTH,
            f"{growth(memory):+.2%}, {memory[len(memory) // 2]:.1f} to {memory[-1]:.1f} MiB",
        ),
        ("ready in the end", ready == 200, f"/readyz: {ready}"),
    ]
    return [dict(zip(("what", "holds", "found"), verdict, strict=True)) for verdict in verdicts]


def main() -> int:
    """Command line."""
    parser = common.parser("soak", __doc__)
    parser.add_argument("--locust", default="locust", help="locust's program")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--think", type=float, default=0.5, help="mean pause of a client, seconds")
    parser.add_argument("--texts", type=int, default=2000, help="different texts")
    options = parser.parse_args()

    from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - not for --help

    texts = mixed_texts(options.texts)
    expected = SentenceTransformer(str(minilm()), device="cpu").encode(texts)
    with tempfile.TemporaryDirectory() as name:
        encoder = Path(name) / "encoder"
        shutil.copytree(minilm(), encoder)
        settings = {"encoders": {MODEL: str(encoder)}, "exported": f"{name}/exported"}
        with triad(Path(name) / "triad", **settings) as server:
            np.save(server.folder / "vectors.npy", expected)
            load = {"model": MODEL, "texts": texts, "think": options.think}
            (server.folder / "load.json").write_text(json.dumps(load), encoding="utf-8")
            seconds = 60 * options.minutes
            clients = start_clients(options.locust, "Mixed", options.clients, seconds, server)
            memory, versions = watch(server, clients, encoder, seconds)
            answers = answers_of(clients, server)
            ready = httpx.get(f"{server.url}/readyz").status_code
    verdicts = judge(answers, memory, versions, ready)
    p50, p99 = np.percentile(answers["latencies"], [50, 99])
    rows = [
        [verdict["what"], "yes" if verdict["holds"] else "NO", verdict["found"]]
        for verdict in verdicts
    ]
    text = f"""\
{options.clients} clients, {options.minutes:g} minutes; good requests: \
p50 {p50:.3f} s, p99 {p99:.3f} s

{markdown_table([["", "", ""], *rows], left=1)}
"""
    print(text, end="")
    result = {
        "machine": common.machine("bentoml", "openvino", "torch", "transformers"),
        "options": {key: getattr(options, key) for key in ("minutes", "clients", "think")},
        "verdicts": verdicts,
        "statuses": answers["statuses"],
        "memory_mib": memory,
    }
    common.write(options, result, text)
    return 0 if all(verdict["holds"] for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
