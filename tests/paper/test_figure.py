"""What an analysis leaves: numbers as they are, in a form that git shows well."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pipeline.paper.figure import Figure, as_json, write_figures
from pipeline.results.figures import panels

DATA: dict[str, Any] = {
    "grid": [[1.5, 2.0], [3.0, None]],
    "text": "a [list], {not}",
    "rows": [{"a": 1}],
    "none": [],
}


def figure(**changes: Any) -> Figure:
    picture, axes = panels()
    axes[0][0].plot([0, 1], [1, 0])
    return Figure("line", "A line", "It falls.", {"seed": 1}, DATA | changes, picture)


def test_json_is_read_back_as_it_was_with_a_list_of_numbers_a_line() -> None:
    text = as_json(DATA).decode()
    assert json.loads(text) == DATA
    assert "  [ 1.5, 2.0 ],\n" in text


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_what_is_no_number_is_refused(number: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"x": number})


def test_data_is_written_with_six_digits_and_null_for_what_is_undefined(tmp_path: Path) -> None:
    values = np.array([[1 / 3, math.nan], [2, -math.inf]])
    write_figures(tmp_path, [figure(values=values, count=np.arange(2))])
    data = json.loads((tmp_path / "line.json").read_bytes())["data"]
    assert (data["values"], data["count"]) == ([[0.333333, None], [2.0, None]], [0, 1])
