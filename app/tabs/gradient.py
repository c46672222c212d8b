"""A batch of sentences: what each objective's gradient does to every anchor.

The maths is the service's (POST /v1/components), which asks pipeline.objectives.
"""

import html
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import gradio as gr
import numpy as np
import plotly.graph_objects as go

from app import sample
from app.charts.gradient import Step, anchor_chart, step_chart, weight_map
from app.client import Change, Components
from app.shared import InputError, Shared, check_chosen, cut_note, place_notice, read_lines
from app.statistics import Values

MOST = 32
_FIRST = 12
# Name, label, least, most and step of the sliders; each moves the objectives that have it.
_SLIDERS = (
    (
        "margin",
        "Margin m (cosine): anchors whose positive leads by more are left alone",
        0,
        1,
        0.01,
    ),
    (
        "temperature",
        "Temperature t: small ones put all weight on the hardest negative",
        0.01,
        1,
        0.01,
    ),
    ("ratio", "Ratio r: pull on the positive per push on the negatives", 0, 5, 0.05),
)


class GradientTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        gr.Markdown(
            "At each anchor the gradient is **dissipation** times the sum, over the negatives, of "
            "**weight** times (negative minus **ratio** times positive). It is computed here at "
            "the encoders' embeddings, without a training head."
        )
        with gr.Row():
            anchors = gr.Textbox(
                "\n".join(sample.sentences(_FIRST)),
                label=f"Anchors, one sentence a line, 2 to {MOST}",
                lines=7,
                max_lines=10,
                max_length=MOST * 2000,
                elem_id="anchors",
            )
            positives = gr.Textbox(
                label="Positives, a paraphrase of each line (empty: the same sentence under "
                "another dropout, as in training)",
                lines=7,
                max_length=MOST * 2000,
                elem_id="positives",
            )
        with gr.Row():
            seed = gr.Number(0, label="Seed of the dropout", precision=0, minimum=0)
            size = gr.Slider(0.01, 1, 0.1, step=0.01, label="Size of the step")
            again = gr.Button("Back to the encoders' own settings", elem_id="own-settings")
        with gr.Row():
            sliders = [
                gr.Slider(low, high, low, step=step, label=label, elem_id=f"slider-{name}")
                for name, label, low, high, step in _SLIDERS
            ]
        button = gr.Button("Show the gradient", variant="primary", elem_id="show-gradient")
        notice = place_notice()
        settings = gr.HTML(elem_id="gradient-settings")
        charts = [gr.Plot(show_label=False, container=False, elem_id="dissipation")]
        for kind in ("weight", "ratio", "step"):
            gr.HTML(f"<h3>{_TITLES[kind]}</h3>")
            with gr.Row():
                # Both encoders' ratios stand in one chart.
                for name in ("ratio",) if kind == "ratio" else (f"{kind}-first", f"{kind}-second"):
                    with gr.Column(min_width=340):
                        charts.append(gr.Plot(show_label=False, container=False, elem_id=name))
        inputs = [anchors, positives, seed, size, *sliders]
        self._shown = shared.guarded(self._show, inputs, notice, [settings, *charts])
        self._set = shared.guarded(self._own, [], notice, sliders)
        self._shown.on(button.click)
        for slider in (*sliders, size):
            self._shown.on(slider.input, trigger_mode="always_last", show_progress="hidden")
        self.on(again.click)

    def on(self, trigger: Any) -> None:
        """Set the sliders as the encoders were trained, and show the gradient, on an event."""
        self._shown.on(self._set.on(trigger).then)

    def _own(self, first: str, second: str, key: str) -> tuple[Any, ...]:
        names = check_chosen(first, second)
        cards = self._api.cards(key)
        records = [cards.get(name, {}).get("hyperparameters") or {} for name in names]
        # The modified objective's own value, where both have one.
        values = {**records[0], **records[1]}
        return tuple(
            gr.Slider(value=values.get(name, low), visible=name in values)
            for name, _, low, _, _ in _SLIDERS
        )

    def _show(
        self,
        first: str,
        second: str,
        key: str,
        anchors: str,
        positives: str,
        seed: float | None,
        size: float,
        *values: float,
    ) -> tuple[Any, ...]:
        names = check_chosen(first, second)
        sentences = read_lines(anchors, MOST, 2)
        body: dict[str, Any] = {"anchors": sentences, "seed": int(seed or 0), "step": size}
        if positives.strip():
            body["positives"] = read_lines(positives, MOST, 2)
            if len(body["positives"]) != len(sentences):
                raise InputError(
                    f"Give one positive for each anchor: there are {len(sentences)} anchors and "
                    f"{len(body['positives'])} positives."
                )
        cards = self._api.cards(key)
        chosen = dict(zip((name for name, *_ in _SLIDERS), values, strict=True))
        found = [self._components(name, cards.get(name, {}), body, chosen, key) for name in names]
        settings = "".join(
            _settings(place, name, one)
            + cut_note(one["truncated"], name, cards.get(name, {}).get("max_length", 0))
            for place, name, one in zip(("first", "second"), names, found, strict=True)
        )
        steps = [one["step"] for one in found]
        return (
            f'<div class="scores">{settings}</div><h3>{_TITLES["dissipation"]}</h3>',
            _anchors("dissipation", names, found, sentences),
            *(
                weight_map(np.array(one["weight"], float), sentences, name)
                for name, one in zip(names, found, strict=True)
            ),
            _anchors("ratio", names, found, sentences),
            *(
                step_chart(
                    name,
                    place,
                    Step(_both(step["positive"]), _both(step["hardest_negative"])),
                    sentences,
                )
                for place, (name, step) in enumerate(zip(names, steps, strict=True))
            ),
        )

    def _components(
        self,
        name: str,
        card: Mapping[str, Any],
        body: Mapping[str, Any],
        chosen: Mapping[str, float],
        key: str,
    ) -> Components:
        own = card.get("hyperparameters") or {}
        changed = {each: value for each, value in chosen.items() if each in own}
        asked = {"model": name, "hyperparameters": changed, **body}
        if card.get("objective") is None:
            # An encoder that was not trained here has no objective: it is looked at as InfoNCE.
            asked |= {"objective": "info_nce", "hyperparameters": None}
        return self._api.components(**asked, key=key)


_TITLES = {
    "dissipation": "Dissipation: how much of its gradient each anchor keeps",
    "weight": "Weight: how an anchor's push is shared among its negatives",
    "ratio": "Ratio: pull on the positive per push on the negatives",
    "step": "One step against the gradient: what happens to the anchor's similarities",
}


def _anchors(
    kind: Literal["dissipation", "ratio"],
    names: Sequence[str],
    found: Sequence[Components],
    sentences: Sequence[str],
) -> go.Figure:
    first, second = (np.array(one[kind], float) for one in found)
    return anchor_chart(kind, names, first, second, sentences)


def _both(cosines: Change) -> tuple[Values, Values]:
    """Before and after."""
    return np.array(cosines["before"], float), np.array(cosines["after"], float)


def _settings(place: str, name: str, found: Components) -> str:
    values = ", ".join(f"{key} {value}" for key, value in found["hyperparameters"].items())
    before, after = (cosines.mean() for cosines in _both(found["step"]["positive"]))
    nearer = f"{after:.3f}" if np.isfinite(after) else "no finite number"
    return (
        f'<section class="score {place}"><h3>{html.escape(name)}</h3>'
        f'<p class="objective">{html.escape(found["objective"])}: {html.escape(values)}</p>'
        f"<p>The step takes the anchors' mean similarity to their positives from {before:.3f} to "
        f"<strong>{nearer}</strong>.</p></section>"
    )
