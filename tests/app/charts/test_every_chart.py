"""What must hold of every chart, whatever it is given."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from app.charts.matrix import difference_map, similarity_map
from app.charts.pair import PairSide, pair_chart
from app.charts.scores import agreement_chart, gold_chart
from app.charts.training import MEASURES, curve_chart

MODELS = ("vicreg-1", "vicreg_modified-1")
NASTY = "<b>b</b> <script>x()</script> <a href='u'>a</a> \"q\" & %{x} %{meta.alt} $y$ \ud800"
Fill = Callable[[int], Any]  # so many numbers
Texts = list[str]


def _square(fill: Fill, count: int) -> Any:
    return np.array(fill(count * count), float).reshape(count, count)


def _vector(fill: Fill, count: int) -> Any:
    return np.array(fill(count), float)


def _pairs(texts: Texts) -> list[tuple[str, str]]:
    return [(text, f"{text} again") for text in texts]


def _pair(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
    values = _vector(fill, len(texts))
    return pair_chart([PairSide(models[0], one, one, (values, values)) for one in values[:2]])


def _gold(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
    values = _vector(fill, len(texts))
    return gold_chart(models[1], 1, values, values, _pairs(texts))


def _agreement(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
    values = _vector(fill, len(texts))
    return agreement_chart(models, values, values[::-1], _pairs(texts))


def _similarity(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
    return similarity_map(_square(fill, len(texts)), texts, 0.0, 1.0, models[0])


def _difference(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
    return difference_map(_square(fill, len(texts)), texts, "difference")


def _curve(key: str) -> Callable[[Fill, Texts, tuple[str, str]], Any]:
    def make(fill: Fill, texts: Texts, models: tuple[str, str]) -> Any:
        rows = [{"step": 10.0 * place, key: one} for place, one in enumerate(fill(len(texts)))]
        return curve_chart(models, [rows, rows], key=key, axis=MEASURES[key][0])

    return make


CHARTS = {
    "pair": _pair,
    "gold": _gold,
    "agreement": _agreement,
    "similarity": _similarity,
    "difference": _difference,
    "curve-dev_spearman": _curve("dev_spearman"),
    "curve-ratio": _curve("ratio"),
}
FILLS: dict[str, Fill] = {
    "usual": lambda count: np.random.default_rng(0).uniform(-1, 1, count).tolist(),
    "equal": lambda count: [0.5] * count,
    "zero": lambda count: [0.0] * count,
    "huge": lambda count: [1e300 * (-1) ** place for place in range(count)],
    "tiny": lambda count: [1e-300] * count,
    "gaps": lambda count: [None if place % 2 else 0.5 for place in range(count)],
    "unknown": lambda count: [None] * count,
    "infinite": lambda count: [
        [0.5, float("inf"), float("nan")][place % 3] for place in range(count)
    ],
}
each_chart = pytest.mark.parametrize("make", CHARTS.values(), ids=CHARTS)


def sentences(count: int) -> Texts:
    return [f"This is sentence {place}." for place in range(count)]


def strings(node: Any) -> Iterator[str]:
    """All texts of a figure, its description for screen readers apart."""
    if isinstance(node, str):
        yield node
    elif isinstance(node, dict):
        for key, value in node.items():
            if key != "meta":
                yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


@each_chart
@pytest.mark.parametrize("count", [0, 1, 20])
@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
def test_it_is_drawn_whatever_the_numbers_are(make: Any, count: int, fill: Fill) -> None:
    made = make(fill, sentences(count), MODELS)
    content = json.loads(made.to_json(), parse_constant=pytest.fail)  # no NaN, no Infinity
    assert not re.search(r"\b(nan|inf)\b", json.dumps(content))
    meta = content["layout"]["meta"]
    assert re.fullmatch(r"[A-Z].+\.", meta["alt"])
    assert re.fullmatch(r"[\w.-]+", meta["name"])
    # A figure without marks says why.
    assert content["data"] or content["layout"]["annotations"]


@each_chart
@pytest.mark.parametrize("count", [0, 12])
def test_its_colours_and_its_width_are_left_to_the_page(make: Any, count: int) -> None:
    layout = make(FILLS["usual"], sentences(count), MODELS).to_plotly_json()["layout"]
    assert layout["paper_bgcolor"] == layout["plot_bgcolor"] == "rgba(0,0,0,0)"
    assert layout["font"]["family"] == "system-ui, sans-serif"
    assert layout["font"]["size"] == 13
    assert layout["autosize"] is True
    assert layout["height"] <= 480
    assert "width" not in layout
    assert "title" not in layout
    assert not [one for one in layout.get("annotations", ()) if "font" in one]
    axes = [value for key, value in layout.items() if re.match("[xy]axis", key)]
    assert all(axis["automargin"] for axis in axes if "automargin" in axis)


@each_chart
def test_markup_and_templates_in_texts_are_texts(make: Any) -> None:
    texts, models = [f"{NASTY} {place}" for place in range(3)], (NASTY, f"{NASTY} second")
    content = json.loads(make(FILLS["usual"], texts, models).to_json())
    for text in strings(content):
        assert set(re.findall(r"<[^>]*>?", text)) <= {
            "<br>",
            "<b>",
            "</b>",
            "<extra></extra>",
            "<extra>",
            "</extra>",
        }
        assert "$" not in text
        assert "\ud800" not in text
        assert "&quot;" not in text, "Plotly does not know this name"
        # The only templates are ours.
        assert "%{meta" not in text
        if "<extra>" not in text:
            assert "%{" not in text


@each_chart
def test_long_names_and_texts_are_cut(make: Any) -> None:
    content = json.loads(
        make(FILLS["usual"], ["word " * 2000] * 3, ("m" * 500, "n" * 500)).to_json()
    )
    for text in strings(content):
        assert max(len(line) for line in text.split("<br>")) <= 140
        assert len(text) <= 420
    assert len(content["layout"]["meta"]["name"]) <= 80


@each_chart
def test_what_it_is_given_stays_as_it_is(make: Any) -> None:
    given: list[Any] = []

    def fill(count: int) -> Any:
        given.append(np.random.default_rng(0).uniform(-1, 1, count))
        return given[-1]

    make(fill, sentences(4), MODELS)
    for one in given:
        assert np.array_equal(one, np.random.default_rng(0).uniform(-1, 1, len(one)))
