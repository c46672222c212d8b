"""What the API answers when it cannot do what was asked: a small closed list, in OpenAI's shape.

Not here: when these are raised (contract.py, batcher.py, the routes), and what becomes of an
exception that nobody foresaw (api/).
"""

from collections.abc import Mapping
from typing import Any

# OpenAI's clients choose their exception class by status; `type` is for people and logs.
_TYPES = {401: "authentication_error", 429: "rate_limit_error"}


class ApiError(Exception):
    """A refusal: `{"error": {"message", "type", "param", "code"}}`.

    Attributes:
        status: the HTTP status.
        message: one sentence: where, what was given, what is allowed, what to do.
        param: the field of the request that is to blame, if one is.
        code: a word for programs.
        headers: additional response headers.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.param = param
        self.headers = dict(headers or {})

    @property
    def body(self) -> dict[str, Any]:
        """The JSON content of the answer."""
        default = "server_error" if self.status >= 500 else "invalid_request_error"
        return {
            "error": {
                "message": self.message,
                "type": _TYPES.get(self.status, default),
                "param": self.param,
                "code": self.code,
            }
        }


def invalid(param: str, message: str) -> ApiError:
    """400: a field whose value cannot be used."""
    return ApiError(400, "invalid_value", message, param)


def over_limit(param: str, limit: str, value: int, size: str, advice: str) -> ApiError:
    """400: a request larger than a limit of params.yaml.

    Args:
        param: the field to blame.
        limit: the limit's name below `serve.limits`.
        value: its value.
        size: what the request has, in words.
        advice: what to do.
    """
    return ApiError(
        400, "limit_exceeded", f"{param}: {size}, over the limit {limit}={value}; {advice}.", param
    )


def overloaded(message: str, retry_after: int) -> ApiError:
    """429: not now."""
    return ApiError(429, "overloaded", message, headers={"Retry-After": str(retry_after)})


def encoder_failed(error: Exception) -> ApiError:
    """500: a fault that is not the client's own."""
    kind = type(error).__name__
    return ApiError(
        500, "internal_error", f"the encoder failed ({kind}); the server's log has details."
    )
