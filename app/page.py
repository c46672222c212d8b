"""The page: story, score card, the laboratory's panels, and the application that serves them.

What the page keeps in the address, what is stale and which panel is shown is static/page.js. Not
here: what a panel does (tabs/), the look (theme.py).
"""

import html
import json
import os
from collections.abc import Sequence
from typing import Any

import fastapi
import gradio as gr
from starlette.middleware.body_limit import RequestBodyLimitMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import FileResponse
from starlette.staticfiles import StaticFiles

from app import ICON, STATIC, story
from app.client import ApiError, Client
from app.document import TITLE, Document
from app.shared import Guarded, Newest, Shared, alert
from app.tabs.gradient import GradientTab
from app.tabs.matrix import MatrixTab
from app.tabs.pair import PairTab
from app.tabs.pairs import PairsTab
from app.tabs.search import SearchTab
from app.tabs.training import TrainingTab
from app.theme import THEME

# Panel -> its title; each has a button `run-NAME` that computes what it shows.
PANELS = {
    "pair": "Pair",
    "gradient": "Gradient",
    "pairs": "Pairs",
    "matrix": "Matrix",
    "search": "Search",
    "training": "Training",
}
# What a link holds, as static/page.js names it, in the order in which it is given.
FIELDS = ("first", "second", "a", "b", "matrix", "query", "corpus", "results", "pairs")
_LOOK_AGAIN = 2.0  # seconds between two looks for a service that is down
_KEEP = 600  # seconds that a file for download stays
_UPLOAD = "5mb"
_MOST_BYTES = 12_000_000  # of a request: a box full of pairs, escaped
_QUIET: dict[str, Any] = {
    "queue": False,
    "show_progress": "hidden",
    "api_visibility": "private",
}


def create_app(api_url: str, root_path: str = "", public_url: str = "") -> fastapi.FastAPI:
    """An application that has the page at /demo.

    Args:
        api_url: where the service is.
        root_path: the whole path of the page behind a proxy that leaves its prefix on.
        public_url: where visitors find the service, if not beside the page.
    """
    os.environ["GRADIO_ANALYTICS_ENABLED"] = "False"
    app = fastapi.FastAPI(openapi_url=None)
    app.mount("/demo/lab", StaticFiles(directory=STATIC))
    gr.mount_gradio_app(
        app,
        create_page(Client(api_url), public_url or ".."),
        path="/demo",
        root_path=root_path or None,
        footer_links=[],
        max_file_size=_UPLOAD,
        show_error=False,
        ssr_mode=False,
        enable_monitoring=False,
        theme=THEME,
        css=(STATIC / "page.css").read_text(encoding="utf-8"),
        head=_head(public_url),
    )
    app.add_api_route("/favicon.ico", lambda: FileResponse(ICON, media_type="image/svg+xml"))
    app.add_middleware(RequestBodyLimitMiddleware, max_body_size=_MOST_BYTES)
    app.add_middleware(Document)
    app.add_middleware(GZipMiddleware)
    return app


def _head(public_url: str) -> str:
    data = story.FILE.read_text(encoding="utf-8")
    settings = (
        f"window.triadFields = {json.dumps(FIELDS)}; window.triadPanels = {json.dumps([*PANELS])}; "
        f"window.triadApi = {json.dumps(public_url)}; window.triadStory = {data};"
    )
    scripts = [(STATIC / name).read_text(encoding="utf-8") for name in ("page.js", "story.js")]
    return "".join(
        "<script>{}</script>".format(text.replace("</", "<\\/")) for text in (settings, *scripts)
    )


def create_page(api: Client, public_url: str) -> gr.Blocks:
    """The page for a service; `public_url` is where a visitor's browser finds that."""
    page: gr.Blocks
    with gr.Blocks(
        title=TITLE,
        analytics_enabled=False,
        delete_cache=(_KEEP, _KEEP),
    ) as page:
        gr.HTML(_INTRODUCTION.format(html.escape(public_url.rstrip("/"))), elem_id="intro")
        gr.HTML(story.render())
        gr.HTML(
            "<h2>Lab: two encoders side by side</h2>"
            "<p>The encoders of this service. They are others than the story's, trained on other "
            "sentences or for other numbers of steps: their cards say on what.</p>"
        )
        status = gr.HTML(elem_id="status")
        with gr.Row(elem_id="choice"):
            first = gr.Dropdown([], label="Encoder A", elem_id="first", interactive=True)
            second = gr.Dropdown([], label="Encoder B", elem_id="second", interactive=True)
            key = gr.Textbox(
                "", label="API key", type="password", visible=False, elem_id="key", max_length=1000
            )
        cards = gr.HTML(elem_id="cards")
        timer = gr.Timer(_LOOK_AGAIN, active=False)
        shared = Shared(api, first, second, key, timer)
        gr.HTML(_navigation(), elem_id="navigation")
        panels: dict[str, Any] = {}
        for name, kind in (
            ("pair", lambda shared: PairTab(shared, cards)),
            ("gradient", GradientTab),
            ("pairs", PairsTab),
            ("matrix", MatrixTab),
            ("search", SearchTab),
            ("training", TrainingTab),
        ):
            with gr.Column(elem_id=f"view-{name}", elem_classes="view"):
                panels[name] = kind(shared)
        pair, pairs = panels["pair"], panels["pairs"]
        _computes("pair", pair.compared, pair.button.click)
        for name in ("matrix", "search", "training"):
            _computes(name, panels[name].shown, panels[name].trigger)
        for trigger in pairs.triggers:
            _computes(
                "pairs", pairs.shown, trigger, queue=True, show_progress="full", concurrency_limit=2
            )
        run = gr.Button("Show", elem_id="run-gradient", elem_classes="unseen")
        for trigger in (run.click, panels["gradient"].submit):
            _computes("gradient", panels["gradient"].shown, trigger, show_progress="hidden")
        matrix, search = panels["matrix"], panels["search"]
        typed = [
            pair.a,
            pair.b,
            matrix.text,
            search.query,
            search.corpus,
            search.results,
            pairs.text,
        ]
        _keep_in_address(page, [first, second, *typed])
        _look_for_service(page, shared, status)
        for choice in (first, second):
            pair.found.on(choice.change, show_progress="hidden")
    return page


