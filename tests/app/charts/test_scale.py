"""Scales are monotonic, symmetric, and told by their ticks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.charts.scale import logarithmic, ratio_colours, root, share_colours, shares


@pytest.mark.parametrize("transform", [root, logarithmic])
def test_a_scale_keeps_order_and_sign(transform: Any) -> None:
    places = transform(np.linspace(-1, 1, 21))
    assert np.all(np.diff(places) > 0)
    assert np.allclose(places, -places[::-1])


def test_the_root_of_a_quarter_is_a_half() -> None:
    assert root(np.array([0.25, -0.25])).tolist() == [0.5, -0.5]


def test_ratios_end_at_a_hundred() -> None:
    assert logarithmic(np.array([100.0, -1e9, 0.0])).tolist() == [1, -1, 0]


def test_shares_add_up_to_one_in_size() -> None:
    found = shares(np.random.default_rng(0).normal(size=(5, 5)))
    assert np.allclose(np.nansum(np.abs(found), axis=1), 1)


@pytest.mark.parametrize(
    "colours", [share_colours(signed=False), share_colours(signed=True), ratio_colours()]
)
def test_ticks_are_within_the_limits_and_as_many_as_their_texts(colours: dict[str, Any]) -> None:
    bar = colours["colorbar"]
    assert len(bar["tickvals"]) == len(bar["ticktext"])
    assert bar["tickvals"] == sorted(bar["tickvals"])
    assert (bar["tickvals"][0], bar["tickvals"][-1]) == (colours["zmin"], colours["zmax"])
