"""Traces: off without an endpoint; with one, a request's span has the caller's trace."""

from __future__ import annotations

import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING

import httpx
import pytest

from pipeline.machine.errors import ConfigError
from serve.tracing import ENDPOINTS, traced
from tests.serve.served import on_loop, until

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import Receive, Scope, Send

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = {"traceparent": f"00-{TRACE}-b7ad6b7169203331-01"}


async def api(scope: Scope, receive: Receive, send: Send) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"answer"})


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*ENDPOINTS, "OTEL_SDK_DISABLED"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def collector() -> Iterator[tuple[str, list[bytes]]]:
    """An address that takes spans, and what it was sent."""
    sent: list[bytes] = []

    class Collector(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            sent.append(self.path.encode() + body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Collector) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", sent
        server.shutdown()
        thread.join()


def test_without_an_endpoint_or_where_the_sdk_is_disabled_the_api_is_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert traced(api) is api
    monkeypatch.setenv(ENDPOINTS[0], "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SDK_DISABLED", "true")
    assert traced(api) is api


def test_an_endpoint_without_the_exporter_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ENDPOINTS[0], "http://127.0.0.1:1")
    exporter = "opentelemetry.exporter.otlp.proto.http.trace_exporter"
    monkeypatch.setitem(sys.modules, exporter, None)  # as if not installed
    with pytest.raises(ConfigError, match=r"pip install 'triad-encoders\[tracing\]'"):
        traced(api)


@on_loop
async def test_a_requests_span_is_sent_with_the_callers_trace(
    collector: tuple[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("opentelemetry.exporter.otlp.proto.http", reason="needs the extra tracing")
    address, sent = collector
    monkeypatch.setenv(ENDPOINTS[0], address)
    monkeypatch.setenv("OTEL_SERVICE_NAME", "encoders")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "500")  # milliseconds
    transport = httpx.ASGITransport(traced(api))
    async with httpx.AsyncClient(transport=transport, base_url="http://triad") as client:
        assert (await client.get("/v1/models", headers=PARENT)).text == "answer"
        assert (await client.get("/livez", headers=PARENT)).text == "answer"
    await until(lambda: bool(sent))
    (batch,) = sent
    assert batch.startswith(b"/v1/traces")
    assert batch.count(bytes.fromhex(TRACE)) == 1  # one span: none for /livez
    assert b"encoders" in batch
