"""Cosines against grades, and ranks against ranks."""

from __future__ import annotations

import numpy as np

from app.charts.scores import agreement_chart, gold_chart
from app.charts.style import COLOURS, SYMBOLS

PAIRS = [("a", "b"), ("c", "d"), ("e", "f")]
MODELS = ("one-1", "two-1")


def test_cosines_are_drawn_against_grades() -> None:
    made = gold_chart("two-1", 1, np.array([0.0, 2.5, 5.0]), np.array([0.1, 0.2, 0.3]), PAIRS)
    (points,) = made.data
    assert list(points.x) == [0, 2.5, 5]
    assert list(points.y) == [0.1, 0.2, 0.3]
    assert [list(texts) for texts in points.customdata] == [list(pair) for pair in PAIRS]
    assert points.marker.color == COLOURS[1]
    assert points.marker.symbol == SYMBOLS[1]
    assert made.layout.meta["alt"] == (
        "Cosine by two-1 against the grade by people, 3 pairs: grades 0 to 5, cosines 0.10 to 0.30."
    )


def test_a_cosine_that_is_not_known_is_a_gap_and_named() -> None:
    made = gold_chart("one-1", 0, np.zeros(3), np.array([0.1, np.nan, 0.3]), PAIRS)
    assert list(made.data[0].y) == [0.1, None, 0.3]
    assert made.layout.meta["alt"].endswith("Not known, shown as gaps: 1 of the cosines.")


def test_a_pair_has_the_colour_of_the_encoder_that_puts_it_higher() -> None:
    """Ranks 1, 2, 3 and 1, 3, 2: the second pair is higher by the first encoder."""
    made = agreement_chart(MODELS, np.array([0.9, 0.5, 0.1]), np.array([0.9, 0.1, 0.5]), PAIRS)
    diagonal, first, second, same = made.data
    assert list(diagonal.x) == list(diagonal.y) == [1, 3]
    assert (list(first.x), list(first.y), first.name) == ([2], [3], "higher by one-1")
    assert (list(second.x), list(second.y), second.name) == ([3], [2], "higher by two-1")
    assert (list(same.x), list(same.y), same.name) == ([1], [1], "same rank")
    assert first.marker.color == COLOURS[0]
    assert second.marker.color == COLOURS[1]
    assert [list(texts) for texts in first.customdata] == [["c", "d"]]


def test_the_distance_of_the_ranks_is_told() -> None:
    made = agreement_chart(MODELS, np.array([3.0, 2.0, 1.0]), np.array([1.0, 2.0, 3.0]), PAIRS)
    assert made.layout.meta["alt"] == (
        "Ranks of 3 pairs by one-1 and two-1; they are 1.3 ranks apart on average, 2 at most."
    )


def test_ties_share_a_rank() -> None:
    made = agreement_chart(MODELS, np.ones(3), np.ones(3), PAIRS)
    assert list(made.data[1].x) == [2, 2, 2]


def test_only_what_both_encoders_know_is_ranked() -> None:
    made = agreement_chart(MODELS, np.array([0.9, np.nan, 0.1]), np.array([0.2, 0.3, 0.4]), PAIRS)
    drawn = [(x, y) for trace in made.data[1:] for x, y in zip(trace.x, trace.y, strict=True)]
    assert sorted(drawn) == [(1, 2), (2, 1)]
    assert "1 of one-1's cosines" in made.layout.meta["alt"]
