"""Chunks of sentences -> embeddings by workers on a Ray cluster.

This machine reads the input and writes the output, as it does without Ray. A worker holds an
encoder and gets whole chunks, so all that it needs is the encoder's folder, at the same path. Ray
is imported when it is asked for: nothing else depends on it.
"""

from __future__ import annotations

import logging
import os
import re
import socket
from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pipeline.encoder.version import folder_version
from pipeline.machine.cores import usable_cores
from pipeline.machine.errors import InputError, first_line

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    import numpy as np

    from pipeline.embedding.encoding import Encoding
    from pipeline.encoder.encoder import SentenceEncoder

_ADDRESSES = re.compile(r"local|auto|[^:/\s]+:[0-9]+")
# Of shared memory, for the chunks that are on their way; further ones would go to the disk.
_OBJECT_STORE = 512 << 20


def check_cluster(address: str | None, workers: int | None) -> None:
    """Refuse options that cannot be used, before any work; arguments as for `encode_on_ray`.

    Raises:
        InputError: one is of no use as it is, or Ray is not installed.
    """
    if address is None:
        if workers is not None:
            raise InputError("--workers: it is for a cluster's workers; give --ray ADDRESS too.")
        return
    if not _ADDRESSES.fullmatch(address):
        raise InputError(
            f"--ray: {address!r} is no address; give local, auto or HOST:PORT of a cluster that "
            "this machine belongs to."
        )
    # Ray reads these when it is imported. Its core logs what is no failure as an error.
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if address == "local":
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        # Linux included: without this, even a cluster of one machine listens to all others.
        os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"
    try:
        import ray  # noqa: F401, PLC0415
    except ImportError as error:
        raise InputError(
            f"--ray: needs the library `ray` ({error}); install it with: pip install -e '.[ray]'."
        ) from error


def encode_on_ray(
    chunks: Iterator[list[str]], settings: Encoding, address: str, workers: int | None
) -> Generator[np.ndarray]:
    """Embed chunks on a cluster, in their order.

    Each worker holds two at most: the one that it works on, and the next.

    Args:
        chunks: read as workers become free.
        settings: what every worker loads and does.
        address: of the cluster; one that is started here ends with the last chunk.
        workers: how many; None takes what the cluster has.

    Raises:
        InputError: no such cluster, it has less than the workers need, or one cannot go on.
    """
    import ray  # noqa: PLC0415

    _connect(address)
    try:
        count, gpus = workers_for(workers)
        version = folder_version(settings.folder)
        # The worker of a machine that is lost starts elsewhere, and does its chunks again.
        options = {"num_cpus": 1, "num_gpus": gpus, "max_restarts": 3, "max_task_retries": 3}
        worker: Any = ray.remote(**options)(_Worker)  # type: ignore[call-overload]
        actors = [worker.remote(settings, version) for _ in range(count)]
        waiting: deque[Any] = deque()
        for number, texts in enumerate(chunks):
            if len(waiting) == 2 * count:
                yield ray.get(waiting.popleft())
            waiting.append(actors[number % count].embed.remote(texts))
        while waiting:
            yield ray.get(waiting.popleft())
    except ray.exceptions.RayTaskError as error:
        raise error.cause from None
    except ray.exceptions.RayError as error:
        raise InputError(
            f"--ray: the cluster failed ({first_line(error)}); the same command resumes after the "
            "last finished chunk."
        ) from error
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    import ray  # noqa: PLC0415

    own: dict[str, Any] = {}
    if address == "local":
        own = {
            "num_cpus": usable_cores(),
            "object_store_memory": _OBJECT_STORE,
            "include_dashboard": False,
            "_node_ip_address": "127.0.0.1",
        }
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, **own)
    except (OSError, RuntimeError, ValueError) as error:
        raise InputError(
            f"--ray: no cluster at {address!r} that can be used ({first_line(error)}); start one "
            "with `ray start --head`, or give local."
        ) from error


def workers_for(count: int | None) -> tuple[int, int]:
    """How many workers, and the GPUs of each: one where the cluster has any; None takes all.

    Raises:
        InputError: it has less than they need.
    """
    import ray  # noqa: PLC0415

    resources = ray.cluster_resources()  # type: ignore[no-untyped-call]
    cpus, gpus = int(resources.get("CPU", 0)), int(resources.get("GPU", 0))
    each = min(1, gpus)
    allowed = min(cpus, gpus) if gpus else cpus
    if allowed < (count or 1):
        raise InputError(
            f"--workers: {count or 1} of a CPU and {each} GPUs each are more than the cluster's "
            f"{cpus} CPUs and {gpus} GPUs; lower --workers, or add machines first."
        )
    return count or allowed, each


class _Worker:
    """An encoder that stays loaded."""

    def __init__(self, settings: Encoding, version: str) -> None:
        self._settings, self._version = settings, version

    @cached_property  # not in __init__, whose errors Ray does not bring back
    def _encoder(self) -> SentenceEncoder:
        folder = self._settings.folder
        if not folder.is_dir() or folder_version(folder) != self._version:
            raise InputError(
                f"--encoder: on {socket.gethostname()}, a machine of the cluster, {folder} is not "
                "the encoder that it is here; put it on a shared disk, or copy it there."
            )
        return self._settings.load()

    def embed(self, texts: list[str]) -> np.ndarray:
        return self._settings.embed(self._encoder, texts)
