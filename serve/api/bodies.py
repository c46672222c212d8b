"""Requests' bodies, read within bounds: the kind, size and time of each, and all together."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.datastructures import Headers
from starlette.requests import Request

from serve.errors import ApiError, overloaded
from serve.metrics import Metrics
from serve.settings import LimitParams

_CLOSE = {"Connection": "close"}


class Bodies:
    """Reads bodies, and counts the bytes of those that are not yet answered."""

    def __init__(self, limits: LimitParams, metrics: Metrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._held = 0

    @asynccontextmanager
    async def read(self, request: Request) -> AsyncIterator[bytearray]:
        """A request's whole body, which counts as long as the context lasts.

        Raises:
            ApiError: it is not said to be JSON in UTF-8, or it is over a limit.
        """
        _check_kind(request.headers)
        announced = request.headers.get("content-length", "")
        if announced.isdecimal() and int(announced[:20]) > self._limits.body_bytes:
            raise self._too_large(f"of {announced[:20]} bytes")
        body = bytearray()
        seconds = self._limits.body_seconds
        try:
            try:
                async with asyncio.timeout(seconds):
                    async for piece in request.stream():
                        if len(body) + len(piece) > self._limits.body_bytes:
                            raise self._too_large("that is longer")
                        if self._held + len(piece) > self._limits.all_bodies_bytes:
                            raise self._no_room()
                        self._held += len(piece)
                        body += piece
            except TimeoutError as error:
                raise ApiError(
                    408,
                    "body_timeout",
                    f"the body took longer than the limit body_seconds={seconds:g}; "
                    "send it faster or in smaller requests.",
                    headers=_CLOSE,
                ) from error
            yield body
        finally:
            self._held -= len(body)

    def _no_room(self) -> ApiError:
        self._metrics.refused.labels("all_bodies_bytes").inc()
        refusal = overloaded(
            "the bodies of all requests exceed the limit "
            f"all_bodies_bytes={self._limits.all_bodies_bytes}; try again later.",
            1,
        )
        refusal.headers.update(_CLOSE)
        return refusal

    def _too_large(self, what: str) -> ApiError:
        most = self._limits.body_bytes
        return ApiError(
            413,
            "body_too_large",
            f"a body {what} is over the limit body_bytes={most}; divide the request.",
            headers=_CLOSE,
        )


def _check_kind(headers: Headers) -> None:
    """Refuse what is not said to be plain JSON in UTF-8."""
    kind, *options = (part.strip() for part in headers.get("content-type", "").split(";"))
    if kind.lower() != "application/json":
        raise ApiError(
            415,
            "unsupported_media_type",
            f"the body must be JSON: send the header Content-Type: application/json, got "
            f"{kind.lower()[:100] or 'none'!r}.",
        )
    for name, _, value in (option.partition("=") for option in options):
        charset = value.strip().strip("\"'").lower()
        if name.strip().lower() == "charset" and charset not in ("", "utf-8", "utf8"):
            raise ApiError(
                415,
                "unsupported_media_type",
                f"the body must be JSON in UTF-8: leave the charset out, got {charset[:100]!r}.",
            )
    if headers.get("content-encoding", "identity") != "identity":
        raise ApiError(
            415,
            "unsupported_encoding",
            "the body must not be compressed; leave Content-Encoding out.",
        )
