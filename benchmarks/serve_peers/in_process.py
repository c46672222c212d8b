"""CPU time of our backend without a server, measured in a process of its own.

    python -m benchmarks.serve_peers.in_process FOLDER TEXTS

prints `{"cpu_per_text": SECONDS}`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.serve_peers import peers
from benchmarks.serve_peers.texts import ROOT
from pipeline.encoder.vectors import pad
from pipeline.machine.device import usable_cores
from serve import settings
from serve.encoders.registry import Registry, ServedEncoder
from serve.metrics import Metrics

if TYPE_CHECKING:
    from collections.abc import Iterator

_CALL = 512  # texts at once, as many as 16 clients x 32 have under way


def in_process_cpu_per_text(folder: Path, texts: list[str]) -> float:
    """CPU seconds (user and system, all threads) that our backend takes per text in process.

    Loads the encoder as the service does, with the same backend, threads and budget of tokens,
    and embeds the texts as they come, tokenization included; no HTTP, no queue.

    Args:
        folder: the sentence-transformers folder that the measured service serves.
        texts: texts like those that the service gets, at least some thousand.
    """
    with tempfile.TemporaryDirectory() as place:
        params = settings.load(peers.write_params(Path(place) / "params.yaml", {"it": folder}))
    threads = params.threads or usable_cores()
    registry = Registry(params, threads, Metrics())
    registry.refresh()
    encoder = registry.encoders["it"]
    with ThreadPoolExecutor(threads) as pool:
        began = time.process_time()
        for start in range(0, len(texts), _CALL):
            rows = encoder.tokenizer.encode(texts[start : start + _CALL])
            list(pool.map(_embedding(encoder), _batches(encoder, rows, params.batch_tokens)))
        return (time.process_time() - began) / len(texts)


def _batches(
    encoder: ServedEncoder, rows: list[list[int]], budget: int
) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    for row in sorted(map(encoder.tokenizer.cut, rows), key=len):
        if batch and (len(batch) + 1) * len(row) > budget:
            yield batch
            batch = []
        batch.append(row)
    yield batch


def _embedding(encoder: ServedEncoder) -> Any:
    padding_id = encoder.exported.description.padding_id
    return lambda rows: encoder.backend.embed(*pad(rows, padding_id))


def measured(folder: Path, file: Path) -> dict[str, Any]:
    """Run this module on a JSON file of texts; `cpu_per_text`, or `not_run` with the reason."""
    run = subprocess.run(  # noqa: S603 - our own module
        [sys.executable, "-m", __name__, str(folder), str(file)],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        cwd=ROOT,
    )
    if run.returncode:
        return {"not_run": f"the process ended with {run.returncode}"}
    result: dict[str, Any] = json.loads(run.stdout.splitlines()[-1])
    return result


def main() -> None:
    """Measure, and print the result."""
    folder, file = map(Path, sys.argv[1:])
    texts = json.loads(file.read_text(encoding="utf-8"))
    result = {"cpu_per_text": in_process_cpu_per_text(folder, texts)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
