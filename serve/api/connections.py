"""What uvicorn's connections lack: a bound on heads, and patience between two requests.

Without the bound, one connection could send a header without end, and the parser would keep all of
it. Clients and proxies keep idle connections for 5 to 60 seconds; a server that closes them sooner
(BentoML's default is 5) now and then does so just when the next request is on its way.
"""

from typing import Any

from uvicorn.config import HTTP_PROTOCOLS
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


class Connection(HttpToolsProtocol):
    """uvicorn's connection with both.

    Counted is what has arrived since the parser last finished a head, a piece of a body or a whole
    message: so trailers count too, and heads that come while an earlier request is answered.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.timeout_keep_alive = KEEP_ALIVE
        self._head_bytes = 0

    def data_received(self, data: bytes) -> None:
        """Parse what has arrived."""
        self._head_bytes += len(data)
        super().data_received(data)
        if self._head_bytes > MOST_BYTES and not self.transport.is_closing():
            self.transport.write(_ANSWER % (len(_BODY), _BODY))
            self.transport.close()

    def on_headers_complete(self) -> None:
        """A head is whole."""
        self._head_bytes = 0
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A piece of a body is there."""
        self._head_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._head_bytes = 0
        super().on_message_complete()


def use_connections() -> None:
    """Let uvicorn take these where nobody names another kind.

    BentoML passes on only some of uvicorn's options. Must be called before the server starts.
    """
    HTTP_PROTOCOLS["auto"] = f"{__name__}:{Connection.__name__}"