def _computes(name: str, content: Guarded, trigger: Any, **options: Any) -> None:
    """A panel's computation on an event, with what the page has to know of it."""
    trigger(None, js=f"() => {{ triad.started('{name}'); }}")
    content.on(trigger, **options).then(None, js=f"() => {{ triad.done('{name}'); }}")


def _keep_in_address(page: gr.Blocks, fields: Sequence[Any]) -> None:
    """What is shown goes into the address and comes from it: see static/page.js."""
    page.load(None, fields[2:], fields[2:], js="(...given) => triad.opening(...given)")
    back = gr.Button("Back", elem_id="go-back", elem_classes="unseen")
    back.click(None, fields, fields, js="(...given) => triad.back(...given)")
    gr.on(
        [field.change for field in fields],
        None,
        fields,
        js="(...given) => { triad.changed(...given); }",
    )


def _look_for_service(page: gr.Blocks, shared: Shared, status: gr.HTML) -> None:
    """Ask for the encoders when the page opens, a key is given, or the service was down."""
    looks = Newest()
    linked = [gr.Textbox(visible=False), gr.Textbox(visible=False)]

    def look(request: gr.Request, key: str, first: str, second: str) -> tuple[Any, ...]:
        newest = looks.begin(request.session_hash)
        updates = _look(shared.api, key, (first, second))
        return updates if newest() else tuple(gr.skip() for _ in updates)

    for event in (page.load, shared.timer.tick, shared.key.submit):
        looked = event(
            look,
            [shared.key, *linked],
            [status, shared.key, shared.first, shared.second, shared.timer],
            js="(key) => [key, ...triad.wanted()]",
            **_QUIET,
        )
        looked.then(None, js="() => { triad.looked(); }")


def _look(api: Client, key: str, linked: Sequence[str]) -> tuple[Any, ...]:
    """Status, key box, both choices and the timer, as the service is now."""
    unchanged = gr.skip()
    try:
        cards = api.models(key)
    except ApiError as error:
        down = error.kind in ("down", "busy")
        key_box = gr.Textbox(visible=True) if error.kind == "key" else unchanged
        return alert(error.message), key_box, unchanged, unchanged, gr.Timer(active=down)
    names = [card["id"] for card in cards]
    missing = [name[:200] for name in linked if name and name not in names]
    selected = [
        name if name in names else default
        for name, default in zip(linked, default_pair(names), strict=True)
    ]
    sentence = (
        alert(
            f"The link asks for {' and '.join(map(repr, missing))}, which this service does not "
            f"have; {selected[0]} and {selected[1]} are shown instead."
        )
        if missing
        else ""
    )
    choices = [gr.Dropdown(names, value=name) for name in selected]
    return sentence, unchanged, *choices, gr.Timer(active=False)


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


_INTRODUCTION = """
<h1>Triad</h1>
<nav aria-label="Elsewhere">
<span>Li, Zhang &amp; Nie, ACL 2024: Towards Better Understanding of Contrastive Sentence
Representation Learning: A Unified Paradigm for Gradient</span>
<a href="{0}/docs">Try the API</a>
<a href="{0}/openapi.json">OpenAPI</a>
</nav>
"""


def _navigation() -> str:
    tabs = "".join(
        f'<button type="button" role="tab" id="tab-{name}" data-tab="{name}" '
        f'aria-controls="view-{name}" aria-selected="false">{title}</button>'
        for name, title in PANELS.items()
    )
    copies = "".join(
        f'<button type="button" data-copy="{kind}">{title}</button>'
        for kind, title in (
            ("link", "Copy link"),
            ("curl", "Copy as curl"),
            ("Python", "Copy as Python"),
        )
    )
    return (
        f'<div role="tablist" aria-label="Views" class="tabs">{tabs}</div>'
        f'<div class="copies">{copies}<span id="said" role="status"></span></div>'
    )
