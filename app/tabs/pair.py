"""Two sentences: how near each encoder puts them, among all that it was graded on."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr

from app import disagreement, sample
from app.charts.pair import PairSide, pair_chart
from app.client import Client, Similarities
from app.shared import InputError, Shared, Shown, check_chosen, cut_note, place_notice
from app.statistics import density, percentile

EXAMPLE = ("A man is playing a guitar.", "Nobody is playing a guitar.")
_LONGEST = 20_000  # characters of a sentence
_EXAMPLES = 6

# The address shows what the page shows, so that it can be passed on.
_SHARE = """(original, modified, a, b) => {
    const view = new URL(window.location);
    for (const [name, value] of Object.entries({original, modified, a, b}))
        view.searchParams.set(name, value ?? '');
    window.history.replaceState(null, '', view);
    return [];
}"""
_COPY = """async () => {
    const said = document.getElementById('link-copied');
    try {
        await navigator.clipboard.writeText(window.location.href);
        said.textContent = 'The link is copied.';
    } catch {
        said.textContent = 'Copy the address of this page: it holds this view.';
    }
}"""


class PairTab:
    """The tab, and what the page has to run on it."""

    def __init__(self, shared: Shared) -> None:
        self._api = shared.api
        with gr.Row(equal_height=True):
            self.a = gr.Textbox(
                EXAMPLE[0], label="Sentence", lines=2, max_length=_LONGEST, min_width=260
            )
            self.b = gr.Textbox(
                EXAMPLE[1], label="Other sentence", lines=2, max_length=_LONGEST, min_width=260
            )
        with gr.Row():
            button = gr.Button("Compare", variant="primary", elem_id="compare", scale=3)
            link = gr.Button("Copy link to this view", elem_id="copy-link", scale=1)
        gr.HTML('<p id="link-copied" role="status"></p>', elem_classes="quiet")
        notice = place_notice()
        scores = gr.HTML(elem_id="pair-scores")
        chart = gr.Plot(show_label=False, container=False, elem_id="pair-chart")
        self.examples = gr.Radio(
            [],
            label="Pairs on which these two encoders disagree most",
            info="Found among the graded pairs of the sample; a choice is compared at once.",
            elem_id="examples",
            visible=False,
        )
        self._compared = shared.guarded(self._compare, [self.a, self.b], notice, [scores, chart])
        self._found = shared.guarded(self._find, [], gr.HTML(visible=False), [self.examples])
        self._shown = [shared.first, shared.second, self.a, self.b]
        for trigger in (button.click, self.a.submit, self.b.submit):
            self._compare_on(trigger)
        picked = self.examples.input(
            self._take,
            [self.examples],
            [self.a, self.b],
            queue=False,
            show_progress="hidden",
            api_visibility="private",
        )
        self._compare_on(picked.then)
        for choice in (shared.first, shared.second):
            choice.input(None, self._shown, js=_SHARE)
        link.click(None, self._shown, js=_SHARE).then(None, js=_COPY)

    def _compare_on(self, trigger: Any) -> None:
        self._compared.on(trigger).then(None, self._shown, js=_SHARE)

    def on(self, trigger: Any, only: Shown | None = None) -> None:
        """Compare, and look for disputed pairs, on an event."""
        compared = self._compared.on(trigger, only)
        self._found.on(compared.then, only, show_progress="hidden")

    def _compare(self, first: str, second: str, key: str, a: str, b: str) -> tuple[Any, Any]:
        names = check_chosen(first, second)
        if not a.strip() or not b.strip():
            raise InputError("Write two sentences; one of them is empty.")
        cards = self._api.cards(key)
        found = self._api.pairs(list(dict.fromkeys(names)), [(a, b)], key)
        sides = [_side(name, cards.get(name, {}), found[name]) for name in names]
        notes = [
            cut_note(found[name].truncated, name, cards[name]["max_length"])
            for name in dict.fromkeys(names)
            if name in cards
        ]
        return _scores(sides, cards) + "".join(notes), pair_chart(sides)

    def _find(self, first: str, second: str, key: str) -> tuple[Any]:
        names = check_chosen(first, second)
        graded = sample.graded_pairs()
        if not graded or first == second:
            return (gr.Radio([], visible=False),)
        cards = self._api.cards(key)
        versions = [(name, cards[name]["version"]) for name in names if name in cards]
        chosen = _disputed(self._api, tuple(versions), key, cards)
        choices = [
            (f"{graded[index].first}  ↔  {graded[index].second}  ({note})", index)
            for index, note in chosen
        ]
        return (gr.Radio(choices, value=None, visible=bool(choices)),)

    def _take(self, index: int) -> tuple[str, str]:
        graded = sample.graded_pairs()[index]
        return graded.first, graded.second


def _side(model: str, card: Mapping[str, Any], found: Similarities) -> PairSide:
    cosine, quantiles = float(found.cosines[0]), card.get("cosine_quantiles")
    return PairSide(
        model,
        cosine,
        percentile(cosine, quantiles) if quantiles else None,
        density(quantiles) if quantiles else None,
    )


def _disputed(
    api: Client, versions: tuple[tuple[str, str], ...], key: str, cards: Mapping[str, Any]
) -> list[tuple[int, str]]:
    """Indices of graded pairs, with what both encoders say of each; kept by version."""
    if versions not in _KEPT:
        graded = sample.graded_pairs()
        pairs = [(one.first, one.second) for one in graded]
        names = [name for name, _ in versions]
        found = api.pairs(names, pairs, key)
        percents = []
        for name in names:
            # Of encoders that were never measured, these pairs are the measure.
            measured = cards[name].get("cosine_quantiles")
            cosines = found[name].cosines
            quantiles = measured or sorted(cosines.tolist())
            percents.append([percentile(float(cosine), quantiles) for cosine in cosines])
        disputed = disagreement.most_disputed(pairs, percents[0], percents[1], _EXAMPLES)
        while len(_KEPT) >= _MOST_KEPT:
            _KEPT.pop(next(iter(_KEPT)), None)
        note = "{:.0f} % against {:.0f} %, people: {:.1f} of 5"
        _KEPT[versions] = [
            (index, note.format(percents[0][index], percents[1][index], graded[index].gold))
            for index in disputed
        ]
    return _KEPT[versions]


# They are of the sample and of versions, not of anybody's sentences.
_KEPT: dict[tuple[tuple[str, str], ...], list[tuple[int, str]]] = {}
_MOST_KEPT = 64


def _scores(sides: Sequence[PairSide], cards: Mapping[str, Mapping[str, Any]]) -> str:
    parts = []
    for side, place in zip(sides, ("first", "second"), strict=True):
        objective = cards.get(side.model, {}).get("objective") or "another objective"
        among = (
            "not measured on graded pairs"
            if side.percentile is None
            else f"higher than <strong>{side.percentile:.0f} %</strong> of its graded pairs"
        )
        parts.append(
            f'<section class="score {place}"><h3>{html.escape(side.model)}</h3>'
            f'<p class="objective">{html.escape(str(objective))}</p>'
            f'<p class="cosine">{side.cosine:.3f}</p><p>{among}</p></section>'
        )
    return f'<div class="scores" role="status">{"".join(parts)}</div>{_verdict(sides)}'


def _verdict(sides: Sequence[PairSide]) -> str:
    first, second = sides[0].percentile, sides[1].percentile
    if first is None or second is None or sides[0].model == sides[1].model:
        return ""
    gap = abs(first - second)
    if gap < 1:
        return '<p class="verdict">Both put the pair at the same place among their pairs.</p>'
    nearer = html.escape(sides[0].model if first > second else sides[1].model)
    points = "point" if round(gap) == 1 else "points"
    return (
        f'<p class="verdict"><strong>{nearer}</strong> finds the pair more alike, by '
        f"{gap:.0f} {points} of a hundred among its own pairs. A raw cosine means little across "
        "encoders: each spreads its cosines in its own way.</p>"
    )
