"""The OpenAPI document: written from the request models, so that it cannot differ from them.

Not here: what answers look like (schemas.py).
"""

from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from serve.api.contract import (
    ComponentsRequest,
    EmbeddingsRequest,
    SearchRequest,
    SimilarityRequest,
    TokenizeRequest,
)
from serve.api.schemas import ANSWERS
from serve.settings import ServeParams

_REQUESTS: dict[str, tuple[type[BaseModel], str, str]] = {
    "/v1/embeddings": (EmbeddingsRequest, "Embeddings", "Embed texts, as OpenAI's API does"),
    "/v1/similarity": (SimilarityRequest, "Similarities", "Cosines of pairs, or a matrix of them"),
    "/v1/search": (SearchRequest, "SearchResults", "The documents nearest to a query"),
    "/v1/tokenize": (TokenizeRequest, "Tokens", "How an encoder divides texts"),
    "/v1/components": (
        ComponentsRequest,
        "Components",
        "Dissipation, weight and ratio of an objective's gradient, without a training head",
    ),
}
_ID = {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
_GETS: dict[str, tuple[str, str, list[dict[str, Any]]]] = {
    "/v1/models": ("Models", "The encoders that are served", []),
    "/v1/models/{id}": ("Model", "One encoder: training, scores, backend", [_ID]),
    "/v1/models/{id}/training": ("Training", "An encoder's training curve", [_ID]),
    "/v1/results": ("Results", "The comparison of objectives", []),
}
_ERRORS = {
    400: "a field is wrong, or a limit of one request is exceeded",
    401: "an API key is wanted",
    404: "no such encoder, or nothing there",
    408: "the body took too long",
    413: "the body is too large",
    415: "the body is not JSON",
    429: "overloaded; Retry-After says when to come back",
    500: "the service met a fault",
    501: "the service has no torch, which /v1/components needs",
    503: "the encoders are being loaded",
}
_OF_ENCODERS = ("Model", "Models", "Training", "Results")
_OF_GET = (401, 404, 500, 503)


def document(params: ServeParams) -> dict[str, Any]:
    """The document, with the limits in force."""
    kinds = [(kind, "validation") for kind, _, _ in _REQUESTS.values()]
    _, schemas = models_json_schema(kinds, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    limits = params.limits
    about = (
        f"Limits of a request: {limits.items} texts, {limits.tokens} tokens, "
        f"{limits.body_bytes} bytes."
    )
    paths: dict[str, Any] = {}
    for path, (kind, answer, summary) in _REQUESTS.items():
        body = {"content": _json(kind.__name__), "required": True}
        paths[path] = {
            "post": _operation(path, answer, summary, _of_post(path)) | {"requestBody": body}
        }
    for path, (answer, summary, parameters) in _GETS.items():
        paths[path] = {
            "get": _operation(path, answer, summary, _OF_GET) | {"parameters": parameters}
        }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Triad", "version": "1", "description": about},
        # Relative: the address of this document decides, behind any proxy.
        "servers": [{"url": params.path_prefix or "."}],
        "paths": paths,
        "components": {
            "schemas": schemas["$defs"] | ANSWERS,
            "securitySchemes": {"key": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"key": []}],
    }


def _of_post(path: str) -> tuple[int, ...]:
    return tuple(status for status in _ERRORS if status != 501 or path == "/v1/components")


def _operation(path: str, answer: str, summary: str, errors: tuple[int, ...]) -> dict[str, Any]:
    refusals = {
        str(status): {"description": _ERRORS[status], "content": _json("Error")}
        for status in errors
    }
    return {
        "tags": ["Encoders" if answer in _OF_ENCODERS else "Encoding"],
        "operationId": path.removeprefix("/v1/").replace("/", "_").replace("{id}", "one"),
        "summary": summary,
        "responses": {"200": {"description": "done", "content": _json(answer)}} | refusals,
    }


def _json(schema: str) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
