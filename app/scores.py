"""The score card: what both encoders are and how they agree with people."""

import html
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from app import sample
from app.client import Card
from app.shared import in_words
from app.statistics import correlations
from app.story import FILE

_MINI = "backbones/bert-mini-wiki"  # of which the story knows the untrained score


def render_cards(
    names: Sequence[str],
    cards: Mapping[str, Card],
    cosines: Sequence[Any] | None,
    results: Mapping[str, Any] | None,
) -> str:
    """Both encoders' cards.

    Args:
        names: their ids.
        cards: the service's cards.
        cosines: of each, of the sample's graded pairs; None where they are not here.
        results: the service's comparison table, if there is one.
    """
    parts = ""
    for side, name in enumerate(names):
        card = cards.get(name, {"id": name})
        lines = [_trained(card), _benchmark(card, results)]
        if cosines is not None:
            lines.append(_captions(cosines[side]))
        body = "".join(f"<p>{line}</p>" for line in lines if line)
        parts += (
            f'<section class="card side-{side}"><h3><b>{"AB"[side]}</b> '
            f"{html.escape(in_words(card))}</h3>{body}</section>"
        )
    return f'<div class="scores">{parts}</div>'


def _trained(card: Card) -> str:
    backbone = (card.get("backbone") or {}).get("source")
    if not backbone:
        return "Not trained by Triad."
    data = card.get("training_data") or {}
    corpus = str(data.get("source", "")).rsplit("/", 1)[-1].split(".")[0]
    return (
        f"<code>{html.escape(str(backbone).rsplit('/', 1)[-1])}</code> trained on sentences of "
        f"<code>{html.escape(corpus)}</code>, without labels."
    )


def _benchmark(card: Card, results: Mapping[str, Any] | None) -> str:
    average = card.get("sts_average")
    if average is None:
        return "Not measured on a benchmark."
    label = html.escape(str(card.get("sts_average_label")))
    return f"STS, {label}: <b>{average:.1f}</b>{_untrained(card, results)}"


def _untrained(card: Card, results: Mapping[str, Any] | None) -> str:
    """What the backbone alone has on the same data, where that is known."""
    untrained = ((results or {}).get("objectives", {}).get("untrained") or {}).get("scores", {})
    score = None
    if results and results.get("data") == card.get("sts_data"):
        score = next((spread["mean"] for spread in reversed(untrained.values())), None)
    elif card.get("sts_data") == "senteval" and (card.get("backbone") or {}).get("source") == _MINI:
        score = json.loads(FILE.read_text(encoding="utf-8"))["scores"]["last"]["untrained"]
    return "" if score is None else f" (untrained {score:.1f})"


def _captions(cosines: Any) -> str:
    gold = np.array([pair.gold for pair in sample.graded_pairs()])
    spearman, _ = correlations(np.asarray(cosines), gold)
    return (
        f"{len(gold)} open caption pairs: {100 * spearman.value:.1f} "
        f"<small>(95 % interval {100 * spearman.low:.1f} to {100 * spearman.high:.1f})</small>"
    )
