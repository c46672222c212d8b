"""`SentenceTransformer.encode` in a process of its own, measured without any server.

`Encode` starts `python -m benchmarks.serve_peers.encode FOLDER TEXTS` and sends it one JSON line a
task. Numbers are float32, batches 32, torch's threads as many as cores.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from benchmarks.serve_peers.texts import ROOT

if TYPE_CHECKING:
    from types import TracebackType

BATCH = 32


class Encode:
    """The process, from the side of the one who gives it tasks."""

    def __init__(self, encoder: Path, texts: list[str], folder: Path) -> None:
        """Start it.

        Args:
            encoder: a sentence-transformers folder.
            texts: what tasks are about.
            folder: for the texts and the vectors.
        """
        self._vectors = folder / "vectors.npy"
        file = folder / "texts.json"
        file.write_text(json.dumps(texts), encoding="utf-8")
        environment = {k: v for k, v in os.environ.items() if k != "OMP_NUM_THREADS"}
        self._process = subprocess.Popen(  # noqa: S603 - our own module
            [sys.executable, "-m", __name__, str(encoder), str(file)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env=environment | {"HF_HUB_OFFLINE": "1"},
        )
        self.versions: dict[str, Any] = self._answer()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.communicate()  # closes its input, which ends it

    def measure(self, texts: int, seconds: float) -> dict[str, Any]:
        """Encode that many texts a call, one call after the other, for some time.

        Returns:
            `texts`, `seconds`, `cpu` (seconds of user and system) and `latencies` (of each call).
        """
        return self._task({"texts": texts, "seconds": seconds})

    def vectors(self, start: int, stop: int) -> np.ndarray:
        """The vectors of `texts[start:stop]`."""
        self._task({"start": start, "stop": stop, "file": str(self._vectors)})
        vectors: np.ndarray = np.load(self._vectors)
        return vectors

    def _task(self, task: dict[str, Any]) -> dict[str, Any]:
        print(json.dumps(task), file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        line = next(iter(self._process.stdout or ()), "")
        if not line:
            raise ChildProcessError(f"encode ended with {self._process.wait()}.")
        answer: dict[str, Any] = json.loads(line)
        return answer


class _Worker:
    """The same process from within."""

    def __init__(self, encoder: str, texts: list[str]) -> None:
        import torch  # noqa: PLC0415 - the other side must stay small
        from sentence_transformers import SentenceTransformer, __version__  # noqa: PLC0415

        torch.set_num_threads(len(os.sched_getaffinity(0)))
        self._model = SentenceTransformer(
            encoder, device="cpu", model_kwargs={"dtype": torch.float32}
        )
        self._texts = texts
        self._next = 0
        self.versions = {
            "sentence-transformers": __version__,
            "torch": torch.__version__,
            "threads": torch.get_num_threads(),
        }

    def task(self, given: dict[str, Any]) -> dict[str, Any]:
        if "file" in given:
            np.save(given["file"], self._encode(self._texts[given["start"] : given["stop"]]))
            return {}
        latencies: list[float] = []
        cpu, began = time.process_time(), time.perf_counter()
        ended = began
        while ended - began < given["seconds"]:
            self._encode(self._take(given["texts"]))
            latencies.append(time.perf_counter() - ended)
            ended = time.perf_counter()
        return {
            "texts": given["texts"] * len(latencies),
            "seconds": ended - began,
            "cpu": time.process_time() - cpu,
            "latencies": latencies,
        }

    def _take(self, count: int) -> list[str]:
        if self._next + count > len(self._texts):
            self._next = 0
        self._next += count
        return self._texts[self._next - count : self._next]

    def _encode(self, texts: list[str]) -> np.ndarray:
        return self._model.encode(texts, batch_size=BATCH)


def main() -> None:
    """Answer tasks until there are no more."""
    encoder, file = sys.argv[1:]
    worker = _Worker(encoder, json.loads(Path(file).read_text(encoding="utf-8")))
    print(json.dumps(worker.versions), flush=True)
    for line in sys.stdin:
        print(json.dumps(worker.task(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
