"""HTTP as bytes: what no well-behaved client library would send, or leave unread."""

from __future__ import annotations

import json
import select
import socket
from dataclasses import dataclass
from typing import Any, Self

Address = tuple[str, int]
JSON_TYPE = "Content-Type: application/json"
PATIENCE = 60.0  # seconds; other work may share the core


@dataclass(frozen=True)
class Answer:
    """A whole answer; the names of its headers are in lower case."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def embeddings(self) -> list[list[float]]:
        return [item["embedding"] for item in self.json["data"]]

    @property
    def error(self) -> str:
        return str(self.json["error"]["message"])


def head(method: str, path: str, *headers: str) -> bytes:
    """All of a request up to its body."""
    lines = [f"{method} {path} HTTP/1.1", "Host: triad", *headers, "", ""]
    return "\r\n".join(lines).encode("latin-1")


def post(path: str, content: object, *headers: str) -> bytes:
    """A request whose body is JSON, or bytes as they are."""
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return head("POST", path, JSON_TYPE, f"Content-Length: {len(body)}", *headers) + body


class Connection:
    """One TCP connection, to be closed by `with`."""

    def __init__(self, address: Address, *, receive_buffer: int | None = None) -> None:
        self._socket = socket.socket()
        self._socket.settimeout(PATIENCE)
        if receive_buffer is not None:  # before connecting, or it would be too late
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        try:
            self._socket.connect(address)
        except OSError:
            self._socket.close()
            raise
        self._stream = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        self._socket.sendall(data)

    def answer(self) -> Answer:
        """The next answer; the service gives all of them a length."""
        status = int(self._line().split(" ")[1])
        headers: dict[str, str] = {}
        while line := self._line():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        return Answer(status, headers, self._stream.read(int(headers["content-length"])))

    def wait(self) -> None:
        """Until an answer has begun."""
        assert self._stream.peek(1)

    @property
    def answering(self) -> bool:
        """Whether an answer has begun that nothing was read of."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def interim(self) -> int:
        """The status of an answer that only says to go on."""
        status = int(self._line().split(" ")[1])
        assert not self._line()
        return status

    def ask(self, request: bytes) -> Answer:
        self.send(request)
        return self.answer()

    @property
    def ended(self) -> bool:
        """Whether the service closes the connection, or has, with nothing more to say."""
        try:
            return not self._stream.read(1)
        except ConnectionResetError:
            return True

    def close(self) -> None:
        self._stream.close()
        self._socket.close()

    def _line(self) -> str:
        line = self._stream.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError(f"the connection ended with {line!r}")
        return line[:-2].decode("latin-1")
