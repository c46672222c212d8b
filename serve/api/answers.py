"""From the batcher's jobs to the content of an answer."""

import asyncio
import base64
import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from starlette.responses import Response
from starlette.types import Receive

from pipeline.encoder.vectors import Embeddings
from serve.api.bodies import ClientGone, json_response
from serve.batching.jobs import Encoded, Job

_TINY = 1e-12


async def results_of(receive: Receive, jobs: Sequence[Job]) -> list[Encoded]:
    """The jobs' results; if the client leaves, or one fails, all others end too."""
    gone = asyncio.ensure_future(_disconnected(receive))
    gone.add_done_callback(lambda _: [job.future.cancel() for job in jobs])
    try:
        return [await job.future for job in jobs]
    except asyncio.CancelledError:
        if gone.done() and not gone.cancelled():
            raise ClientGone from None
        raise
    finally:
        gone.cancel()
        for job in jobs:
            job.future.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                job.future.done() and job.future.exception()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def normalized(embeddings: Embeddings) -> Embeddings:
    """Rows of length one."""
    norms = np.linalg.norm(embeddings, axis=1, keepdims=True)
    return np.asarray(embeddings / np.maximum(norms, _TINY), np.float32)


def as_base64(row: Embeddings) -> str:
    """float32, little-endian, as OpenAI's clients ask for it."""
    return base64.b64encode(row.astype("<f4", copy=False).tobytes()).decode("ascii")


def with_usage(content: dict[str, Any], found: Sequence[Encoded]) -> Response:
    """The answer, with the tokens that were encoded, and a header if texts were cut."""
    tokens = sum(sum(encoded.tokens) for encoded in found)
    truncated = sum(sum(encoded.truncated) for encoded in found)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    headers = {"X-Truncated": str(truncated)} if truncated else None
    return json_response(content | {"usage": usage}, headers=headers)
