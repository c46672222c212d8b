"""A pair on each encoder's own distribution of cosines."""

from __future__ import annotations

import pytest

from app.charts.pair import PairSide, pair_chart
from app.charts.style import COLOURS

DENSITY = ([0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 1.0, 4.0, 1.0, 0.0])
FIRST = PairSide("one-1", 0.6, 84.2, DENSITY)
SECOND = PairSide("two-1", 0.3, None, None)


def test_both_are_described_for_those_who_cannot_see() -> None:
    alt = pair_chart([FIRST, SECOND]).layout.meta["alt"]
    assert "one-1: cosine 0.60, higher than 84 % of graded pairs." in alt
    assert "two-1: cosine 0.30, not measured on graded pairs." in alt


def test_each_panel_says_its_encoder_and_its_place() -> None:
    texts = [note.text for note in pair_chart([FIRST, SECOND]).layout.annotations]
    assert texts == [
        "<b>one-1</b><br>0.60, higher than 84 % of graded pairs",
        "<b>two-1</b><br>0.30, not measured on graded pairs",
    ]


def test_the_area_is_divided_at_the_pair() -> None:
    """At 0.6 the line from (0.5, 4) to (0.75, 1) has 2.8 of 4 in height."""
    below, above, line = pair_chart([FIRST]).data
    assert list(below.x) == [0, 0.25, 0.5, 0.6]
    assert list(above.x) == [0.6, 0.75, 1]
    assert below.y[-1] == above.y[0] == pytest.approx(0.7)
    assert max(below.y) == 1
    assert list(line.x) == [0.6, 0.6]


@pytest.mark.parametrize("cosine", [-0.5, 1.5])
def test_a_pair_beside_the_density_has_a_whole_area_and_is_in_the_picture(cosine: float) -> None:
    made = pair_chart([PairSide("one-1", cosine, 0.0, DENSITY)])
    assert {*made.data[0].x, *made.data[1].x} >= set(DENSITY[0])
    low, high = made.layout.xaxis.range
    assert low < cosine < high


def test_tails_where_no_cosine_can_be_are_left_out() -> None:
    made = pair_chart([PairSide("one-1", 0.9, 50.0, ([0.5, 1.0, 1.5], [1.0, 2.0, 1.0]))])
    assert max(made.data[1].x) == 1
    assert made.layout.xaxis.range[1] < 1.1


def test_panels_share_the_axis_of_cosines_and_have_their_encoders_colours() -> None:
    made = pair_chart([FIRST, PairSide("two-1", 0.3, 10.0, DENSITY)])
    assert {trace.xaxis for trace in made.data} == {None}
    assert [trace.yaxis for trace in made.data] == ["y"] * 3 + ["y2"] * 3
    assert [trace.line.color for trace in made.data] == [COLOURS[0]] * 3 + [COLOURS[1]] * 3
    assert made.layout.xaxis.anchor == "y2"
    assert made.layout.yaxis.domain[0] > made.layout.yaxis2.domain[1]


def test_without_a_density_only_the_line_is_drawn() -> None:
    assert len(pair_chart([SECOND]).data) == 1


def test_a_cosine_that_is_not_known_is_said_and_not_drawn() -> None:
    made = pair_chart([PairSide("one-1", float("nan"), None, None)])
    assert not made.data
    assert "cosine not known" in made.layout.meta["alt"]
