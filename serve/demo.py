"""The demo page as part of the service.

The page itself is app/'s, and talks HTTP to this service as it would to one elsewhere. It is
loaded on the first visit: who never looks at it pays neither its start nor its memory.
"""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress

from starlette.applications import Starlette
from starlette.responses import HTMLResponse
from starlette.types import Receive, Scope, Send

log = logging.getLogger("serve.demo")

_LOADING = """<!doctype html><html lang="en"><meta charset="utf-8">
<meta http-equiv="refresh" content="1"><meta name="viewport" content="width=device-width">
<title>Triad</title><style>body {{ font: 1.1rem system-ui, sans-serif; margin: 3rem }}</style>
<p role="status">{}</p></html>"""


class Demo:
    """An ASGI application: the page, or until it is loaded a sentence that says so.

    Args:
        make: loads the page's application; called on a thread.
    """

    def __init__(self, make: Callable[[], Starlette]) -> None:
        self._make = make
        self._page: Starlette | None = None
        self._failed = False
        self._stopping = asyncio.Event()
        self._life: asyncio.Task[None] | None = None
        self._requests: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if self._life is None:
            self._life = asyncio.create_task(self._live())
        if self._page is None:
            said = "it could not be loaded; the log says why" if self._failed else "it is loading"
            page = HTMLResponse(_LOADING.format(f"The demo: {said}."), 503, {"Retry-After": "1"})
            await page(scope, receive, send)
            return
        # Its application was made for the whole path.
        task = asyncio.ensure_future(self._page(dict(scope, root_path=""), receive, send))
        self._requests.add(task)
        task.add_done_callback(self._requests.discard)
        try:
            await task
        except asyncio.CancelledError:
            if not self._stopping.is_set():
                raise
            with suppress(RuntimeError):  # it had not begun to answer
                await send({"type": "http.response.body", "body": b""})

    def stop(self) -> None:
        """End its streams, which browsers keep open as long as they show the page."""
        self._stopping.set()
        for task in self._requests:
            task.cancel()

    async def _live(self) -> None:
        try:
            page = await asyncio.to_thread(self._make)
            async with page.router.lifespan_context(page):
                self._page = page
                log.info("the demo is at /demo")
                await self._stopping.wait()
        except Exception:
            self._failed = True
            log.exception("the demo could not be loaded")
