"""The gradient of both encoders' objectives, taken apart at each anchor of a batch.

The service gives the embeddings of both views once; what is drawn of them, and all that follows the
sliders, is static/lab.js. Losses of others are not computed there: the service takes them apart.
Not here: the maths (static/objectives.js, tested against the pipeline).
"""

import base64
from collections.abc import Mapping
from typing import Any

import gradio as gr

from app.client import Vectors
from app.shared import InputError, Shared, check_chosen, place_notice, read_lines

MOST = 32
_MOST_SEED = 2**53 - 1  # what a browser counts exactly
# Neighbours in meaning, and sentences that stand alone: of both, some anchors are open.
BATCH = """A cat sleeps on the sofa.
A cat is sleeping on the couch.
A man is playing a guitar.
A man plays the piano.
A child rides a bike down the street.
A boy cycles along the road.
Two dogs run through the snow.
The stock market fell sharply on Monday.
Shares dropped at the start of the week.
The parliament passed a new law.
She cooked rice for dinner.
The river flooded the town."""
_WAITING = (
    '<p class="waiting">The service encodes the batch twice, with dropout. The first time takes '
    "about ten seconds, as it loads PyTorch.</p>"
)
_MODULE = "import(new URL('lab/lab.js', document.baseURI))"
_MOUNT = f"""{_MODULE}.then((lab) => lab.mount(element, (asked) => {{
    props.value = asked;
    trigger('submit');
}}));"""
_RECEIVE = f"""
const give = () => props.value && {_MODULE}.then((lab) => lab.receive(props.value));
watch('value', give);
give();
"""
# Its value is a request and then the answer; empty where the service refused.
_LOSSES = f"""{_MODULE}.then((lab) => {{
    lab.connect((asked) => {{
        props.value = asked;
        trigger('submit');
    }});
    watch('value', () => lab.receiveLosses(props.value));
}});"""
# What static/lab.js needs of an answer of /v1/components.
_PIECES = ("dissipation", "weight", "pull", "ratio", "own_cosines", "step")


class GradientTab:
    """The tab."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        notice = place_notice()
        lab = gr.HTML(
            {"anchors": BATCH, "positives": "", "seed": 0},
            html_template=_WAITING,
            js_on_load=_MOUNT,
            apply_default_css=False,
            elem_id="lab",
        )
        answer = gr.HTML(None, html_template="", js_on_load=_RECEIVE, elem_id="lab-answer")
        losses = gr.HTML(None, html_template="", js_on_load=_LOSSES, elem_id="lab-losses")
        self.shown = shared.guarded(self._show, [lab], notice, [answer])
        self.submit = lab.submit
        shared.guarded(self._take_apart, [losses], notice, [losses]).on(
            losses.submit, show_progress="hidden"
        )

    def _show(
        self, first: str, second: str, key: str, extras: Mapping[str, Any]
    ) -> tuple[dict[str, Any]]:
        names = check_chosen(first, second)
        sentences = read_lines(str(extras["anchors"]), MOST, 2)
        positives = None
        if str(extras["positives"]).strip():
            positives = read_lines(str(extras["positives"]), MOST, 2)
            if len(positives) != len(sentences):
                raise InputError(
                    f"Give one positive for each anchor: there are {len(sentences)} anchors and "
                    f"{len(positives)} positives."
                )
        seed = _read_seed(str(extras["seed"]))
        cards = self._api.cards(key)
        sides = []
        for name in names:
            card = cards.get(name, {})
            views = self._api.views(name, sentences, positives, seed, key)
            sides.append(
                {
                    "model": name,
                    # An encoder that was not trained here has no objective: it is seen as InfoNCE.
                    "objective": card.get("objective") or "info_nce",
                    "settings": card.get("hyperparameters") or {},
                    "anchor": _packed(views.anchor),
                    "positive": _packed(views.positive),
                    "cut": len(views.truncated),
                    "longest": card.get("max_length", 0),
                }
            )
        batch = {"sentences": sentences, "positives": positives, "seed": seed}
        return ({**batch, "sides": sides, "losses": self._api.losses(key)},)

    def _take_apart(
        self, first: str, second: str, key: str, extras: Mapping[str, Any]
    ) -> tuple[dict[str, Any]]:
        """The pieces of losses of others, each at the embeddings of one encoder."""
        names = check_chosen(first, second)
        objectives = []
        for loss in extras["losses"]:
            answer = self._api.components(
                names[loss["of"]],
                extras["sentences"],
                extras["positives"],
                extras["seed"],
                {name: loss[name] for name in ("objective", "hyperparameters", "step")},
                key,
            )
            objectives.append({"key": loss["key"], **{name: answer[name] for name in _PIECES}})
        return ({"found": objectives},)


def _read_seed(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text) <= _MOST_SEED):
        raise InputError(
            f"Seed of the dropout: {text[:40]!r} cannot be used; give a whole number from 0 to "
            f"{_MOST_SEED}."
        )
    return int(text)


def _packed(vectors: Vectors) -> str:
    """Rows of float32, little-endian, in base64: a third of the size of JSON."""
    return base64.b64encode(vectors.astype("<f4").tobytes()).decode()
