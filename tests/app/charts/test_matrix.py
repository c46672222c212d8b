"""Maps of all sentences with all, and what their hover texts say."""

from __future__ import annotations

import numpy as np
import pytest

from app.charts.matrix import difference_map, similarity_map
from app.charts.style import BETWEEN, COLOURS

SENTENCES = ["one", "two <b>", "three"]
COSINES = np.array([[1.0, 0.2, 0.4], [0.2, 1.0, 0.6], [0.4, 0.6, 1.0]])


def test_cosines_are_drawn_between_the_given_limits() -> None:
    (drawn,) = similarity_map(COSINES, SENTENCES, -0.2, 1.0, "one-1").data
    assert [list(row) for row in drawn.z] == COSINES.tolist()
    assert (drawn.zmin, drawn.zmax) == (-0.2, 1.0)


def test_equal_limits_do_not_leave_the_scale_to_plotly() -> None:
    (drawn,) = similarity_map(np.ones((3, 3)), SENTENCES, 1.0, 1.0, "one-1").data
    assert drawn.zmin < drawn.zmax == 1


def test_a_cell_says_both_sentences_and_the_number() -> None:
    (drawn,) = similarity_map(COSINES, SENTENCES, 0.0, 1.0, "one-1").data
    assert list(drawn.customdata[1][2]) == ["two &lt;b&gt;", "three", "0.600"]


def test_the_mean_is_of_different_sentences() -> None:
    """(0.2 + 0.4 + 0.6) / 3 = 0.4."""
    alt = similarity_map(COSINES, SENTENCES, 0.0, 1.0, "one-1").layout.meta["alt"]
    assert alt == (
        "Cosines of 3 sentences by one-1, from 0.20 to 1.00; two different sentences have 0.40 on "
        "average."
    )


def test_cells_are_square_and_the_first_sentence_is_on_top() -> None:
    layout = similarity_map(COSINES, SENTENCES, 0.0, 1.0, "one-1").layout
    assert layout.yaxis.scaleanchor == "x"
    assert layout.yaxis.range[0] > layout.yaxis.range[1]
    assert list(layout.xaxis.tickvals) == [1, 2, 3]


@pytest.mark.parametrize(("count", "ticks"), [(1, 1), (8, 8), (9, 5), (40, 8)])
def test_there_are_not_more_numbers_than_have_room(count: int, ticks: int) -> None:
    made = similarity_map(np.eye(count), ["x"] * count, 0.0, 1.0, "one-1")
    assert len(made.layout.xaxis.tickvals) == ticks


def test_a_difference_goes_from_one_encoders_colour_to_the_others() -> None:
    made = difference_map(np.array([[0.0, -0.3], [0.1, 0.0]]), SENTENCES[:2], "difference")
    (drawn,) = made.data
    assert (drawn.zmin, drawn.zmax) == (-0.3, 0.3)
    assert [colour for _, colour in drawn.colorscale] == [colour for _, colour in BETWEEN]
    assert (BETWEEN[1][1], BETWEEN[3][1]) == COLOURS
    assert list(drawn.colorbar.ticktext) == ["-0.3", "0", "+0.3"]
    assert drawn.customdata[1][0][2] == "+0.100"
    assert "largest, for sentences 1 and 2: -0.30." in made.layout.meta["alt"]


def test_small_differences_stay_pale() -> None:
    (drawn,) = difference_map(np.full((3, 3), 1e-9), SENTENCES, "difference").data
    assert drawn.zmax == 0.05
