"""From the batcher's jobs to an answer: ready responses, large ones written on another thread."""

import asyncio
import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import orjson
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.types import Receive

from pipeline.encoder.vectors import Embeddings
from serve.batching.jobs import Encoded, Job
from serve.errors import ApiError

T = TypeVar("T")

# Bytes of JSON from which reading or writing it would hold up the event loop.
_LARGE = 1 << 17


async def offload(size: int, work: Callable[[], T]) -> T:
    """The result of `work`, computed on another thread if it concerns that many bytes."""
    return await asyncio.to_thread(work) if size > _LARGE else work()


async def results_of(receive: Receive, jobs: Sequence[Job]) -> list[Encoded]:
    """The jobs' results; if the client leaves, or one fails, all others end too."""
    departure = asyncio.ensure_future(_cancel_when_gone(receive, jobs))
    try:
        return [await job.future for job in jobs]
    except asyncio.CancelledError:
        if departure.done():
            raise ClientDisconnect from None
        raise
    finally:
        departure.cancel()
        for job in jobs:
            if not job.future.cancel() and not job.future.cancelled():
                job.future.exception()  # or it would be logged as never retrieved


async def _cancel_when_gone(receive: Receive, jobs: Sequence[Job]) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    for job in jobs:
        job.future.cancel()


def as_base64(row: Embeddings) -> str:
    """float32, little-endian, as OpenAI's clients ask for it."""
    return base64.b64encode(row.astype("<f4", copy=False).tobytes()).decode("ascii")


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON; numpy rows are written as they are."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers, "application/json")


def error_response(error: ApiError) -> Response:
    """The JSON that says what went wrong."""
    return json_response(error.body, error.status, error.headers)


def with_usage(content: dict[str, Any], results: Sequence[Encoded]) -> Response:
    """The answer, with the tokens that were encoded, and a header if texts were cut."""
    tokens = sum(sum(encoded.tokens) for encoded in results)
    truncated = sum(sum(encoded.truncated) for encoded in results)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    headers = {"X-Truncated": str(truncated)} if truncated else None
    return json_response(content | {"usage": usage}, headers=headers)
