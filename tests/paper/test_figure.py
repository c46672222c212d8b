"""What an analysis leaves: equal bytes for equal numbers, in a form that git shows well."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import pytest

from pipeline.paper.figure import Exhibit, as_json, write_exhibits
from pipeline.results.figures import panels
from tests.tiny import contents

if TYPE_CHECKING:
    from pathlib import Path

DATA = {
    "grid": [[1.5, 2.0], [3.0, None]],
    "text": "a [list], {not}",
    "rows": [{"a": 1}],
    "none": [],
}


def exhibit() -> Exhibit:
    figure, axes = panels()
    axes[0][0].plot([0, 1], [1, 0])
    return Exhibit("line", "A line", "It falls.", {"seed": 1}, DATA, figure)


def test_json_is_read_back_as_it_was_with_a_list_of_numbers_a_line() -> None:
    text = as_json(DATA).decode()
    assert json.loads(text) == DATA
    assert "  [ 1.5, 2.0 ],\n" in text


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"x": number})


def test_equal_exhibits_give_equal_files(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_exhibits(tmp_path / name, [exhibit()])
    assert contents(tmp_path / "one") == contents(tmp_path / "other")
    assert set(contents(tmp_path / "one")) == {"line.json", "line.svg", "line.png"}
