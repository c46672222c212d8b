"""A small corpus and a query: what each encoder finds, and what moved."""

import html
from collections.abc import Sequence

import gradio as gr

from app import sample
from app.client import Hit
from app.shared import (
    InputError,
    Shared,
    check_chosen,
    html_table,
    lettered,
    place_notice,
    read_lines,
)

MOST = 1000
_SENTENCES = 300
_MOST_RESULTS = 20
_QUERY = "a dog runs through the snow"


class SearchTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        with gr.Group(elem_classes="given"):
            self.query = gr.Textbox(_QUERY, label="Query", max_length=20_000, elem_id="query")
            with gr.Accordion(
                f"The sentences to search, up to {MOST:,}, and the results", open=False
            ):
                self.corpus = gr.Textbox(
                    "\n".join(sample.sentences(_SENTENCES)),
                    show_label=False,
                    label="Sentences to search",
                    lines=8,
                    max_lines=8,
                    max_length=MOST * 500,
                    elem_id="corpus",
                )
                # A slider's number box lets anything through, and Gradio refuses it without a word.
                self.results = gr.Radio([5, 8, 15, _MOST_RESULTS], value=8, label="Results")
        self.trigger = gr.Button("Search (Enter)", variant="primary", elem_id="run-search").click
        notice = place_notice()
        result = gr.HTML(elem_id="found", elem_classes="result")
        inputs = [self.query, self.corpus, self.results]
        self.shown = shared.guarded(self._show, inputs, notice, [result])

    def _show(
        self, first: str, second: str, key: str, query: str, corpus: str, results: float
    ) -> tuple[str]:
        names = check_chosen(first, second)
        if not query.strip():
            raise InputError("Write what to look for; the query is empty.")
        documents = read_lines(corpus, MOST)
        # All of them, so that it is known where the other encoder has what this one shows.
        hits = [self._api.search(name, query, documents, len(documents), key) for name in names]
        ranks = [{hit["index"]: place for place, hit in enumerate(results, 1)} for results in hits]
        titles = lettered(self._api.cards(key), names)
        tables = "".join(
            _table(titles[side], side, hits[side][: int(results)], ranks[1 - side])
            for side in (0, 1)
        )
        return (f'<div class="scores" role="status">{tables}</div>',)


def _table(title: str, side: int, hits: Sequence[Hit], other: dict[int, int]) -> str:
    rows = "".join(
        f'<tr data-link="document-{hit["index"]}"><td>{place}</td>'
        f"<td>{html.escape(hit['document'])}</td>"
        f"<td>{hit['score']:.3f}</td><td>{_moved(place, other[hit['index']])}</td></tr>"
        for place, hit in enumerate(hits, 1)
    )
    headings = ("Rank", "Sentence", "Cosine", f"Rank with {'BA'[side]}")
    return html_table(headings, rows, f"<caption class='side-{side}'>{title}</caption>")


def _moved(here: int, there: int) -> str:
    if here == there:
        return "same"
    way, sign = ("higher", "▲") if here < there else ("lower", "▼")
    return (
        f'<span class="nowrap">{there} <span aria-hidden="true">{sign}</span>'
        f'<span class="spoken">: {abs(here - there)} {way} here</span></span>'
    )
