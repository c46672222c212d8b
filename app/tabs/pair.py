"""Two sentences: how near each encoder puts them, among all that it was graded on."""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import gradio as gr
import numpy as np

from app import sample, svg
from app.client import Card, Client
from app.disagreement import most_disputed
from app.scores import render_cards
from app.shared import (
    InputError,
    Shared,
    check_chosen,
    cut_note,
    graded_places,
    html_table,
    is_graded,
    lettered,
    place_notice,
    ungraded_notes,
)
from app.statistics import percentiles

EXAMPLE = ("A man is playing a guitar.", "Nobody is playing a guitar.")
_LONGEST = 20_000  # characters of a sentence
_EXAMPLES = 6
_EVEN = 5.0  # percentiles that are not told apart


class PairTab:
    """The tab."""

    def __init__(self, shared: Shared, cards: gr.HTML) -> None:
        self._api = shared.api
        with gr.Row(equal_height=True, elem_classes="given"):
            self.a = gr.Textbox(
                EXAMPLE[0], label="Sentence", lines=2, max_length=_LONGEST, elem_id="a"
            )
            self.b = gr.Textbox(
                EXAMPLE[1], label="Other sentence", lines=2, max_length=_LONGEST, elem_id="b"
            )
        self.button = gr.Button(
            "Compare (Enter; Shift+Enter adds a line)", variant="primary", elem_id="run-pair"
        )
        notice = place_notice()
        result = gr.HTML(elem_id="pair-result", elem_classes="result")
        guided = gr.HTML(elem_id="guided")
        self.compared = shared.guarded(self._compare, [self.a, self.b], notice, [result])
        self.found = shared.guarded(self._find, [], gr.HTML(visible=False), [guided, cards])

    def _compare(self, first: str, second: str, key: str, a: str, b: str) -> tuple[str]:
        names = check_chosen(first, second)
        if not a.strip() or not b.strip():
            raise InputError("Write two sentences; one of them is empty.")
        cards = self._api.cards(key)
        answers = self._api.pairs(names, [(a, b)], key)
        cosines = [float(answers[name].cosines[0]) for name in names]
        percents = [
            float(graded_places(cards, name, answers[name].cosines)[0])
            if is_graded(cards, name)
            else None
            for name in names
        ]
        notes = ungraded_notes(cards, names)
        notes += "".join(
            cut_note(answers[name].truncated, name, cards[name]["max_length"])
            for name in dict.fromkeys(names)
            if name in cards
        )
        notes += "".join(_unknown(self._api, name, (a, b), key) for name in dict.fromkeys(names))
        return (_scores(names, cards, cosines, percents) + notes,)

    def _find(self, first: str, second: str, key: str) -> tuple[str, str]:
        names = check_chosen(first, second)
        cards = self._api.cards(key)
        if not sample.graded_pairs():
            return "", render_cards(names, cards, None, self._api.results(key))
        graded = _graded(self._api, names, cards, key)
        content = render_cards(names, cards, graded, self._api.results(key))
        return _guided(names, cards, graded), content


def _unknown(api: Client, name: str, texts: tuple[str, str], key: str) -> str:
    """What is said when an encoder does not know half of the tokens."""
    unknown, all_ = api.unknown(name, texts, key)
    if not all_ or 3 * unknown < all_:
        return ""
    return (
        f'<p class="alert">{unknown} of {all_} tokens are unknown to {html.escape(name)}: its '
        "cosine says nothing about what these sentences mean.</p>"
    )


def _graded(
    api: Client, names: tuple[str, str], cards: Mapping[str, Card], key: str
) -> list[np.ndarray[Any, Any]]:
    """Both encoders' cosines of the sample's graded pairs; kept by version."""
    pairs = [(pair.first, pair.second) for pair in sample.graded_pairs()]
    for name in dict.fromkeys(names):
        version = (name, str(cards[name]["version"]))
        if version not in _KEPT:
            while len(_KEPT) >= _MOST_KEPT:
                _KEPT.pop(next(iter(_KEPT)), None)
            _KEPT[version] = api.pairs([name], pairs, key)[name].cosines
    return [_KEPT[name, str(cards[name]["version"])] for name in names]


