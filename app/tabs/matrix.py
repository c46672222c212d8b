"""All sentences with all: two similarity maps of one scale, and where they differ."""

import html
from typing import Any

import gradio as gr
import numpy as np

from app import sample
from app.charts.matrix import difference_map, similarity_map
from app.ordering import cluster_order
from app.shared import Shared, Shown, check_chosen, cut_note, place_notice, read_lines

MOST = 40
_LISTED = "<details><summary>The sentences in this order</summary><ol>{}</ol></details>"
_FIRST = 16


class MatrixTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        text = gr.Textbox(
            "\n".join(sample.sentences(_FIRST)),
            label=f"Sentences, one a line, up to {MOST}",
            lines=8,
            max_length=MOST * 2000,
            elem_id="matrix-text",
        )
        with gr.Row():
            button = gr.Button("Compare all", variant="primary", elem_id="compare-all", scale=2)
            ordered = gr.Checkbox(value=True, label="Put like sentences beside each other", scale=1)
        notice, notes = place_notice(), gr.HTML()
        titles, plots = [], []
        with gr.Row():
            for place in ("first", "second"):
                with gr.Column(min_width=340):
                    titles.append(gr.HTML())
                    plots.append(gr.Plot(show_label=False, container=False, elem_id=f"map-{place}"))
        with gr.Row(), gr.Column(min_width=340, elem_classes="half"):
            titles.append(gr.HTML())
            plots.append(gr.Plot(show_label=False, container=False, elem_id="map-difference"))
        self._shown = shared.guarded(self._show, [text, ordered], notice, [notes, *titles, *plots])
        for trigger in (button.click, ordered.input):
            self._shown.on(trigger)

    def on(self, trigger: Any, only: Shown | None = None) -> None:
        """Compare on an event."""
        self._shown.on(trigger, only)

    def _show(self, first: str, second: str, key: str, text: str, ordered: bool) -> tuple[Any, ...]:
        names = check_chosen(first, second)
        sentences = read_lines(text, MOST, 2)
        found = self._api.matrix(list(dict.fromkeys(names)), sentences, key)
        maps = [found[name].cosines for name in names]
        if ordered:
            order = cluster_order((maps[0] + maps[1]) / 2)
            sentences = [sentences[index] for index in order]
            maps = [one[np.ix_(order, order)] for one in maps]
        apart = maps[1] - maps[0]
        low = min(float(one.min()) for one in maps)
        cards = self._api.cards(key)
        notes = "".join(
            cut_note(
                [cut for cut in found[name].truncated if cut.startswith("s")],
                name,
                cards[name]["max_length"],
            )
            for name in found
        )
        listed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        return (
            notes + _LISTED.format(listed),
            *(
                f'<h3 class="{place}">{html.escape(name)}</h3>'
                for place, name in zip(("first", "second"), names, strict=True)
            ),
            f"<h3>Difference: {html.escape(names[1])} - {html.escape(names[0])}</h3>",
            *(
                similarity_map(one, sentences, low, 1.0, name)
                for one, name in zip(maps, names, strict=True)
            ),
            difference_map(apart, sentences, "difference"),
        )
