"""The HTTP API: paths, methods, documentation, and what every answer has in common.

Starlette serves it and FastAPI documents it: what FastAPI does on each request costs more than
reading one text. Not here: what the routes do (routes.py).
"""

import hmac
from collections.abc import Callable, Coroutine, Mapping, Sequence
from importlib.resources import files
from typing import Any

from fastapi import Depends
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.openapi.utils import get_openapi
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app import ICON
from serve.api import contract
from serve.api.answers import error_response, json_response, offload
from serve.api.bodies import Bodies
from serve.api.contract import (
    CompareRequest,
    ComponentsRequest,
    EmbeddingsRequest,
    EncodeRequest,
    SearchRequest,
    SimilarityRequest,
    TokenizeRequest,
)
from serve.api.middleware import CLIENT_GONE, Observe, Prefix
from serve.api.routes import Routes
from serve.engine import Engine
from serve.errors import ApiError

Handler = Callable[..., Coroutine[Any, Any, Response]]
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]
# Method, path, handler, the model of its request and of its answer; without the last one, it is not
# documented.
Row = tuple[str, str, Any, type[contract.Request] | None, type[BaseModel] | None]


def create_api(
    engine: Engine,
    keys: Sequence[bytes],
    page: ASGIApp | None = None,
    schema: Mapping[str, Any] | None = None,
) -> Starlette:
    """The application.

    Args:
        engine: what computes.
        keys: API keys; none: everybody may call.
        page: what answers below /demo, without a key.
        schema: how BentoML's clients are to call its methods.
    """
    params, prefix = engine.params, engine.params.path_prefix
    handlers = Routes(engine)

    async def bentoml_schema() -> Response:
        return json_response(schema)

    table: tuple[Row, ...] = (
        ("POST", "/v1/embeddings", handlers.embeddings, EmbeddingsRequest, contract.Embeddings),
        ("POST", "/v1/similarity", handlers.similarity, SimilarityRequest, contract.Similarities),
        ("POST", "/v1/search", handlers.search, SearchRequest, contract.SearchResults),
        ("POST", "/v1/tokenize", handlers.tokenize, TokenizeRequest, contract.Tokens),
        ("POST", "/v1/components", handlers.components, ComponentsRequest, contract.Components),
        ("GET", "/v1/objectives", handlers.objectives, None, contract.Objectives),
        ("GET", "/v1/models", handlers.models, None, contract.ModelCards),
        ("GET", "/v1/models/{id}", handlers.model, None, contract.ModelCard),
        ("GET", "/v1/models/{id}/training", handlers.training, None, contract.Training),
        ("GET", "/v1/results", handlers.results, None, contract.Results),
        # As BentoML's clients call the service's methods.
        ("POST", "/encode", handlers.bentoml_encode, EncodeRequest, None),
        ("POST", "/similarity", handlers.bentoml_similarity, CompareRequest, None),
        ("GET", "/schema.json", bentoml_schema, None, None),
    )
    bodies = Bodies(params.limits, engine.metrics)
    routes: list[Route | Mount] = [
        Route(path, _endpoint(handler, request, bodies, keys), methods=[method])
        for method, path, handler, request, _ in table
    ]
    document = get_openapi(
        title="Triad",
        version="1",
        description=f"Limits of a request: {params.limits.items} texts, {params.limits.tokens} "
        f"tokens, {params.limits.body_bytes} bytes.",
        # Relative: the address of the document decides, behind any proxy.
        servers=[{"url": prefix or "."}],
        routes=[_documented(row, keys) for row in table if row[-1] is not None],
    )
    routes += _system(engine, document) + _pages(page, prefix)
    paths = {
        route.endpoint if isinstance(route, Route) else route.app: route.path for route in routes
    }
    middleware = [Middleware(Observe, metrics=engine.metrics, paths=paths)]
    if prefix:
        middleware.insert(0, Middleware(Prefix, prefix=prefix))
    if params.cors_origins:
        shared = Middleware(
            CORSMiddleware,
            allow_origins=list(params.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-Id", "X-Truncated"],
        )
        middleware.insert(0, shared)
    refusals: dict[Any, Any] = {
        ApiError: _refused,
        HTTPException: _not_found,
        ClientDisconnect: _client_gone,
    }
    app = Starlette(routes=routes, middleware=middleware, exception_handlers=refusals)
    app.router.redirect_slashes = False  # a redirect would name the host behind the proxy
    app.state.routes = handlers
    return app


def _endpoint(
    handler: Handler,
    kind: type[contract.Request] | None,
    bodies: Bodies,
    keys: Sequence[bytes],
) -> Endpoint:
    """What Starlette calls: the key is checked first, then the body is read, if one is wanted."""
    if kind is None:

        async def show(request: Request) -> Response:
            _check_key(request, keys)
            return await handler(**request.path_params)

        return show

    async def read(request: Request) -> Response:
        _check_key(request, keys)
        async with bodies.read(request) as body:
            content = await offload(len(body), lambda: contract.parse(kind, body))
            return await handler(content, request)

    return read


def _check_key(request: Request, keys: Sequence[bytes]) -> None:
    """Refuse who does not bring one of the keys, if there are any.

    Raises:
        ApiError: 401.
    """
    if not keys:
        return
    header = request.headers.get("authorization", "").encode("latin-1")
    kind, _, key = header.partition(b" ")
    # Every key is compared, so that time tells nothing about which one was near.
    matches = [hmac.compare_digest(key.strip(), own_key) for own_key in keys]
    if kind.lower() != b"bearer" or not any(matches):
        what = "is missing" if not header else "is not known here"
        raise ApiError(
            401,
            "invalid_api_key",
            f"the API key {what}: send the header Authorization: Bearer KEY.",
            headers={"WWW-Authenticate": "Bearer"},
        )


def _documented(row: Row, keys: Sequence[bytes]) -> APIRoute:
    """A route as FastAPI reads it off its handler; nothing calls it."""
    method, path, handler, _, answer = row
    return APIRoute(
        path,
        handler,
        methods=[method],
        operation_id=handler.__name__,
        dependencies=[Depends(HTTPBearer(scheme_name="key"))] if keys else [],
        responses={
            200: {"model": answer},
            "default": {"model": contract.Error, "description": "what is wrong"},
        },
    )


def _system(engine: Engine, document: Mapping[str, Any]) -> list[Route | Mount]:
    """Health, metrics and the pages about the API; for everybody."""

    async def livez(_: Request) -> Response:
        if engine.batcher.alive:
            return json_response({"status": "alive"})
        raise ApiError(503, "not_alive", "the threads that compute have died; restart the service.")

    async def readyz(_: Request) -> Response:
        if engine.ready:
            return json_response({"status": "ready"})
        engine.check_loaded()
        raise ApiError(503, "draining", "the service is stopping; send requests elsewhere.")

    async def metrics(_: Request) -> Response:
        return Response(engine.metrics.exposition(), media_type="text/plain; version=0.0.4")

    async def openapi(_: Request) -> Response:
        return json_response(document)

    async def docs(_: Request) -> Response:
        return get_swagger_ui_html(  # its addresses are relative, so any prefix will do
            title="Triad API",
            openapi_url="openapi.json",
            swagger_js_url="docs/assets/swagger-ui-bundle.js",
            swagger_css_url="docs/assets/swagger-ui.css",
            swagger_favicon_url="docs/assets/favicon.png",
            swagger_ui_parameters={"validatorUrl": None},
        )

    static = StaticFiles(directory=str(files("fastapi_offline") / "static"))
    return [
        Route("/livez", livez),
        Route("/readyz", readyz),
        Route("/metrics", metrics),
        Route("/openapi.json", openapi),
        Route("/docs", docs),
        Mount("/docs/assets", static),
    ]


def _pages(page: ASGIApp | None, prefix: str) -> list[Route | Mount]:
    """The page, and what leads to it. Relative: a proxy in front may have taken a prefix off."""
    first = "docs" if page is None else "demo/"
    first = f"{prefix}/{first}" if prefix else first
    index = Route("/", lambda _: RedirectResponse(first))
    if page is None:
        return [index]
    return [
        index,
        Route("/demo", lambda _: RedirectResponse("demo/")),
        Route("/favicon.ico", lambda _: FileResponse(ICON, media_type="image/svg+xml")),
        Mount("/demo", page),
    ]


async def _refused(_: Request, error: ApiError) -> Response:
    return error_response(error)


async def _client_gone(_: Request, __: ClientDisconnect) -> Response:
    return Response(status_code=CLIENT_GONE)


async def _not_found(request: Request, error: HTTPException) -> Response:
    """Starlette's own refusals: no such path, or not with this method."""
    path = request.url.path[:100]
    if error.status_code == 405:
        allowed = (error.headers or {}).get("Allow", "")
        message = f"{path} cannot be called with {request.method[:16]}; use {allowed}."
        refusal = ApiError(405, "method_not_allowed", message, headers=error.headers)
    else:
        message = f"there is nothing at {path}; GET /docs lists the routes."
        refusal = ApiError(error.status_code, "not_found", message, headers=error.headers)
    return error_response(refusal)
