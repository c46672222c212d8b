"""The HTTP API: paths, methods, documentation, and what every answer has in common.

Not here: what the routes do (routes.py).
"""

import hmac
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from fastapi import Depends, FastAPI
from fastapi.openapi.docs import get_swagger_ui_html
from fastapi.routing import APIRoute
from fastapi.security import HTTPBearer
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from app import ICON
from serve.api import contract
from serve.api.answers import error_response, json_response
from serve.api.middleware import Bodies, Observe, Prefix
from serve.api.routes import Routes
from serve.engine import Engine
from serve.errors import ApiError

# nginx's word for a client that left; nobody receives it, metrics and log show it.
_CLIENT_GONE = 499


class Key(HTTPBearer):
    """A dependency that asks for one of the API keys."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        super().__init__(scheme_name="key", auto_error=False)
        self._keys = keys

    async def __call__(self, request: Request) -> None:  # type: ignore[override]
        """Let the request pass.

        Raises:
            ApiError: 401.
        """
        given = request.headers.get("authorization", "").encode("latin-1")
        kind, _, key = given.partition(b" ")
        # Every key is compared, so that time tells nothing about which one was near.
        matches = [hmac.compare_digest(key.strip(), known) for known in self._keys]
        if kind.lower() != b"bearer" or not any(matches):
            what = "is missing" if not given else "is not known here"
            raise ApiError(
                401,
                "invalid_api_key",
                f"the API key {what}: send the header Authorization: Bearer KEY.",
                headers={"WWW-Authenticate": "Bearer"},
            )


def create_api(
    engine: Engine,
    keys: Sequence[bytes],
    page: ASGIApp | None = None,
    schema: Mapping[str, Any] | None = None,
) -> FastAPI:
    """The application.

    Args:
        engine: what computes.
        keys: API keys; none: everybody may call.
        page: what answers below /demo, without a key.
        schema: how BentoML's clients are to call its methods.
    """
    params, routes = engine.params, Routes(engine)
    limits, prefix = params.limits, params.path_prefix
    guard = [Depends(Key(keys))] if keys else []

    async def gone(request: Request, _: ClientDisconnect) -> Response:
        route = getattr(request.scope.get("route"), "path", "other")
        engine.metrics.cancelled.labels(route).inc()
        return Response(status_code=_CLIENT_GONE)

    app = FastAPI(
        title="Triad",
        version="1",
        description=f"Limits of a request: {limits.items} texts, {limits.tokens} tokens, "
        f"{limits.body_bytes} bytes.",
        # Relative: the address of the document decides, behind any proxy.
        servers=[{"url": prefix or "."}],
        openapi_url=None,
        redirect_slashes=False,  # a redirect would name the host behind the proxy
        telemetry={"tracing": False, "metrics": False, "logs": False},
        generate_unique_id_function=lambda route: route.name,
        responses={"default": {"model": contract.Error, "description": "what is wrong"}},
        exception_handlers={
            ApiError: _refused,
            HTTPException: _not_found,
            ClientDisconnect: gone,
        },
    )
    app.state.routes = routes
    app.add_middleware(Bodies, limits=limits, metrics=engine.metrics, page=f"{prefix}/demo/")
    app.add_middleware(Observe, metrics=engine.metrics)
    if prefix:
        app.add_middleware(Prefix, prefix=prefix)
    if params.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(params.cors_origins),
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=["Retry-After", "X-Request-Id", "X-Truncated"],
        )
    for path, post, asked, answer in (
        ("/v1/embeddings", routes.embeddings, contract.EmbeddingsRequest, contract.Embeddings),
        ("/v1/similarity", routes.similarity, contract.SimilarityRequest, contract.Similarities),
        ("/v1/search", routes.search, contract.SearchRequest, contract.SearchResults),
        ("/v1/tokenize", routes.tokenize, contract.TokenizeRequest, contract.Tokens),
        ("/v1/components", routes.components, contract.ComponentsRequest, contract.Components),
    ):
        content = {"application/json": {"schema": asked.model_json_schema()}}
        app.post(
            path,
            dependencies=guard,
            responses={200: {"model": answer}},
            openapi_extra={"requestBody": {"required": True, "content": content}},
        )(post)
    for path, get, card in (
        ("/v1/models", routes.models, contract.ModelCards),
        ("/v1/models/{id}", routes.model, contract.ModelCard),
        ("/v1/models/{id}/training", routes.training, contract.Training),
        ("/v1/results", routes.results, contract.Results),
    ):
        app.get(path, dependencies=guard, responses={200: {"model": card}})(get)
    # BentoML's own routes would read and write large JSON on the event loop, log texts that they
    # refuse, and know neither keys nor limits.
    app.post("/encode", dependencies=guard, include_in_schema=False)(routes.bentoml_encode)
    app.post("/similarity", dependencies=guard, include_in_schema=False)(routes.bentoml_similarity)
    app.get("/schema.json", dependencies=guard, include_in_schema=False)(
        lambda: json_response(schema)
    )
    _add_system(app, engine)
    first = "docs" if page is None else "demo/"
    if page is not None:
        # Relative: a proxy in front may have taken a prefix off.
        app.get("/demo", include_in_schema=False)(lambda: RedirectResponse("demo/"))
        app.get("/favicon.ico", include_in_schema=False)(
            lambda: FileResponse(ICON, media_type="image/svg+xml")
        )
        app.mount("/demo", page)
    app.get("/", include_in_schema=False)(
        lambda: RedirectResponse(f"{prefix}/{first}" if prefix else first)
    )
    document = app.openapi()
    app.get("/openapi.json", include_in_schema=False)(lambda: json_response(document))
    for route in app.routes:
        if isinstance(route, APIRoute) and route.methods == {"GET"}:
            route.methods.add("HEAD")  # which the document need not tell
    return app


def _add_system(app: FastAPI, engine: Engine) -> None:
    """Health, metrics and the page about the API; for everybody."""

    @app.get("/livez", include_in_schema=False)
    async def livez() -> Response:
        if engine.batcher.alive:
            return json_response({"status": "alive"})
        raise ApiError(503, "not_alive", "the threads that compute have died; restart the service.")

    @app.get("/readyz", include_in_schema=False)
    async def readyz() -> Response:
        if engine.ready:
            return json_response({"status": "ready"})
        engine.check_loaded()
        raise ApiError(503, "draining", "the service is stopping; send requests elsewhere.")

    @app.get("/metrics", include_in_schema=False)
    async def metrics() -> Response:
        return Response(engine.metrics.exposition(), media_type="text/plain; version=0.0.4")

    @app.get("/docs", include_in_schema=False)
    async def docs() -> Response:
        return get_swagger_ui_html(  # its addresses are relative, so any prefix will do
            title="Triad API",
            openapi_url="openapi.json",
            swagger_js_url="docs/assets/swagger-ui-bundle.js",
            swagger_css_url="docs/assets/swagger-ui.css",
            swagger_favicon_url="docs/assets/favicon.png",
            swagger_ui_parameters={"validatorUrl": None},
        )

    app.mount("/docs/assets", StaticFiles(directory=str(files("fastapi_offline") / "static")))


async def _refused(_: Request, error: ApiError) -> Response:
    return error_response(error)


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
