"""Colours that can be seen on both themes, and texts that stay texts."""

from __future__ import annotations

import pytest

from app.charts.style import (
    COLOURS,
    DASHES,
    NEUTRAL,
    SYMBOLS,
    array,
    escaped,
    figure,
    label,
    mean,
    nothing,
    plain,
    shown,
    unknown,
)

LIGHT, DARK = "#ffffff", "#0b0f19"


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colour", [*COLOURS, NEUTRAL])
@pytest.mark.parametrize("background", [LIGHT, DARK])
def test_a_colour_stands_out_in_both_themes(colour: str, background: str) -> None:
    assert contrast(colour, background) >= 3


def test_the_encoders_differ_in_grey_and_in_form() -> None:
    assert contrast(*COLOURS) >= 1.5
    for forms in (DASHES, SYMBOLS):
        assert len(set(forms)) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("<b>a & b</b>", "&lt;b&gt;a &amp; b&lt;/b&gt;"),
        ('say "it\'s"', 'say "it\'s"'),
        ("&lt;", "&amp;lt;"),
        ("%{x} 100 %", "&#37;{x} 100 %"),
        ("$5", "&#36;5"),
        ("a\ud800b", "a?b"),
        ("日本 👍", "日本 👍"),
    ],
)
def test_a_text_is_escaped_as_plotly_reads_it(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_a_long_sentence_is_broken_and_cut() -> None:
    lines = shown("word " * 1000).split("<br>")
    assert all(len(line) <= 60 for line in lines)
    assert lines[-1].endswith("…")
    assert len(" ".join(lines)) == 300


def test_a_long_word_is_broken() -> None:
    assert [len(line) for line in shown("x" * 100).split("<br>")] == [54, 46]


def test_an_entity_is_not_broken_between_lines() -> None:
    lines = shown("&" * 100).split("<br>")
    assert all(line.replace("&amp;", "") == "" for line in lines)


def test_an_empty_sentence_is_said_to_be() -> None:
    assert shown(" \n ") == "(empty)"


def test_line_breaks_in_a_sentence_are_spaces() -> None:
    assert shown("one\ntwo\tthree") == "one two three"


def test_a_long_model_name_is_cut() -> None:
    assert label("m" * 50, 10) == "m" * 9 + "…"
    assert label("m" * 10, 10) == "m" * 10


def test_numbers_become_json_with_gaps() -> None:
    values = array([[1 / 3, None], [float("inf"), float("nan")]])  # type: ignore[list-item]
    assert plain(values) == [[0.333333, None], [None, None]]


def test_a_mean_leaves_gaps_out() -> None:
    assert mean(array([1.0, None, 2.0])) == "1.50"
    assert mean(array([None])) == "unknown"


def test_gaps_are_counted_by_name() -> None:
    values = {"a": array([1.0, None]), "b": array([1.0, 2.0]), "c": array([None, None])}
    assert unknown(values) == " Not known, shown as gaps: 1 of a, 2 of c."
    assert unknown({"b": array([1.0])}) == ""


def test_a_file_name_has_only_what_any_disk_takes() -> None:
    assert figure("Alt.", "a/b c:<d>", 100).layout.meta["name"] == "a-b-c-d-"


def test_an_empty_figure_says_why() -> None:
    made = nothing("There is nothing.", "name")
    assert made.layout.annotations[0].text == "There is nothing."
    assert made.layout.meta == {"alt": "There is nothing.", "name": "name"}
