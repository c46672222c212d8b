"""The demo page as part of the service.

The page itself is app/'s, and talks HTTP to this service as it would to one elsewhere. It is loaded
on the first visit: that takes 3.5 s of a core, as long as all the rest of the start, and 160 MiB.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send


class Page:
    """An ASGI application: the page, which its first visitor waits for.

    Args:
        make: loads the page's application, which has the page at /demo, and asks the service at the
            address that it is given; called on a thread.
    """

    def __init__(self, make: Callable[[str], FastAPI]) -> None:
        self._make = make
        self._loaded: asyncio.Future[FastAPI] | None = None
        self._stopping = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._loaded is None:
            self._loaded = asyncio.get_running_loop().create_future()
            self._life = asyncio.create_task(self._live(self._loaded, _own_address(scope)))
        page = await asyncio.shield(self._loaded)
        root = scope["root_path"].removesuffix("/demo")  # its application has the whole path
        request = asyncio.ensure_future(page(dict(scope, root_path=root), receive, send))
        self._requests.add(request)
        request.add_done_callback(self._requests.discard)
        try:
            await request
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            with suppress(RuntimeError):  # it had not begun to answer
                await send({"type": "http.response.body", "body": b""})

    def stop(self) -> None:
        """End its streams, which browsers keep open as long as they show the page."""
        self._stopping.set()
        for request in self._requests:
            request.cancel()

    async def _live(self, loaded: "asyncio.Future[FastAPI]", address: str) -> None:
        try:
            page = await asyncio.to_thread(self._make, address)
        except Exception as error:  # noqa: BLE001 - its visitors are told, and the log
            loaded.set_exception(error)
            return
        async with page.router.lifespan_context(page):
            loaded.set_result(page)
            await self._stopping.wait()


def _own_address(scope: Scope) -> str:
    """Where this process listens, whoever chose that: the visitor's connection ends there."""
    host, port = scope["server"]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"
