"""Bodies in and out: what HTTP lets a client do wrong, and JSON answers.

Not here: what a body may say (contract.py).
"""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from serve.errors import ApiError, overloaded
from serve.metrics import Metrics
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


class Bodies:
    """Reads the bodies of requests; all that are in the service at once have a bound too."""

    def __init__(self, limits: LimitParams, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._held = 0

    async def read(self, request: Request) -> bytes:
        """The body of a request that says it is JSON; it counts until `forget`.

        Raises:
            ApiError: 415, 413, 429 or 408.
            ClientGone: it left.
        """
        _check_headers(request.headers, self._limits)
        seconds = self._limits.body_seconds
        try:
            async with asyncio.timeout(seconds):
                parts, size = [], 0
                async for part in request.stream():
                    size += len(part)
                    if size > self._limits.body_bytes:
                        raise _too_large("that is longer", self._limits)
                    self._hold(request, len(part))
                    parts.append(part)
                return b"".join(parts)
        except ClientDisconnect as error:
            raise ClientGone from error
        except TimeoutError as error:
            raise ApiError(
                408,
                "body_timeout",
                f"the body took longer than the limit body_seconds={seconds:g}; send it faster or "
                "in smaller requests.",
                headers={"Connection": "close"},
            ) from error

    def forget(self, request: Request) -> None:
        """The request is over: its bytes count no more."""
        self._held -= request.scope.pop("held_bytes", 0)

    def _hold(self, request: Request, size: int) -> None:
        most = self._limits.all_bodies_bytes
        if self._held + size > most:
            self._metrics.refused.labels("all_bodies_bytes").inc()
            refusal = overloaded(
                f"the bodies of all requests exceed the limit all_bodies_bytes={most}; try again "
                "later.",
                1,
            )
            refusal.headers["Connection"] = "close"
            raise refusal
        self._held += size
        request.scope["held_bytes"] = request.scope.get("held_bytes", 0) + size


def _check_headers(headers: Headers, limits: LimitParams) -> None:
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise ApiError(
            415,
            "unsupported_media_type",
            f"the body must be JSON: send the header Content-Type: application/json, got "
            f"{kind[:100] or 'none'!r}.",
        )
    if headers.get("content-encoding", "identity") != "identity":
        raise ApiError(
            415,
            "unsupported_encoding",
            "the body must not be compressed; leave Content-Encoding out.",
        )
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > limits.body_bytes:
        raise _too_large(f"of {announced[:20]} bytes", limits)


def _too_large(what: str, limits: LimitParams) -> ApiError:
    return ApiError(
        413,
        "body_too_large",
        f"a body {what} is over the limit body_bytes={limits.body_bytes}; divide the request.",
        headers={"Connection": "close"},
    )
