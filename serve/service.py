"""The BentoML service: `bentoml serve serve.service:TriadService`.

BentoML starts, supervises and packs the process, and answers /livez and /readyz through the hooks
below; everything else is the API of http/. HOST and PORT say where it listens (127.0.0.1:3000),
TRIAD_PARAMS which params.yaml it reads.
"""

import asyncio
import os
import signal
from pathlib import Path
from types import FrameType

# Before anything looks: nothing phones home; one process serves, so metrics need no files that
# several would share; texts are tokenised on threads of our own.
os.environ["BENTOML_DO_NOT_TRACK"] = "True"
os.environ.pop("PROMETHEUS_MULTIPROC_DIR", None)
os.environ["TOKENIZERS_PARALLELISM"] = "false"

import bentoml
import yaml
from bentoml._internal.utils.analytics import usage_stats
from bentoml.exceptions import BentoMLConfigException
from starlette.types import ASGIApp, Receive, Scope, Send

from pipeline.yaml_file import ConfigError
from serve import settings

# The command line has looked already, and remembers.
usage_stats.do_not_track.cache_clear()

_PARAMS = Path(os.environ.get("TRIAD_PARAMS", "params.yaml"))

try:  # in the command's own process, so that a mistake ends it with one sentence
    settings.load(_PARAMS)
    settings.read_keys()
    _HOST, _PORT = settings.read_address()
except ConfigError as error:
    raise BentoMLConfigException(str(error)) from error


class _Off(float):
    """A number for BentoML's schema, which knows no "none", that is false where it is used."""

    def __bool__(self) -> bool:
        return False


class _Late:
    """The API, which only the serving process makes: the supervisor imports this module too."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self.app(scope, receive, send)


_api = _Late()


@bentoml.asgi_app(_api, path="/")
@bentoml.service(
    name="TriadService",
    workers=1,
    http={"host": _HOST, "port": _PORT},
    # Its metrics keep a time series for every path that anybody asks for.
    metrics={"enabled": False},
    logging={"access": {"enabled": False}},
    tracing={"excluded_urls": [".*"]},
)
class TriadService:
    """Embeddings and similarities of sentences by original and modified encoders."""

    def __init__(self) -> None:
        from serve.engine import Engine  # noqa: PLC0415
        from serve.http.app import create_api  # noqa: PLC0415 - not in the supervisor's memory
        from serve.http.logs import configure  # noqa: PLC0415

        configure()
        self._engine = Engine(settings.load(_PARAMS))
        _api.app = create_api(self._engine, settings.read_keys())
        self._engine.start()
        self._drain_on_sigterm()

    def _drain_on_sigterm(self) -> None:
        """Say "not ready" for a while before the server closes its door, as proxies need."""
        server = signal.getsignal(signal.SIGTERM)
        loop = asyncio.get_running_loop()

        def drain(number: int, frame: FrameType | None) -> None:
            if not callable(server):
                return
            seconds = 0.0 if self._engine.draining else self._engine.params.drain_seconds
            self._engine.drain()
            loop.call_soon_threadsafe(loop.call_later, seconds, server, number, frame)

        signal.signal(signal.SIGTERM, drain)

    def __is_ready__(self) -> bool:
        return self._engine.ready

    def __is_alive__(self) -> bool:
        return self._engine.batcher.alive

    @bentoml.on_shutdown  # type: ignore[untyped-decorator]
    def stop(self) -> None:
        """End the threads, after every request is answered."""
        self._engine.stop()


# BentoML's time-out would answer in a shape of its own, and keep a timer for each request long
# after it is answered. The API has limits of its own (serve.limits).
yaml.SafeDumper.add_representer(_Off, yaml.SafeDumper.represent_float)  # for bento.yaml
TriadService.config["traffic"] = {"timeout": _Off(86400)}  # type: ignore[attr-defined]
