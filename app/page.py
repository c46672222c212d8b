"""The page: what stands above the tabs, the tabs, and the application that serves them.

Not here: what a tab does (tabs/), the look (theme.py).
"""

import os
from collections.abc import Sequence
from typing import Any

import fastapi
import gradio as gr
from starlette.middleware.body_limit import RequestBodyLimitMiddleware

from app.client import Api, ApiError
from app.shared import Shared, alert
from app.tabs.gradient import GradientTab
from app.tabs.matrix import MatrixTab
from app.tabs.pair import PairTab
from app.tabs.pairs import PairsTab
from app.tabs.search import SearchTab
from app.tabs.training import TrainingTab
from app.theme import CSS, HEAD, THEME

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
    app: fastapi.FastAPI = gr.mount_gradio_app(
        fastapi.FastAPI(openapi_url=None),
        create_page(Api(api_url)),
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
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=_MOST_BYTES)
    return app


def create_page(api: Api) -> gr.Blocks:
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
            first = gr.Dropdown([], label="Original encoder", elem_id="first", interactive=True)
            second = gr.Dropdown([], label="Modified encoder", elem_id="second", interactive=True)
            key = gr.Textbox(
                label="API key", type="password", visible=False, elem_id="key", max_length=1000
            )
        timer = gr.Timer(_LOOK_AGAIN, active=False)
        shared = Shared(api, first, second, key, timer)
        tabs: list[tuple[gr.Tab, Any]] = []
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Pair", id="pair"):
                pair = PairTab(shared)
            with gr.Tab("Pairs", id="pairs"):
                PairsTab(shared)
            with gr.Tab("Matrix", id="matrix") as tab:
                tabs.append((tab, MatrixTab(shared).run))
            with gr.Tab("Search", id="search") as tab:
                tabs.append((tab, SearchTab(shared).run))
            with gr.Tab("Gradient", id="gradient") as tab:
                tabs.append((tab, GradientTab(shared).start))
            with gr.Tab("Training", id="training") as tab:
                tabs.append((tab, TrainingTab(shared).run))
        for tab, run in tabs:
            run(tab.select)

        def look(key: str, first: str | None, second: str | None) -> tuple[str, Any, Any, Any, Any]:
            return _look(api, key, (first, second))

        looked = [status, key, first, second, timer]
        begin = page.load(
            _from_link, None, [first, second, pair.a, pair.b], queue=False, api_visibility="private"
        )
        for event in (begin.then, timer.tick, key.submit):
            seen = event(
                look,
                [key, first, second],
                looked,
                queue=False,
                show_progress="hidden",
                api_visibility="private",
            )
            pair.search(pair.run(seen.then).then, shared)
    return page


def _from_link(request: gr.Request) -> tuple[Any, ...]:
    """What a shared link asks for; what it does not name stays as it is."""
    given = request.query_params
    return tuple(
        gr.skip() if name not in given else _offered(given[name], choice=place < 2)
        for place, name in enumerate(("original", "modified", "a", "b"))
    )


def _offered(value: str, *, choice: bool) -> Any:
    return gr.Dropdown([value[:200]], value=value[:200]) if choice else value[:20_000]


def _look(api: Api, key: str, chosen: Sequence[str | None]) -> tuple[str, Any, Any, Any, Any]:
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
    first, second = (one or default for one, default in zip(wanted, _twins(cards), strict=True))
    return (
        "",
        unchanged,
        gr.Dropdown(names, value=first),
        gr.Dropdown(names, value=second),
        gr.Timer(active=False),
    )


def _twins(cards: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """An original encoder and its modified form, of one seed where there are such."""
    by_objective = {(card["objective"], card["seed"]): card["id"] for card in cards}
    for (objective, seed), original in by_objective.items():
        modified = by_objective.get((f"{objective}_modified", seed))
        if modified is not None:
            return original, modified
    return cards[0]["id"], cards[-1]["id"]
