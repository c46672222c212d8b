"""Charts: whatever they are given, they are well-formed, say what they show, and hold no markup."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app import svg
from tests.app.properties import PROPERTY

NASTY = "</script><img src=x onerror=alert(1)> & \"q\" 'a'"


def parsed(text: str) -> ET.Element:
    """What is drawn, without the data beside it, which are JSON and no XML."""
    drawn = re.sub(r"<script.*?</script>", "", text, flags=re.DOTALL)
    return ET.fromstring(f"<div>{drawn}</div>")


@PROPERTY
@given(st.lists(st.floats(0, 100), min_size=2, max_size=2))
def test_both_places_stand_on_one_scale(percents: list[float]) -> None:
    root = parsed(svg.places(percents, NASTY))
    across = [float(circle.attrib["cx"]) for circle in root.iter("circle")]
    assert across == pytest.approx([20 + 6 * percent for percent in percents], abs=0.06)
    assert root[0].attrib["aria-label"] == NASTY


@pytest.mark.parametrize("count", [2, 12, 13, 40])
def test_maps_have_a_cell_for_each_pair_and_names_for_few(count: int) -> None:
    values = np.arange(count * count, dtype=float).reshape(count, count) % 100
    sentences = [f"{NASTY} {place}" for place in range(count)]
    text = svg.maps([values, values, values - values], ["a", "b"], sentences, 20)
    root = parsed(text)
    cells = [cell.attrib["data-cell"] for cell in root.iter("rect")]
    assert len(cells) == 3 * count * count
    assert len(set(cells)) == count * count
    named = [one for one in root.iter("text") if one.text and one.text.startswith("</script>")]
    assert len(named) == (3 * count if count <= 12 else 0)
    assert text.count("<script") == 1
    assert "<img" not in text


def test_both_maps_have_one_scale_and_no_difference_is_the_middle() -> None:
    same = np.array([[100.0, 30.0], [30.0, 100.0]])
    root = parsed(svg.maps([same, same, same - same], ["a", "b"], ["x", "y"], 20))
    fills = [cell.attrib["fill"] for cell in root.iter("rect")]
    assert fills[:4] == fills[4:8]
    assert len(set(fills[8:])) == 1


def test_a_curve_leaves_out_what_was_not_recorded() -> None:
    rows: list[dict[str, float | None]] = [
        {"step": 0.0, "ratio": None},
        {"step": 10.0, "ratio": 1.5},
        {"step": 20.0, "ratio": -60.0},
    ]
    root = parsed(svg.curves([rows, []], "ratio", symmetric=True))
    paths = [path.attrib["d"] for path in root.iter("path")]
    assert len(paths) == 1
    assert paths[0].count("L") == 1
    assert root[0].attrib["aria-label"] == "ratio over the steps: A from 1.5 to -60."


def test_without_any_point_a_sentence_says_so() -> None:
    assert "Not recorded" in svg.curves([[], []], "ratio")


@PROPERTY
@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0, 100)), min_size=1, max_size=9))
def test_every_pair_is_a_point(points: list[tuple[float, float]]) -> None:
    x, y = np.array(points).T
    root = parsed(svg.scatter(x, y, 0, ("grade", "%"), (float(x.min()), float(x.max())), NASTY))
    assert len(list(root.iter("circle"))) == len(points)
