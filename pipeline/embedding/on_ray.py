"""Chunks -> embeddings by workers on a Ray cluster.

This machine reads the input and writes the output, as it does without Ray; workers hold an encoder
each and get whole chunks, in any order. So all that a worker needs is the encoder's folder, at the
same path. Importing this imports Ray; connecting to it is cluster.py's.
"""

from __future__ import annotations

import socket
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import ray
from ray.data import ActorPoolStrategy, DataContext, Datasource, ReadTask, read_datasource
from ray.data.block import BlockMetadata

from pipeline.embedding.encoding import Encoding, embeddings, tokenized
from pipeline.embedding.source import Source, chunks
from pipeline.encoder.version import folder_version
from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator
    from pathlib import Path

    from pipeline.embedding.parts import Parts
    from pipeline.encoder.encoder import SentenceEncoder

# One chunk a row, and a row a block: offsets beyond 2^31 - 1 bytes want the large types.
_TEXTS = pa.large_list(pa.large_string())


@dataclass(frozen=True)
class Workers:
    """What embeds.

    Attributes:
        count: processes.
        gpus: share of a GPU for each.
    """

    count: int
    gpus: float

    @classmethod
    def of(cls, count: int | None, gpus: float | None) -> Workers:
        """Workers for the cluster that is connected; None takes what it has.

        Raises:
            InputError: it has less than they need.
        """
        there = ray.cluster_resources()  # type: ignore[no-untyped-call]
        has_gpus, has_cpus = there.get("GPU", 0.0), there.get("CPU", 0.0)
        share = min(1.0, has_gpus) if gpus is None else gpus
        allowed = int(min(has_cpus, has_gpus / share if share else has_cpus))
        if allowed < (count or 1):
            raise InputError(
                f"--workers: {count or 1} of a CPU and {share:g} GPUs each are more than the "
                f"cluster's {has_cpus:g} CPUs and {has_gpus:g} GPUs; lower --workers or "
                "--gpus-per-worker, or add machines first."
            )
        return cls(count or allowed, share)


class _Chunks(Datasource):
    """The input as rows of a chunk's number and its texts."""

    def __init__(self, source: Source, parts: Parts) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._source = source
        self._size = parts.plan.chunk
        self._finished = parts.finished

    def estimate_inmemory_data_size(self) -> None:
        """Not known."""

    def get_read_tasks(self, *_: Any, **__: Any) -> list[ReadTask]:
        """One reader, for a stream that has to be read in order."""
        return [ReadTask(self._read, BlockMetadata(None, None, None, None))]

    def _read(self) -> Iterator[pa.Table]:
        for number, texts in enumerate(chunks(self._source.texts(), self._size)):
            if number not in self._finished:
                yield pa.table({"number": [number], "texts": pa.array([texts], _TEXTS)})


class _Worker:
    """An encoder that stays loaded.

    What goes wrong is an answer, and not raised: Ray would try again, and print every traceback.
    """

    def __init__(self, settings: Encoding, version: str) -> None:
        self._settings = settings
        self._encoder: SentenceEncoder | None = None
        self._error = ""
        try:
            _check_folder(settings.folder, version)
            self._encoder = settings.load()
        except ValueError as error:
            self._error = str(error)

    def __call__(self, chunk: pa.Table) -> pa.Table:
        number, (texts,) = chunk["number"][0].as_py(), chunk["texts"].to_pylist()
        packed, error = b"", self._error
        if self._encoder is not None:
            try:
                ready = tokenized(self._encoder, number, texts)
                packed = embeddings(self._encoder, ready, self._settings).tobytes()
            except ValueError as wrong:
                error = str(wrong)
        columns = {"number": [number], "embeddings": pa.array([packed], pa.large_binary())}
        return pa.table(columns | {"error": [error]})


def _check_folder(folder: Path, version: str) -> None:
    if not folder.is_dir() or folder_version(folder) != version:
        raise InputError(
            f"--encoder: on {socket.gethostname()}, a machine of the cluster, {folder} is not the "
            "encoder that it is here; put it on a shared disk, or copy it there."
        )


def encode_on_ray(
    source: Source,
    parts: Parts,
    settings: Encoding,
    workers: Workers,
    progress: Callable[[int], None],
) -> None:
    """Embed all chunks that are not finished, on the cluster that is connected.

    Args:
        source: the sentences; its paths are absolute.
        parts: which chunks are finished, and where the others go.
        settings: what every worker loads and does.
        workers: how many.
        progress: called with the number of sentences of each chunk.

    Raises:
        InputError: a worker cannot go on.
    """
    settings = replace(settings, folder=settings.folder.resolve())
    try:
        # Closed before the cluster is, so that workers end first, and in order.
        with closing(_results(source, parts, settings, workers)) as results:
            for number, packed in results:
                if parts.lacks(number):  # a lost worker's chunk may come twice
                    found = np.frombuffer(packed, parts.plan.dtype)
                    parts.write(number, found.reshape(-1, parts.plan.dimension))
                    progress(parts.plan.rows(number))
    except ray.exceptions.RayError as error:
        reason = next(line for line in reversed(str(error).splitlines()) if line.strip())
        raise InputError(
            f"--ray: the cluster failed ({reason.strip().rstrip('.')}); the same command goes on "
            "after the last finished chunk."
        ) from error


def _results(
    source: Source, parts: Parts, settings: Encoding, workers: Workers
) -> Generator[tuple[int, bytes]]:
    context = DataContext.get_current()
    context.target_max_block_size = 1  # bytes: whatever its size, a row is a block of its own
    context.enable_progress_bars = False
    # The input need not be readable from elsewhere.
    here = ray.get_runtime_context().get_node_id()
    read = read_datasource(
        _Chunks(source, parts),
        override_num_blocks=1,
        num_cpus=0,  # or a cluster of one CPU would wait for ever
        label_selector={"ray.io/node-id": here},
    )
    embedded = read.map_batches(
        _Worker,
        fn_constructor_args=(settings, parts.plan.encoder),
        batch_size=1,
        batch_format="pyarrow",
        compute=ActorPoolStrategy(size=workers.count),
        num_cpus=1,
        num_gpus=workers.gpus,
    )
    for block in embedded.iter_batches(batch_size=None, batch_format="pyarrow"):
        table = cast("pa.Table", block)
        for row in table.to_pylist():
            if row["error"]:
                raise InputError(row["error"])
            yield row["number"], row["embeddings"]
