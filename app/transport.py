"""Sending one request to the service: tries, waiting, and every failure as one sentence.

Not here: what is asked and what becomes of it (client.py).
"""

import json
import time
from collections.abc import Mapping
from typing import Any

import httpx

_SECONDS = 60.0
_CONNECT_SECONDS = 5.0
# How often a service that is busy is asked, and how many seconds are waited for it altogether.
_TRIES = 3
_WAITED = 5.0
_BUSY = 429
_KINDS = {401: "key", 404: "missing", _BUSY: "busy", 502: "down", 503: "down", 504: "down"}


class ApiError(Exception):
    """The service refused a request, or did not answer.

    Attributes:
        message: one sentence for the person at the page.
        kind: `down`, `key` (an API key is wanted), `busy`, `missing`, or `refused`.
        code: the service's own word for it; empty where it gave none.
    """

    def __init__(self, message: str, kind: str, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.kind = kind
        self.code = code


class Transport:
    """A connection to a service, for any number of threads.

    Args:
        url: where it is, without a slash at the end.
        transport: for tests.

    Raises:
        ValueError: `url` is no address.
    """

    def __init__(self, url: str, transport: httpx.BaseTransport | None = None) -> None:
        if not url.startswith(("http://", "https://")):
            raise ValueError(
                f"url: {url!r} is no address of a service; give one like http://127.0.0.1:3000."
            )
        self._url = url
        timeout = httpx.Timeout(_SECONDS, connect=_CONNECT_SECONDS)
        # The environment's proxies are not for a service that is, mostly, on this machine.
        self._client = httpx.Client(
            base_url=url, timeout=timeout, transport=transport, trust_env=False
        )

    def send(
        self, method: str, path: str, body: Mapping[str, Any] | None, key: str
    ) -> dict[str, Any]:
        """The answer's JSON object.

        Raises:
            ApiError: there is none.
        """
        headers, content = _headers(key), None
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = _encoded(body)
        waited = 0.0
        for _ in range(_TRIES - 1):
            answer = self._answer(method, path, content, headers)
            pause = _pause(answer)
            if answer.status_code != _BUSY or waited + pause > _WAITED:
                return self._content(answer)
            time.sleep(pause)
            waited += pause
        return self._content(self._answer(method, path, content, headers))

    def send_or_none(self, method: str, path: str, code: str, key: str) -> dict[str, Any] | None:
        """As `send`, without a body; None where the service says by `code` that there is none."""
        try:
            return self.send(method, path, None, key)
        except ApiError as error:
            if error.code == code:
                return None
            raise

    def _answer(
        self, method: str, path: str, content: bytes | None, headers: dict[str, str]
    ) -> httpx.Response:
        try:
            return self._client.request(method, path, content=content, headers=headers)
        except httpx.InvalidURL as error:
            raise ApiError("The encoder's name is none; choose another encoder.", "missing") from (
                error
            )
        except httpx.ConnectTimeout as error:
            raise self._down() from error
        except httpx.TimeoutException as error:
            raise ApiError(
                f"The service at {self._url} gave no answer within {_SECONDS:.0f} seconds; try "
                "again, or with fewer texts.",
                "busy",
            ) from error
        except httpx.HTTPError as error:
            raise self._down() from error

    def _content(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            content = answer.json()
        except (ValueError, RecursionError):
            content = None
        if answer.is_success and isinstance(content, dict):
            return content
        kind = _KINDS.get(answer.status_code, "refused")
        message, code = _refusal(content)
        if message:
            raise ApiError(message[:1].upper() + message[1:], kind, code)
        if kind == "down":  # a proxy's answer, not the service's
            raise self._down()
        raise ApiError(
            f"The service at {self._url} gave an answer that this page cannot read (status "
            f"{answer.status_code}): is it Triad's?",
            kind,
        )

    def _down(self) -> ApiError:
        return ApiError(
            f"The service at {self._url} does not answer. Start it with `make serve`; this page "
            "goes on by itself when it is there.",
            "down",
        )


def _headers(key: str) -> dict[str, str]:
    key = key.strip()
    if not (key.isascii() and key.isprintable()):
        raise ApiError(
            "The API key has characters that no key has; give it as you received it.", "key"
        )
    return {"Authorization": f"Bearer {key}"} if key else {}


def _encoded(body: Mapping[str, Any]) -> bytes:
    try:
        return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    except ValueError as error:
        raise ApiError(
            "The request cannot be sent: a text has half a surrogate pair, or a number is not "
            "finite; correct it.",
            "refused",
        ) from error


def _pause(answer: httpx.Response) -> float:
    """Seconds after which to come back; a date, which may also stand there, is not read."""
    asked = answer.headers.get("Retry-After", "")
    return float(asked) if asked.isascii() and asked.isdigit() else 1.0


def _refusal(content: Any) -> tuple[str, str]:
    """The service's sentence and its word for programs; empty where there are none."""
    error = content.get("error") if isinstance(content, dict) else None
    if not isinstance(error, dict) or not isinstance(error.get("message"), str):
        return "", ""
    return error["message"], str(error.get("code", ""))
