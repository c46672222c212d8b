"""What surrounds every route: path prefix, request ids, logs, metrics, bounds on bodies.

Plain ASGI, one small class each. The log has one line of JSON a request and never a text of it.
"""

import asyncio
import logging
import re
import secrets
import time
from itertools import count

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.api.answers import error_response
from serve.errors import ApiError, overloaded
from serve.metrics import Metrics
from serve.settings import LimitParams

log = logging.getLogger("serve.requests")

# What a client may give as its own request id; anything else could forge lines of a log.
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
# Asked every few seconds by whoever watches the service: neither logged nor counted.
_HEALTH = ("/livez", "/readyz")


class Prefix:
    """Makes paths whole again, as ASGI has them, where a proxy took the prefix off."""

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            path = scope["path"]
            if path == self._prefix:
                path += "/"
            elif not path.startswith(f"{self._prefix}/"):
                path = self._prefix + path
            scope = dict(scope, path=path, root_path=self._prefix)
        await self._app(scope, receive, send)


class Observe:
    """Gives each request an id, counts it, writes its line of the log, and answers for faults."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics
        # Unique, and made without a system call.
        self._process = secrets.token_hex(8)
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun, root = time.perf_counter(), scope["root_path"]
        given = next((value for key, value in scope["headers"] if key == b"x-request-id"), b"")
        request_id = given.decode() if _REQUEST_ID.fullmatch(given) else self._new_id()
        status = 0

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except Exception:
            log.exception("request %s met a fault", request_id)
            if status:  # the answer has begun
                raise
            message = f"the service met a fault; its log has details under request {request_id}."
            await error_response(ApiError(500, "internal_error", message))(scope, receive, observed)
        finally:
            # The route, never the path itself: a client must not make up label values. Mounts add
            # their path to the root's.
            mounted = scope["root_path"].removeprefix(root) or "other"
            route = getattr(scope.get("route"), "path", mounted)
            if route not in _HEALTH:
                seconds = time.perf_counter() - begun
                self._count(scope["method"], route, request_id, status or 500, seconds)

    def _new_id(self) -> str:
        return f"{self._process}{next(self._numbers):012x}"

    def _count(self, method: str, route: str, request_id: str, status: int, seconds: float) -> None:
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if log.isEnabledFor(logging.INFO):
            log.info(
                {
                    "request": request_id,
                    "method": method[:16],
                    "route": route,
                    "status": status,
                    "ms": round(seconds * 1000, 2),
                }
            )


class Bodies:
    """Bounds bodies: each one's size and time, and all that are not yet answered together.

    A body that nobody reads costs nothing. `page`: the path of the page, which has its own bound.
    """

    def __init__(self, app: ASGIApp, limits: LimitParams, metrics: Metrics, page: str) -> None:
        self._app = app
        self._limits = limits
        self._metrics = metrics
        self._page = page
        self._held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http" or scope["path"].startswith(self._page):
            await self._app(scope, receive, send)
            return
        limits, held, deadline, whole = self._limits, 0, 0.0, False

        async def bounded() -> Message:
            nonlocal held, deadline, whole
            if whole:  # only the end of the connection can follow
                return await receive()
            if not deadline:
                deadline = asyncio.get_running_loop().time() + limits.body_seconds
                _check_announced(Headers(scope=scope), limits.body_bytes)
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError as error:
                raise ApiError(
                    408,
                    "body_timeout",
                    f"the body took longer than the limit body_seconds={limits.body_seconds:g}; "
                    "send it faster or in smaller requests.",
                    headers={"Connection": "close"},
                ) from error
            size = len(message.get("body", b""))
            if held + size > limits.body_bytes:
                raise _too_large("that is longer", limits.body_bytes)
            self._hold(size)
            held += size
            whole = not message.get("more_body", False)
            return message

        try:
            await self._app(scope, bounded, send)
        finally:
            self._held -= held

    def _hold(self, size: int) -> None:
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


def _check_announced(headers: Headers, most: int) -> None:
    announced = headers.get("content-length", "")
    if announced.isdecimal() and int(announced[:20]) > most:
        raise _too_large(f"of {announced[:20]} bytes", most)


def _too_large(what: str, most: int) -> ApiError:
    return ApiError(
        413,
        "body_too_large",
        f"a body {what} is over the limit body_bytes={most}; divide the request.",
        headers={"Connection": "close"},
    )
