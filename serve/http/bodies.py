"""Bodies in and out: what HTTP lets a client do wrong, and JSON answers.

Not here: what a body may say (contract.py).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from serve.errors import ApiError
from serve.settings import LimitParams

T = TypeVar("T")

# Bytes of JSON from which reading or writing it would hold up the event loop.
_LARGE = 1 << 17


class ClientGone(Exception):  # noqa: N818 - no error, the client left
    """The client closed its connection before it had an answer."""


def json_response(
    content: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """JSON; numpy rows are written as they are."""
    body = orjson.dumps(content, option=orjson.OPT_SERIALIZE_NUMPY)
    return Response(body, status, headers, "application/json")


def error_response(error: ApiError) -> Response:
    """The JSON that says what went wrong."""
    return json_response(error.body, error.status, error.headers)


async def offload(size: int, work: Callable[[], T]) -> T:
    """The result of `work`, computed on another thread if it concerns that many bytes."""
    return await asyncio.to_thread(work) if size > _LARGE else work()


async def read_body(request: Request, limits: LimitParams) -> bytes:
    """The body of a request that says it is JSON.

    Raises:
        ApiError: 415, 413, 400 or 408.
        ClientGone: it left.
    """
    headers = request.headers
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(
            415,
            "unsupported_media_type",
            f"the body must be JSON: send the header Content-Type: application/json, got "
            f"{kind or 'none'!r}.",
        )
    if headers.get("content-encoding", "identity") != "identity":
        raise ApiError(
            415,
            "unsupported_encoding",
            "the body must not be compressed; leave Content-Encoding out.",
        )
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > limits.body_bytes:
        raise _too_large(f"of {announced} bytes", limits)
    try:
        async with asyncio.timeout(limits.body_seconds):
            parts, size = [], 0
            async for part in request.stream():
                size += len(part)
                if size > limits.body_bytes:
                    raise _too_large("that is longer", limits)
                parts.append(part)
            return b"".join(parts)
    except ClientDisconnect as error:
        raise ClientGone from error
    except TimeoutError as error:
        raise ApiError(
            408,
            "body_timeout",
            f"the body took longer than the limit body_seconds={limits.body_seconds:g}; send it "
            "faster or in smaller requests.",
            headers={"Connection": "close"},
        ) from error


def _too_large(what: str, limits: LimitParams) -> ApiError:
    return ApiError(
        413,
        "body_too_large",
        f"a body {what} is over the limit body_bytes={limits.body_bytes}; divide the request.",
        headers={"Connection": "close"},
    )
