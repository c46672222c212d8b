"""Components of a gradient at each anchor, and a step against it."""

from __future__ import annotations

import numpy as np
import pytest

from app.charts.gradient import Step, anchor_chart, step_chart, weight_map
from app.charts.style import COLOURS, NEUTRAL, SEQUENTIAL

MODELS = ("one-1", "two-1")
SENTENCES = ["a", "b", "c"]


def test_dissipations_stand_side_by_side() -> None:
    made = anchor_chart(
        "dissipation", MODELS, np.array([1.0, 0.0, 1.0]), np.array([0.5, 0.4, 0.3]), SENTENCES
    )
    assert made.layout.barmode == "group"
    assert [list(bars.y) for bars in made.data] == [[1, 0, 1], [0.5, 0.4, 0.3]]
    assert [bars.marker.color for bars in made.data] == list(COLOURS)
    assert {bars.yaxis for bars in made.data} == {"y"}
    assert made.layout.meta["alt"] == (
        "Dissipation at 3 anchors, mean of one-1: 0.667, two-1: 0.4."
    )


def test_dissipations_of_different_orders_have_an_axis_each() -> None:
    made = anchor_chart("dissipation", MODELS, np.full(3, 0.001), np.ones(3), SENTENCES)
    assert [bars.yaxis for bars in made.data] == ["y", "y2"]
    assert made.layout.yaxis2.matches is None


def test_many_anchors_have_a_panel_for_each_encoder_on_one_scale() -> None:
    made = anchor_chart("dissipation", MODELS, np.ones(20), np.ones(20), ["x"] * 20)
    assert [bars.yaxis for bars in made.data] == ["y", "y2"]
    assert made.layout.yaxis2.matches == "y"


def test_anchors_that_are_all_left_alone_are_compared_on_the_others_axis() -> None:
    made = anchor_chart("dissipation", MODELS, np.zeros(3), np.ones(3), SENTENCES)
    assert {bars.yaxis for bars in made.data} == {"y"}


def test_weights_are_shares_of_their_row() -> None:
    """Row 1: 3 / (3 + 1), the largest ones 75, 50 and 100 %; colours go with roots."""
    weight = np.array([[9.0, 3.0, 1.0], [1.0, 9.0, 1.0], [0.0, 2.0, 9.0]])
    made = weight_map(weight, SENTENCES, "one-1")
    (drawn,) = made.data
    assert list(drawn.customdata[0][1]) == ["a", "b", "75.0%"]
    assert drawn.z[0][1] == pytest.approx(0.75**0.5, abs=1e-5)
    assert [drawn.z[place][place] for place in range(3)] == [None] * 3
    assert (drawn.zmin, drawn.zmax) == (0, 1)
    assert drawn.colorbar.ticktext[-1] == "100%"
    assert made.layout.meta["alt"].endswith("largest share of an anchor is 75% on average.")


def test_weights_below_zero_have_a_scale_of_two_directions() -> None:
    weight = np.array([[0.0, -3.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    (drawn,) = weight_map(weight, SENTENCES, "one-1").data
    assert drawn.customdata[0][1][2] == "-75.0%"
    assert drawn.zmin == -1
    assert drawn.colorscale[0][1] != SEQUENTIAL
    assert drawn.colorbar.ticktext[0] == "-100%"


def test_an_anchor_without_any_weight_is_a_gap_and_named() -> None:
    weight = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    made = weight_map(weight, SENTENCES, "one-1")
    assert list(made.data[0].z[0]) == [None, None, None]
    assert "shown as gaps: 2 of the pairs of anchor and negative" in made.layout.meta["alt"]


def test_shares_of_huge_weights_are_shares() -> None:
    (drawn,) = weight_map(np.full((3, 3), 1e308), SENTENCES, "one-1").data
    assert drawn.customdata[0][1][2] == "50.0%"


def test_one_huge_ratio_does_not_hide_the_others() -> None:
    """Bars go with the logarithm, from -100 to 100; an anchor without a ratio is a gap."""
    first, second = np.array([1.5, 1e12, -1.5]), np.array([0.5, np.nan, 1.0])
    made = anchor_chart("ratio", MODELS, first, second, SENTENCES)
    one, other = made.data
    assert one.y[1] == 1
    assert one.y[0] == -one.y[2]
    assert one.y[0] - other.y[0] > 0.1
    assert other.y[1] is None
    assert one.customdata[1][1] == "1e+12"
    assert {bars.yaxis for bars in made.data} == {"y"}
    assert made.layout.yaxis.ticktext[-1] == "≥ 100"
    assert made.layout.meta["alt"] == (
        "Ratio at 3 anchors, median of one-1: 1.5, two-1: 0.75. Not known, shown as gaps: "
        "1 of two-1."
    )


def test_a_step_shows_both_cosines_before_and_after() -> None:
    step = Step(
        (np.array([0.5, 0.6, 0.7]), np.array([0.8, 0.8, 0.8])),
        (np.array([0.4, 0.4, 0.4]), np.array([0.1, np.nan, 0.3])),
    )
    made = step_chart("one-1", 0, step, SENTENCES)
    lines, before, after = made.data[:3]
    assert list(lines.x) == [0.5, 0.8, None, 0.6, 0.8, None, 0.7, 0.8, None]
    assert (list(before.x), before.marker.symbol) == ([0.5, 0.6, 0.7], "circle-open")
    assert (list(after.x), after.marker.symbol) == ([0.8, 0.8, 0.8], "circle")
    assert list(made.data[5].x) == [0.1, None, 0.3]
    assert [trace.marker.color for trace in made.data[1::3]] == [COLOURS[0], NEUTRAL]
    shown = [trace.name for trace in made.data if trace.showlegend]
    assert shown == ["positive", "hardest negative"]
    assert made.layout.meta["alt"] == (
        "A step against the gradient by one-1: mean cosine to the positive from 0.600 to 0.800, "
        "to the hardest negative from 0.400 to 0.200. Not known, shown as gaps: 1 of cosines to "
        "the hardest negative."
    )
