"""Requests as bytes, the head of an answer, and single answers in full."""

from __future__ import annotations

import json
import socket
from http.client import HTTPResponse
from typing import Any

HOST = "127.0.0.1"


def post(port: int, path: str, content: Any) -> bytes:
    """A POST request of JSON, or of bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    head = (
        f"POST {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


def get(port: int, path: str) -> bytes:
    """A GET request."""
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n\r\n".encode()


def ask(port: int, request: bytes, timeout: float = 60.0) -> tuple[int, bytes]:
    """Status and body of one answer, on a connection of its own."""
    with socket.create_connection((HOST, port), timeout) as connection:
        connection.sendall(request)
        with HTTPResponse(connection) as response:
            response.begin()
            return response.status, response.read()


def read_head(head: bytes) -> tuple[int, int]:
    """Status and length of the body, of an answer's head without the empty line.

    Raises:
        ValueError: it is no answer of HTTP/1.1 with a Content-Length.
    """
    lower = head.lower()
    at = lower.find(b"\r\ncontent-length:")
    if not lower.startswith(b"http/1.1 ") or at < 0:
        raise ValueError(f"Not an answer of HTTP/1.1 with a Content-Length: {head[:200]!r}.")
    return int(head[9:12]), int(lower[at + 17 :].split(b"\r\n", 1)[0])
