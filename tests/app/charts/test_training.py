"""Curves of training."""

from __future__ import annotations

import pytest

from app.charts.style import COLOURS, DASHES
from app.charts.training import MEASURES, curve_chart

MODELS = ("one-1", "two-1")
ROWS: list[dict[str, float | None]] = [
    {"step": 50.0, "dev_spearman": 60.0, "ratio": 1.0},
    {"step": 100.0, "dev_spearman": 62.5, "ratio": None},
    {"step": 150.0, "dev_spearman": 61.0, "ratio": 2.0},
]


@pytest.mark.parametrize("key", MEASURES)
def test_every_measure_has_a_title_and_a_sentence(key: str) -> None:
    title, sentence = MEASURES[key]
    assert title
    assert sentence.endswith(".")


def test_both_encoders_are_drawn_in_their_own_way() -> None:
    made = curve_chart(MODELS, [ROWS, ROWS], key="ratio", axis="Ratio")
    assert [trace.name for trace in made.data] == list(MODELS)
    assert [trace.line.color for trace in made.data] == list(COLOURS)
    assert [trace.line.dash for trace in made.data] == list(DASHES)
    assert made.layout.xaxis.title.text == "optimizer step"
    assert made.layout.yaxis.title.text == "Ratio"


def test_a_step_without_the_measure_is_a_gap_and_named() -> None:
    made = curve_chart(MODELS, [ROWS, ROWS[:1]], key="ratio", axis="Ratio")
    assert list(made.data[0].y) == [1, None, 2]
    assert made.layout.meta["alt"] == (
        "Ratio over the training steps. one-1: 1 at step 50 to 2 at step 150; two-1: 1 at step 50 "
        "to 1 at step 50. Not known, shown as gaps: 1 of one-1."
    )


def test_the_best_step_on_dev_is_marked() -> None:
    made = curve_chart(MODELS, [ROWS, []], key="dev_spearman", axis="Spearman x 100, dev")
    best = made.data[1]
    assert (list(best.x), list(best.y), best.name) == ([100], [62.5], "best: 62.5")
    assert "best 62.5 at step 100" in made.layout.meta["alt"]


def test_other_measures_have_no_best_step() -> None:
    assert len(curve_chart(MODELS, [ROWS, []], key="ratio", axis="Ratio").data) == 1


def test_an_encoder_that_was_trained_elsewhere_has_no_curve() -> None:
    made = curve_chart(MODELS, [ROWS, []], key="ratio", axis="Ratio")
    assert "two-1: no curve" in made.layout.meta["alt"]


def test_rows_without_a_step_are_left_out() -> None:
    rows: list[dict[str, float | None]] = [
        {"ratio": 1.0},
        {"step": None, "ratio": 2.0},
        {"step": 5.0, "ratio": 3.0},
    ]
    made = curve_chart(MODELS, [rows, []], key="ratio", axis="Ratio")
    assert list(made.data[0].x) == [5]


def test_a_long_curve_has_no_marks() -> None:
    rows = [{"step": float(step), "ratio": 1.0} for step in range(100)]
    assert curve_chart(MODELS, [rows, []], key="ratio", axis="Ratio").data[0].mode == "lines"
