"""What Gradio's own document lacks: a description of ours, no outside address, cached assets."""

import re

from starlette.types import ASGIApp, Message, Receive, Scope, Send

_DESCRIPTION = (
    "Two sentence encoders, same sentences, same 400 steps. One ends worse than it began, the "
    "other better: what dissipation, weight and ratio of a gradient do."
)
TITLE = "Triad: why some training objectives forget what sentences mean"
_META = f"""<meta name="description" content="{_DESCRIPTION}" />
<meta property="og:title" content="{TITLE}" />
<meta property="og:type" content="website" />
<meta property="og:description" content="{_DESCRIPTION}" />
<meta property="og:image" content="./lab/preview.png" />
"""
_THEIRS = re.compile(rb'<meta\s+(?:property="og:|name="twitter:)[^>]*>\s*')
_HASHED = re.compile(r"/assets/[^/]+-[\w-]{8}\.\w+$")


class Document:
    """ASGI middleware: mends the page's document, and lets browsers keep what never changes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path = scope["path"]
        whole = path.endswith("/demo/")
        begun: list[Message] = []
        parts: list[bytes] = []

        async def mended(message: Message) -> None:
            if message["type"] == "http.response.start":
                if _HASHED.search(path) and message["status"] == 200:
                    keep = (b"cache-control", b"public, max-age=31536000, immutable")
                    message["headers"] = [*message["headers"], keep]
                if whole:
                    begun.append(message)
                    return
            elif whole and message["type"] == "http.response.body":
                parts.append(message.get("body", b""))
                if message.get("more_body"):
                    return
                body = _mend(b"".join(parts))
                start = begun.pop()
                headers = [
                    pair for pair in start["headers"] if pair[0].lower() != b"content-length"
                ]
                headers.append((b"content-length", str(len(body)).encode()))
                await send({**start, "headers": headers})
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, mended)


def _mend(document: bytes) -> bytes:
    return _THEIRS.sub(b"", document).replace(
        b"<meta charset", _META.encode() + b"<meta charset", 1
    )
