"""A small corpus and a query: what each encoder finds, and what moved."""

import html
from collections.abc import Sequence
from typing import Any

import gradio as gr

from app import sample
from app.client import Hit
from app.shared import SCROLL, InputError, Shared, Shown, check_chosen, place_notice, read_lines

MOST = 1000
_SENTENCES = 300
_QUERY = "an instrument that is played with a bow"


class SearchTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        with gr.Row():
            query = gr.Textbox(_QUERY, label="Query", max_length=20_000, elem_id="query", scale=4)
            top = gr.Slider(3, 20, 8, step=1, label="Results", scale=1)
        button = gr.Button("Search", variant="primary", elem_id="search")
        notice = place_notice()
        found = gr.HTML(elem_id="found")
        with gr.Accordion(f"Sentences that are searched, one a line, up to {MOST:,}", open=False):
            text = gr.Textbox(
                "\n".join(sample.sentences(_SENTENCES)),
                show_label=False,
                label="Sentences that are searched",
                lines=10,
                max_lines=10,
                max_length=MOST * 500,
                elem_id="corpus",
            )
        self._shown = shared.guarded(self._show, [query, text, top], notice, [found])
        for trigger in (button.click, query.submit, top.release):
            self._shown.on(trigger)

    def on(self, trigger: Any, only: Shown | None = None) -> None:
        """Search on an event."""
        self._shown.on(trigger, only)

    def _show(
        self, first: str, second: str, key: str, query: str, text: str, top: float
    ) -> tuple[str]:
        names = check_chosen(first, second)
        if not query.strip():
            raise InputError("Write what to look for; the query is empty.")
        documents = read_lines(text, MOST)
        # All of them, so that it is known where the other encoder has what this one shows.
        results = [self._api.search(name, query, documents, len(documents), key) for name in names]
        places = [{found["index"]: place for place, found in enumerate(one, 1)} for one in results]
        tables = "".join(
            _table(name, side, one[: int(top)], other)
            for name, side, one, other in zip(
                names, ("first", "second"), results, reversed(places), strict=True
            )
        )
        return (f'<div class="sides" role="status">{tables}</div>',)


def _table(name: str, side: str, found: Sequence[Hit], other: dict[int, int]) -> str:
    rows = "".join(
        f"<tr><td>{place}</td><td>{html.escape(one['document'])}</td>"
        f"<td>{one['score']:.3f}</td><td>{_moved(place, other[one['index']])}</td></tr>"
        for place, one in enumerate(found, 1)
    )
    return (
        f'{SCROLL}<table><caption class="{side}">{html.escape(name)}</caption><thead>'
        "<tr><th scope='col'>Rank</th><th scope='col'>Sentence</th><th scope='col'>Cosine</th>"
        f"<th scope='col'>With the other</th></tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _moved(here: int, there: int) -> str:
    if here == there:
        return '<span class="same">same rank</span>'
    way, sign = ("higher", "▲") if here < there else ("lower", "▼")
    return (
        f'<span class="{way}"><span aria-hidden="true">{sign} </span>rank {there}'
        f'<span class="spoken">: {abs(here - there)} {way} here</span></span>'
    )
