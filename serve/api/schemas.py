"""What answers look like, as JSON schemas: written by hand, and held against real ones by tests."""

from collections.abc import Mapping
from typing import Any


def _object(required: Mapping[str, Any], optional: Mapping[str, Any] | None = None) -> Any:
    return {
        "type": "object",
        "required": list(required),
        "properties": {**required, **(optional or {})},
    }


def _list(item: Any) -> Any:
    return {"type": "array", "items": item}


_STRING, _INTEGER, _NUMBER, _BOOLEAN = (
    {"type": kind} for kind in ("string", "integer", "number", "boolean")
)
_USAGE = _object({"prompt_tokens": _INTEGER, "total_tokens": _INTEGER})
_FREE = {"type": ["object", "null"]}
# Null where a number would not be finite.
_FINITE = {"type": ["number", "null"]}
_MODEL = _object(
    {
        "id": _STRING,
        "object": {"const": "model"},
        "created": _INTEGER,
        "owned_by": _STRING,
        "version": _STRING,
        "dimension": _INTEGER,
        "dimensions": _list(_INTEGER),
        "max_length": _INTEGER,
        "pooling": {"enum": ["cls", "mean", "max"]},
        "normalized": _BOOLEAN,
        "backend": _STRING,
        "agreement": _NUMBER,
    },
    {
        "objective": {"type": ["string", "null"]},
        "hyperparameters": _FREE,
        "seed": {"type": ["integer", "null"]},
        "backbone": _FREE,
        "training_data": _FREE,
        "sts": _FREE,
        "sts_average": {"type": ["number", "null"]},
        "sts_average_label": {"type": ["string", "null"]},
        "sts_data": {"type": ["string", "null"]},
        "cosine_quantiles": {"type": ["array", "null"], "items": _NUMBER},
        "int8": _FREE,
    },
)
ANSWERS: dict[str, Any] = {
    "Embeddings": _object(
        {
            "object": {"const": "list"},
            "model": _STRING,
            "data": _list(
                _object(
                    {
                        "object": {"const": "embedding"},
                        "index": _INTEGER,
                        "embedding": {"oneOf": [_list(_NUMBER), _STRING]},
                        "truncated": _BOOLEAN,
                    }
                )
            ),
            "usage": _USAGE,
        }
    ),
    "Similarities": _object(
        {
            "object": {"const": "list"},
            "data": _list(
                _object(
                    {
                        "model": _STRING,
                        "version": _STRING,
                        "similarities": {"oneOf": [_list(_NUMBER), _list(_list(_NUMBER))]},
                        "truncated": _list(_STRING),
                    }
                )
            ),
            "usage": _USAGE,
        }
    ),
    "SearchResults": _object(
        {
            "object": {"const": "list"},
            "model": _STRING,
            "version": _STRING,
            "data": _list(
                _object(
                    {
                        "object": {"const": "search_result"},
                        "index": _INTEGER,
                        "score": _NUMBER,
                        "document": _STRING,
                        "truncated": _BOOLEAN,
                    }
                )
            ),
            "usage": _USAGE,
        }
    ),
    "Tokens": _object(
        {
            "object": {"const": "list"},
            "model": _STRING,
            "version": _STRING,
            "max_length": _INTEGER,
            "data": _list(
                _object(
                    {
                        "index": _INTEGER,
                        "ids": _list(_INTEGER),
                        "tokens": _list(_STRING),
                        "count": _INTEGER,
                        "truncated": _BOOLEAN,
                    }
                )
            ),
        }
    ),
    "Components": _object(
        {
            "object": {"const": "components"},
            "model": _STRING,
            "version": _STRING,
            "objective": _STRING,
            "hyperparameters": {"type": "object"},
            "views": {"enum": ["given", "dropout"]},
            "cosines": _list(_list(_NUMBER)),
            "own_cosines": _list(_list(_NUMBER)),
            "dissipation": _list(_FINITE),
            "weight": _list(_list(_FINITE)),
            "pull": _list(_FINITE),
            "ratio": _list(_FINITE),
            "step": _object(
                {
                    "size": _NUMBER,
                    "positive": _object({"before": _list(_NUMBER), "after": _list(_FINITE)}),
                    "hardest_negative": _object(
                        {
                            "index": _list(_INTEGER),
                            "before": _list(_NUMBER),
                            "after": _list(_FINITE),
                        }
                    ),
                }
            ),
            "truncated": _list(_STRING),
            "usage": _USAGE,
        }
    ),
    "Model": _MODEL,
    "Models": _object({"object": {"const": "list"}, "data": _list(_MODEL)}),
    "Training": _object(
        {
            "object": {"const": "training"},
            "model": _STRING,
            "version": _STRING,
            "curve": _list({"type": "object"}),
        }
    ),
    "Results": _object({"object": {"const": "results"}}),
    "Error": _object(
        {
            "error": _object(
                {
                    "message": _STRING,
                    "type": _STRING,
                    "param": {"type": ["string", "null"]},
                    "code": _STRING,
                }
            )
        }
    ),
}
