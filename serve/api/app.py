"""The HTTP API: paths, methods, and what every answer has in common.

`create_api` gives a plain ASGI application. BentoML answers GET of /livez and /readyz itself; the
ones here answer below a path prefix, and other methods. Not here: what the routes do (routes.py).
"""

import logging
from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app import ICON
from serve.api.bodies import Bodies, ClientGone, error_response, json_response
from serve.api.components import Components
from serve.api.docs import ASSETS, page
from serve.api.middleware import Keys, Observe, Prefix
from serve.api.openapi import document
from serve.api.routes import Routes
from serve.engine import Engine
from serve.errors import ApiError

log = logging.getLogger("serve.api.app")

Handler = Callable[[Request], Awaitable[Response]]

# nginx's word for a client that left; nobody receives it, metrics and log show it.
_CLIENT_GONE = 499


def create_api(engine: Engine, keys: Sequence[bytes], page: ASGIApp | None = None) -> Starlette:
    """The application.

    Args:
        engine: what computes.
        keys: API keys; none: everybody may call.
        page: what answers below /demo, without a key.
    """
    routes = Routes(engine)
    system = _System(engine, first="docs" if page is None else "demo/")
    table: list[tuple[str, str, Handler]] = [
        ("POST", "/v1/embeddings", routes.embeddings),
        ("POST", "/v1/similarity", routes.similarity),
        ("POST", "/v1/search", routes.search),
        ("POST", "/v1/tokenize", routes.tokenize),
        ("POST", "/v1/components", Components(engine, routes)),
        ("GET", "/v1/models", routes.models),
        ("GET", "/v1/models/{id}", routes.model),
        ("GET", "/v1/models/{id}/training", routes.training),
        ("GET", "/v1/results", routes.results),
        ("GET", "/livez", system.livez),
        ("GET", "/readyz", system.readyz),
        ("GET", "/metrics", system.metrics),
        ("GET", "/openapi.json", system.openapi),
        ("GET", "/docs", system.docs),
        ("GET", "/", system.index),
    ]
    known = [*(path for _, path, _ in table), "/demo"]
    middleware = [
        Middleware(Prefix, prefix=engine.params.path_prefix),
        Middleware(Observe, metrics=engine.metrics, routes=known),
    ]
    if engine.params.cors_origins:
        middleware.append(
            Middleware(
                CORSMiddleware,
                allow_origins=list(engine.params.cors_origins),
                allow_methods=["GET", "POST"],
                allow_headers=["Authorization", "Content-Type", "X-Request-Id"],
                expose_headers=["Retry-After", "X-Request-Id", "X-Truncated"],
            )
        )
    if keys:
        middleware.append(Middleware(Keys, keys=keys))
    app = Starlette(
        routes=[
            *(
                Route(path, _guarded(handler, engine, routes.bodies), methods=[way])
                for way, path, handler in table
            ),
            Mount("/docs/assets", StaticFiles(directory=ASSETS)),
            *([] if page is None else _page_routes(page)),
        ],
        middleware=middleware,
        exception_handlers={HTTPException: _http_exception},
    )
    app.router.redirect_slashes = False  # a redirect would name the host behind the proxy
    return app


def _guarded(handler: Handler, engine: Engine, bodies: Bodies) -> Handler:
    """The handler, with every way to fail turned into an answer."""

    async def guarded(request: Request) -> Response:
        try:
            return await handler(request)
        except ApiError as error:
            return error_response(error)
        except ClientGone:
            engine.metrics.cancelled.labels(request.url.path).inc()
            return Response(status_code=_CLIENT_GONE)
        except Exception:
            request_id = request.scope.get("request_id")
            log.exception("request %s met a fault", request_id)
            return error_response(
                ApiError(
                    500,
                    "internal_error",
                    f"the service met a fault; its log has details under request {request_id}.",
                )
            )
        finally:
            bodies.forget(request)

    return guarded


async def _http_exception(request: Request, error: Exception) -> Response:
    """Starlette's own refusals: no such path, or not with this method."""
    if not isinstance(error, HTTPException):
        raise error
    path = request.url.path[:100]
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{path} cannot be called with {request.method[:16]}; use {allowed}."
        refusal = ApiError(405, "method_not_allowed", message, headers=error.headers)
    else:
        message = f"there is nothing at {path}; GET /docs lists the routes."
        refusal = ApiError(error.status_code, "not_found", message, headers=error.headers)
    return error_response(refusal)


def _page_routes(page: ASGIApp) -> list[BaseRoute]:
    return [Route("/demo", _to_page), Route("/favicon.ico", _icon), Mount("/demo", page)]


async def _icon(_: Request) -> Response:
    return FileResponse(ICON, media_type="image/svg+xml")


async def _to_page(_: Request) -> Response:
    # Relative: a proxy in front may have taken a prefix off.
    return RedirectResponse("demo/")


class _System:
    """Health, metrics and documentation."""

    def __init__(self, engine: Engine, first: str) -> None:
        self._engine = engine
        self._first = first
        self._document = document(engine.params)

    async def livez(self, _: Request) -> Response:
        if self._engine.batcher.alive:
            return json_response({"status": "alive"})
        raise ApiError(503, "not_alive", "the threads that compute have died; restart the service.")

    async def readyz(self, _: Request) -> Response:
        if self._engine.ready:
            return json_response({"status": "ready"})
        self._engine.check_loaded()
        raise ApiError(503, "draining", "the service is stopping; send requests elsewhere.")

    async def metrics(self, _: Request) -> Response:
        return Response(self._engine.metrics.exposition(), media_type="text/plain; version=0.0.4")

    async def openapi(self, _: Request) -> Response:
        return json_response(self._document)

    async def docs(self, _: Request) -> Response:
        return HTMLResponse(page())

    async def index(self, _: Request) -> Response:
        # Relative where the prefix is not known: the proxy that took it off may have one.
        prefix = self._engine.params.path_prefix
        return RedirectResponse(f"{prefix}/{self._first}" if prefix else self._first)
