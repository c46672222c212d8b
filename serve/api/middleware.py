"""What surrounds every route: path prefix, request ids, logs, metrics, API keys.

Plain ASGI, one small class each. The log has one line of JSON a request and never a text of it.
"""

import hmac
import logging
import re
import secrets
import time
from collections.abc import Sequence
from itertools import count

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.api.bodies import error_response
from serve.errors import ApiError
from serve.metrics import Metrics

log = logging.getLogger("serve.requests")

# What a client may give as its own request id; anything else could forge lines of a log.
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
_MODEL = re.compile(r"/v1/models/[^/]+(/training)?")


class Prefix:
    """Takes off the path prefix that a proxy leaves on, ours or the server's own `root_path`.

    First of all, so that whoever looks at a path behind it sees the route.
    """

    def __init__(self, app: ASGIApp, prefix: str) -> None:
        self._app = app
        self._prefix = prefix

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http":
            path = scope["path"]
            for prefix in (scope.get("root_path", ""), self._prefix):
                if prefix and f"{path}/".startswith(f"{prefix}/"):
                    path = path[len(prefix) :] or "/"
            scope = dict(scope, path=path, root_path="")
        await self._app(scope, receive, send)


class Observe:
    """Gives each request an id, counts it and writes its line of the log."""

    def __init__(self, app: ASGIApp, metrics: Metrics, routes: Sequence[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._routes = frozenset(routes)
        # Unique, and made without a system call.
        self._process = secrets.token_hex(8)
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        given = next((value for key, value in scope["headers"] if key == b"x-request-id"), b"")
        request_id = given.decode() if _REQUEST_ID.fullmatch(given) else self._new_id()
        scope["request_id"] = request_id
        status = 500

        async def observed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                MutableHeaders(scope=message)["X-Request-Id"] = request_id
            await send(message)

        try:
            await self._app(scope, receive, observed)
        finally:
            self._count(scope, request_id, status, time.perf_counter() - begun)

    def _new_id(self) -> str:
        return f"{self._process}{next(self._numbers):012x}"

    def _count(self, scope: Scope, request_id: str, status: int, seconds: float) -> None:
        route = self._label(scope["path"])
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if log.isEnabledFor(logging.INFO):
            log.info(
                {
                    "request": request_id,
                    "method": scope["method"][:16],
                    "route": route,
                    "status": status,
                    "ms": round(seconds * 1000, 2),
                }
            )

    def _label(self, path: str) -> str:
        """The route, never the path itself: a client must not make up label values."""
        if path in self._routes:
            return path
        if path.startswith("/demo/"):
            return "/demo"
        match = _MODEL.fullmatch(path)
        return f"/v1/models/{{id}}{match[1] or ''}" if match else "other"


class Keys:
    """Asks for an API key on /v1 when there are any."""

    def __init__(self, app: ASGIApp, keys: Sequence[bytes]) -> None:
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] == "http" and scope["path"].startswith("/v1/"):
            given = next((value for key, value in scope["headers"] if key == b"authorization"), b"")
            kind, _, key = given.partition(b" ")
            # Every key is compared, so that time tells nothing about which one was near.
            matches = [hmac.compare_digest(key.strip(), known) for known in self._keys]
            if kind.lower() != b"bearer" or not any(matches):
                what = "is missing" if not given else "is not known here"
                error = ApiError(
                    401,
                    "invalid_api_key",
                    f"the API key {what}: send the header Authorization: Bearer KEY.",
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await error_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)
