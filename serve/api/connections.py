"""What the server's connections lack: a bound on heads, and patience between two requests.

Without the bound, one connection could send a header without end, and the parser would keep all of
it. Clients and proxies keep idle connections for 5 to 60 seconds; a server that closes them sooner
(uvicorn after 5) now and then does so just when the next request is on its way.
"""

from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Names and values of all headers together; proxies allow 8 to 32 KiB.
MOST_BYTES = 64 << 10
# Seconds that an idle connection is kept, more than the usual proxy keeps it.
KEEP_ALIVE = 75

_ANSWER = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\ncontent-type: application/json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s"
)
_BODY = (
    b'{"error":{"message":"the request line and headers are over the limit of %d bytes; send fewer '
    b'or shorter ones.","type":"invalid_request_error","param":null,"code":"headers_too_large"}}'
    % MOST_BYTES
)


def adapt_connections() -> None:
    """Make uvicorn's protocol keep idle connections, and close those whose head is too long.

    Once a process. Counted is what has arrived since the parser last finished a head, a piece of a
    body or a whole message: so trailers count too, and heads that come while an earlier request is
    answered.
    """
    if getattr(HttpToolsProtocol, "is_adapted", False):
        return
    receive = HttpToolsProtocol.data_received

    def data_received(self: Any, data: bytes) -> None:
        self.head_bytes = getattr(self, "head_bytes", 0) + len(data)
        receive(self, data)
        if self.head_bytes > MOST_BYTES and not self.transport.is_closing():
            self.transport.write(_ANSWER % (len(_BODY), _BODY))
            self.transport.close()

    HttpToolsProtocol.data_received = data_received  # type: ignore[method-assign]
    made = HttpToolsProtocol.connection_made

    def connection_made(self: Any, transport: Any) -> None:
        self.timeout_keep_alive = KEEP_ALIVE
        made(self, transport)

    HttpToolsProtocol.connection_made = connection_made  # type: ignore[method-assign]
    for name in ("on_headers_complete", "on_body", "on_message_complete"):
        setattr(HttpToolsProtocol, name, _resetting(getattr(HttpToolsProtocol, name)))
    HttpToolsProtocol.is_adapted = True  # type: ignore[attr-defined]


def _resetting(method: Callable[..., None]) -> Callable[..., None]:
    def reset(self: Any, *arguments: Any) -> None:
        self.head_bytes = 0
        method(self, *arguments)

    return reset
