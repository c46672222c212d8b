"""The page: what stands above the tabs, the tabs, and the application that serves them.

Not here: what a tab does (tabs/), the look (theme.py).
"""

import os
from collections.abc import Sequence
from typing import Any

import fastapi
import gradio as gr
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from app import ICON, STATIC
from app.client import ApiError, Client
from app.shared import Newest, Shared, Shown, alert
from app.tabs.gradient import GradientTab
from app.tabs.matrix import MatrixTab
from app.tabs.pair import PairTab
from app.tabs.pairs import PairsTab
from app.tabs.search import SearchTab
from app.tabs.training import TrainingTab
from app.theme import CSS, HEAD, THEME

_TABS = {
    "matrix": MatrixTab,
    "search": SearchTab,
    "gradient": GradientTab,
    "training": TrainingTab,
}
_LOOK_AGAIN = 2.0  # seconds between two looks for a service that is down
_KEEP = 600  # seconds that a file for download stays
_UPLOAD = "5mb"
_MOST_BYTES = 12_000_000  # of a request: a box full of pairs, escaped


def create_app(api_url: str, root_path: str = "") -> fastapi.FastAPI:
    """An application that has the page at /demo.

    Args:
        api_url: where the service is.
        root_path: the whole path of the page behind a proxy that leaves its prefix on.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    app = fastapi.FastAPI(openapi_url=None)
    app.mount("/demo/lab", StaticFiles(directory=STATIC))
    gr.mount_gradio_app(
        app,
        create_page(Client(api_url)),
        path="/demo",
        root_path=root_path or None,
        footer_links=[],
        max_file_size=_UPLOAD,
        show_error=False,
        ssr_mode=False,
        enable_monitoring=False,
        theme=THEME,
        css=CSS,
        head=HEAD,
    )
    app.add_api_route("/favicon.ico", lambda: FileResponse(ICON, media_type="image/svg+xml"))
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=_MOST_BYTES)
    return app


def create_page(api: Client) -> gr.Blocks:
    """The page for a service."""
    page: gr.Blocks
    with gr.Blocks(
        title="Triad: original and modified objectives",
        analytics_enabled=False,
        delete_cache=(_KEEP, _KEEP),
    ) as page:
        gr.HTML(
            "<h1>Triad</h1><p>Two sentence encoders that differ in their training objective, side "
            "by side: what dissipation, weight and ratio of a gradient do to meaning.</p>",
            elem_id="intro",
        )
        status = gr.HTML(elem_id="status")
        with gr.Row():
            first = gr.Dropdown(
                [], label="Original encoder", elem_id="first", interactive=True, min_width=260
            )
            second = gr.Dropdown(
                [], label="Modified encoder", elem_id="second", interactive=True, min_width=260
            )
            key = gr.Textbox(
                "", label="API key", type="password", visible=False, elem_id="key", max_length=1000
            )
        timer = gr.Timer(_LOOK_AGAIN, active=False)
        shared = Shared(api, first, second, key, timer)
        current = gr.State("pair")
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Pair", id="pair") as tab:
                pair = PairTab(shared)
            built: list[tuple[str, gr.Tab, Any]] = [("pair", tab, pair)]
            with gr.Tab("Pairs", id="pairs") as tab:
                PairsTab(shared)
            _noted(tab, "pairs", current)
            for name, kind in _TABS.items():
                with gr.Tab(name.capitalize(), id=name) as tab:
                    built.append((name, tab, kind(shared)))

        looks = Newest()

        def look(
            request: gr.Request, key: str, first: str | None, second: str | None
        ) -> tuple[Any, ...]:
            newest = looks.begin(request.session_hash)
            seen = _look(api, key, (first, second))
            return seen if newest() else tuple(gr.skip() for _ in seen)

        begin = page.load(
            _from_link, None, [first, second, pair.a, pair.b], queue=False, api_visibility="private"
        )
        events = [first.input, second.input]
        for event in (begin.then, timer.tick, key.submit):
            looked = event(
                look,
                [key, first, second],
                [status, key, first, second, timer],
                queue=False,
                show_progress="hidden",
                api_visibility="private",
            )
            events.append(looked.then)
        for name, tab, content in built:
            for happened in (_noted(tab, name, current).then, *events):
                content.on(happened, Shown(current, name))
    return page


def _noted(tab: gr.Tab, name: str, current: gr.State) -> Any:
    """Keep in mind that a tab is shown; returns the event of that."""

    def shown() -> str:
        return name

    return tab.select(
        shown, None, [current], queue=False, show_progress="hidden", api_visibility="private"
    )


def _from_link(request: gr.Request) -> tuple[Any, ...]:
    """What a shared link asks for; what it does not name stays as it is."""
    given = request.query_params
    return tuple(
        gr.skip() if name not in given else _offered(given[name], choice=place < 2)
        for place, name in enumerate(("original", "modified", "a", "b"))
    )


def _offered(value: str, *, choice: bool) -> Any:
    return gr.Dropdown([value[:200]], value=value[:200]) if choice else value[:20_000]


def _look(api: Client, key: str, chosen: Sequence[str | None]) -> tuple[str, Any, Any, Any, Any]:
    """Status, key box, both choices and the timer, as the service is now."""
    unchanged = gr.skip()
    try:
        cards = api.models(key)
    except ApiError as error:
        down = error.kind in ("down", "busy")
        asked = gr.Textbox(visible=True) if error.kind == "key" else unchanged
        return alert(error.message), asked, unchanged, unchanged, gr.Timer(active=down)
    names = [card["id"] for card in cards]
    wanted = [name if name in names else None for name in chosen]
    first, second = (
        one or default for one, default in zip(wanted, default_pair(names), strict=True)
    )
    return (
        "",
        unchanged,
        gr.Dropdown(names, value=first),
        gr.Dropdown(names, value=second),
        gr.Timer(active=False),
    )


def default_pair(ids: Sequence[str]) -> tuple[str, str]:
    """An original encoder and its modified form, such as `vicreg-42` and `vicreg_modified-42`.

    A pair that the visitor trained comes before the one that the repository brings.
    """
    pairs = []
    for original in ids:
        objective, _, seed = original.rpartition("-")
        modified = f"{objective}_modified-{seed}"
        if modified in ids:
            pairs.append((original, modified))
    return min(pairs, key=lambda pair: pair[0].endswith("-reference"), default=(ids[0], ids[-1]))
