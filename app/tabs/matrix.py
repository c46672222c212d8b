"""All sentences with all: two maps on one scale of percentiles, and where they differ."""

import html

import gradio as gr
import numpy as np

from app import sample, svg
from app.ordering import cluster_order
from app.shared import (
    Shared,
    check_chosen,
    cut_note,
    graded_places,
    in_words,
    place_notice,
    read_lines,
    ungraded_notes,
)

MOST = 40
_LISTED = "<details><summary>The sentences in this order</summary><ol>{}</ol></details>"
_LEAST = 20.0  # percentiles: smaller differences do not get the strongest colours


class MatrixTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        with gr.Group(elem_classes="given"):
            self.text = gr.Textbox(
                "\n".join(text for _, *pair in sample.PROBES[::2] for text in pair),
                label=f"Sentences, one a line, up to {MOST}; up to 12 are written beside the maps",
                lines=6,
                max_lines=6,
                max_length=MOST * 2000,
                elem_id="matrix",
            )
        button = gr.Button(
            "Compare all, sorted by likeness", variant="primary", elem_id="run-matrix"
        )
        self.trigger = button.click
        notice = place_notice()
        result = gr.HTML(elem_id="matrix-result", elem_classes="result")
        self.shown = shared.guarded(self._show, [self.text], notice, [result])

    def _show(self, first: str, second: str, key: str, text: str) -> tuple[str]:
        names = check_chosen(first, second)
        sentences = read_lines(text, MOST, 2)
        answers = self._api.matrix(names, sentences, key)
        cards = self._api.cards(key)
        places = [graded_places(cards, name, answers[name].cosines) for name in names]
        order = cluster_order(np.mean([answers[name].cosines for name in names], axis=0))
        sentences = [sentences[index] for index in order]
        maps = [matrix[np.ix_(order, order)] for matrix in places]
        apart = maps[1] - maps[0]
        notes = "".join(
            cut_note(
                [cut for cut in answers[name].truncated if cut.startswith("s")],
                name,
                cards[name]["max_length"],
            )
            for name in dict.fromkeys(names)
        )
        listed = "".join(f"<li>{html.escape(sentence)}</li>" for sentence in sentences)
        titles = [in_words(cards.get(name, {"id": name})) for name in names]
        limit = max(_LEAST, float(np.abs(apart).max()))
        picture = svg.maps([*maps, apart], titles, sentences, limit)
        notes += ungraded_notes(cards, names)
        meaning = "<p>Percent of an encoder's graded pairs that are less alike.</p>"
        return (f"{notes}{meaning}{picture}{_LISTED.format(listed)}",)
