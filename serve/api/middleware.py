"""What surrounds every route: path prefix, request ids, logs, metrics.

Plain ASGI, one small class each. The log has one line of JSON a request and never a text of it.
"""

import logging
import re
import secrets
import time
from collections.abc import Mapping
from itertools import count
from typing import Any

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from serve.api.answers import error_response
from serve.errors import ApiError
from serve.metrics import Metrics

log = logging.getLogger("serve.requests")

# What a client may give as its own request id; anything else could forge lines of a log.
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:/+=-]{1,128}")
# Asked every few seconds by whoever watches the service: neither logged nor counted.
_HEALTH = ("/livez", "/readyz")
# nginx's word for a client that left; nobody receives it, metrics and log show it.
CLIENT_GONE = 499


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
    """Gives each request an id, counts it, writes its line of the log, and answers for faults.

    `paths`: the paths of all endpoints. Log and metrics have these, as clients must not make up
    values of labels.
    """

    def __init__(self, app: ASGIApp, metrics: Metrics, paths: Mapping[Any, str]) -> None:
        self._app = app
        self._metrics = metrics
        self._paths = paths
        # Unique, and made without a system call.
        self._process = secrets.token_hex(8)
        self._numbers = count()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        own_id = next((value for key, value in scope["headers"] if key == b"x-request-id"), b"")
        request_id = f"{self._process}{next(self._numbers):012x}"
        if _REQUEST_ID.fullmatch(own_id):
            request_id = own_id.decode()
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
            route = self._paths.get(scope.get("endpoint"), "other")
            if route not in _HEALTH:
                seconds = time.perf_counter() - begun
                self._count(scope["method"], route, request_id, status or 500, seconds)

    def _count(self, method: str, route: str, request_id: str, status: int, seconds: float) -> None:
        self._metrics.requests.labels(route, str(status)).inc()
        self._metrics.request_seconds.labels(route).observe(seconds)
        if status == CLIENT_GONE:
            self._metrics.cancelled.labels(route).inc()
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
