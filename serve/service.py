"""The BentoML service: `bentoml serve serve.service:TriadService`.

BentoML starts, supervises and packs the process, and tells its clients of the methods below;
serve/api answers all requests. HOST and PORT say where it listens (127.0.0.1:3000), TRIAD_PARAMS
which params.yaml it reads.
"""

import asyncio
import atexit
import os
import signal
import socket
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any

from pipeline.machine.errors import ConfigError

# Before anything looks: nothing phones home; one process serves, so metrics need no files that
# several would share; texts are tokenized on threads of our own.
os.environ["BENTOML_DO_NOT_TRACK"] = "True"
os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import bentoml
import numpy as np
from bentoml._internal.utils.analytics import usage_stats
from bentoml.exceptions import BentoMLConfigException
from bentoml.validators import DType
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from serve import settings
from serve.api.connections import Connection
from serve.api.contract import CompareRequest, EncodeRequest, check
from serve.installed import is_installed
from serve.tracing import traced

if TYPE_CHECKING:
    from fastapi import FastAPI

    from serve.api.routes import Routes

# The command line has looked already, and remembers.
usage_stats.do_not_track.cache_clear()

try:  # in the command's own process, so that a mistake ends it with one sentence
    _ENVIRONMENT = settings.read_environment()
    settings.load(_ENVIRONMENT.triad_params)
except ConfigError as error:
    raise BentoMLConfigException(str(error)) from error
_HOST, _PORT = _ENVIRONMENT.host, _ENVIRONMENT.port

# Seconds. Clients and proxies keep idle connections for 5 to 60; a server that closes them sooner
# now and then does so just when the next request is on its way.
_KEEP_ALIVE = 75

Vectors = Annotated[np.ndarray, DType("float32")]


@bentoml.service(name="TriadService", workers=1, http={"host": _HOST, "port": _PORT})
class TriadService:
    """Embeddings and similarities of sentences by original and modified encoders."""

    def __init__(self) -> None:
        from serve.api.app import create_api  # noqa: PLC0415 - not in the supervisor's memory
        from serve.api.logs import configure  # noqa: PLC0415
        from serve.demo import Page  # noqa: PLC0415
        from serve.engine import Engine  # noqa: PLC0415

        atexit.register(configure().stop)
        self._engine = Engine(settings.load(_ENVIRONMENT.triad_params))
        self._page = Page(self._load_page) if is_installed("gradio") else None
        schema = TriadService.schema()  # type: ignore[attr-defined]
        api = create_api(self._engine, _ENVIRONMENT.keys, self._page, schema)
        self._routes: Routes = api.state.routes
        self._engine.start()
        self._serve(api)

    def _load_page(self, address: str) -> "FastAPI":
        from app.page import create_app  # noqa: PLC0415 - seconds, and 200 MB

        prefix = self._engine.params.path_prefix
        return create_app(address, f"{prefix}/demo" if prefix else "")

    def _serve(self, api: Any) -> None:
        """Let uvicorn answer by the API, and tell it what BentoML has no options for.

        BentoML's application keeps the process' life only: its routes, health checks and time
        limits know neither our errors nor our limits, and its metrics keep a time series for every
        path that anybody asks for. On SIGTERM the service says "not ready" for a while before the
        server closes its door, as proxies need. Who does not read an answer must not keep the
        process.
        """
        params, loop = self._engine.params, asyncio.get_running_loop()
        close = signal.getsignal(signal.SIGTERM)
        server = getattr(close, "__self__", None)
        if server is None or not callable(close):  # the service is used without a server
            return
        config = server.config
        behind_proxies: Any = ProxyHeadersMiddleware(api, config.forwarded_allow_ips)
        config.loaded_app = traced(behind_proxies)
        config.http_protocol_class = Connection
        config.timeout_keep_alive = _KEEP_ALIVE
        config.timeout_graceful_shutdown = params.stop_seconds

        def drain(number: int, frame: FrameType | None) -> None:
            if not self._engine.draining:
                self._engine.draining = True
                loop.call_soon_threadsafe(loop.call_later, params.drain_seconds, end, number, frame)

        def end(number: int, frame: FrameType | None) -> None:
            if self._page:
                self._page.stop()
            close(number, frame)

        signal.signal(signal.SIGTERM, drain)

    @bentoml.on_deployment  # type: ignore[untyped-decorator]
    @staticmethod
    def check_port() -> None:
        """Say in one sentence that the port is taken, which would otherwise be a traceback."""
        with socket.socket(socket.AF_INET6 if ":" in _HOST else socket.AF_INET) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, _PORT))
            except OSError as error:
                raise BentoMLConfigException(
                    f"HOST, PORT: cannot listen on {_HOST}:{_PORT} ({error.strerror}); give others."
                ) from error

    @bentoml.api  # type: ignore[untyped-decorator]
    async def encode(
        self,
        texts: list[str],
        model: str | None = None,
        normalize: bool = True,  # noqa: FBT001, FBT002 - BentoML gives arguments by their names
        truncate: bool = True,  # noqa: FBT001, FBT002
    ) -> Vectors:
        """Embeddings of texts, one row a text; by the first encoder if no model is named."""
        content = {"texts": texts, "model": model, "normalize": normalize, "truncate": truncate}
        return await self._routes.encode(check(EncodeRequest, content))

    @bentoml.api  # type: ignore[untyped-decorator]
    async def similarity(
        self,
        pairs: list[list[str]] | None = None,
        sources: list[str] | None = None,
        targets: list[str] | None = None,
        model: str | None = None,
        truncate: bool = True,  # noqa: FBT001, FBT002
    ) -> Vectors:
        """Cosines of pairs, or of all sources (rows) with all targets (columns)."""
        content = {
            "pairs": pairs,
            "sources": sources,
            "targets": targets,
            "model": model,
            "truncate": truncate,
        }
        return await self._routes.compare(check(CompareRequest, content))

    @bentoml.on_shutdown  # type: ignore[untyped-decorator]
    def stop(self) -> None:
        """End the threads, after every request is answered."""
        self._engine.stop()