# They are of the sample and of versions, not of anybody's sentences.
_KEPT: dict[tuple[str, str], np.ndarray[Any, Any]] = {}
_MOST_KEPT = 64


def _scores(
    names: tuple[str, str],
    cards: Mapping[str, Card],
    cosines: Sequence[float],
    percents: Sequence[float | None],
) -> str:
    parts = ""
    for side, (title, cosine, percent) in enumerate(
        zip(lettered(cards, names), cosines, percents, strict=True)
    ):
        among = "" if percent is None else f"; nearer than {percent:.0f} % of its graded pairs"
        parts += (
            f'<section class="score side-{side}"><h3>{title}</h3><p><strong class="cosine">'
            f"{cosine:.3f}</strong> cosine{among}</p></section>"
        )
    return f'<div class="scores" role="status">{parts}</div>{_verdict(names, percents)}'


def _verdict(names: tuple[str, str], percents: Sequence[float | None]) -> str:
    first, second = percents
    if first is None or second is None or names[0] == names[1]:
        return ""
    gap = abs(first - second)
    sentence = (
        "Both put the pair at about the same place among their pairs."
        if gap < _EVEN
        else f"<b>{'A' if first > second else 'B'}</b> finds the pair more alike, by {gap:.0f} "
        "points of a hundred. Only places among an encoder's own pairs can be compared: each "
        "spreads its cosines in its own way."
    )
    alt = f"Where the pair stands among each encoder's pairs: A {first:.0f} %, B {second:.0f} %."
    return f'<p class="verdict">{sentence}</p>{svg.places([first, second], alt)}'


def _guided(
    names: tuple[str, str], cards: Mapping[str, Card], cosines: Sequence[np.ndarray[Any, Any]]
) -> str:
    """Twelve chosen pairs and those on which both disagree most, with who is nearer to people."""
    graded = sample.graded_pairs()
    pairs = [(pair.first, pair.second) for pair in graded]
    people = percentiles([pair.gold for pair in graded], None)
    own = [
        graded_places(cards, name, cosines_of)
        for name, cosines_of in zip(names, cosines, strict=True)
    ]
    picks = [
        (kind, index)
        for kind, first, second in sample.PROBES
        for index in [pairs.index((first, second))]
    ]
    disputed = [("disputed", index) for index in most_disputed(pairs, own[0], own[1], _EXAMPLES)]
    count = {"A": 0, "B": 0, "neither": 0}
    rows = ""
    for place, (kind, index) in enumerate(picks + disputed):
        misses = [abs(float(places[index] - people[index])) for places in own]
        nearer = (
            "neither" if abs(misses[0] - misses[1]) < _EVEN else "AB"[int(misses[1] < misses[0])]
        )
        if place < len(picks):
            count[nearer] += 1
        first, second = (html.escape(text, quote=True) for text in pairs[index])
        rows += (
            f'<tr><td>{kind}</td><td><button type="button" class="probe" data-a="{first}" '
            f'data-b="{second}">{first}<br>{second}</button></td>'
            f"<td>{people[index]:.0f} % <small>({graded[index].gold:g} of 5)</small></td>"
            f"<td>{own[0][index]:.0f} %</td><td>{own[1][index]:.0f} %</td><td>{nearer}</td></tr>"
        )
    summary = (
        f"Of {len(picks)} chosen pairs, A is nearer to people on {count['A']}, B on {count['B']}, "
        f"neither on {count['neither']}. Twelve pairs show what to look for; they decide nothing."
    )
    return (
        f"<h3>Pairs to try</h3><p>{summary} Below them, the pairs of {len(graded)} on which A and "
        "B disagree most. All numbers are places among the graded pairs.</p>"
        + html_table(("Kind", "Pair", "People", "A", "B", "Nearer"), rows)
    )
