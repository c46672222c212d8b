"""What uvicorn's connections lack: a bound on heads.

Without it, one connection could send a header without end, and the parser would keep all of it.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

# Names and values of all headers together; proxies allow 8 to 32 KiB.
MOST_BYTES = 64 << 10

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
    """uvicorn's connection with that bound.

    Counted is what has arrived since the parser last finished a head, a piece of a body or a whole
    message: so trailers count too, and heads that come while an earlier request is answered.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
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
