"""static/objectives.js: the same objectives, settings and numbers as pipeline.objectives."""

from __future__ import annotations

from functools import cache
from typing import Any

import annotated_types
import numpy as np
import pytest
import torch

from pipeline.objectives import OBJECTIVES
from serve.components import take_apart
from tests.app.javascript import call

CLOSE = 1e-5
SIZE = 0.1
TAKE_APART = """
    return argument.map(({ name, settings, anchor, positive, size }) =>
        module.takeApart(name, settings, module.makeBatch(anchor, positive), size));
"""
# What is not the default of any objective: the sliders', and the conventions of the authors' code.
OTHERS = {
    "margin": 0.05,
    "temperature": 0.4,
    "ratio": 0.3,
    "gate": "within_view",
    "mhe_exponent": 1,
    "mhe_weight_pull": "balanced",
    "mhs_negatives": "other_view",
    "mean_over": "open",
    "uniformity_coefficient": 3.0,
    "covariance_coefficient": 2.0,
    "redundancy_coefficient": 2.0,
    "angular_margin": 0.5,
    "distance_margin": 0.2,
}
# These act on the loss that is trained, not on the pieces.
LOSS_ONLY = ("positive_gradient", "variance_coefficient", "standard_deviation")


def random_batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Of any length, with neighbours, so that some anchors are open."""
    generator = torch.Generator().manual_seed(3)
    middle = torch.randn(9, 6, generator=generator, dtype=torch.float64)
    middle[1] = middle[0] + 0.3 * middle[1]
    noise = torch.randn(2, 9, 6, generator=generator, dtype=torch.float64)
    return tuple(5 * (middle + 0.25 * noise))


def singular_batch() -> tuple[torch.Tensor, torch.Tensor]:
    """Identical views, an antipode and a zero vector."""
    anchor, _ = random_batch()
    anchor[3], anchor[4] = -anchor[0], 0.0
    return anchor, anchor.clone()


BATCHES = {"random": random_batch, "singular": singular_batch}


def settings(name: str, kind: str) -> dict[str, Any]:
    fields = OBJECTIVES[name].hyperparameters.model_fields
    return {key: value for key, value in OTHERS.items() if key in fields} if kind != "own" else {}


@cache
def in_the_browser() -> dict[tuple[str, str, str], Any]:
    """All cases in one run."""
    cases = [
        (name, kind, batch)
        for name in OBJECTIVES
        for kind in ("own", "others")
        for batch in BATCHES
    ]
    views = {name: [view.tolist() for view in make()] for name, make in BATCHES.items()}
    asked = [
        {
            "name": name,
            "settings": settings(name, kind),
            "anchor": views[batch][0],
            "positive": views[batch][1],
            "size": SIZE,
        }
        for name, kind, batch in cases
    ]
    return dict(zip(cases, call("objectives.js", TAKE_APART, asked), strict=True))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("kind", ["own", "others"])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_pieces_and_step_are_those_of_the_pipeline(name: str, kind: str, batch: str) -> None:
    found = in_the_browser()[name, kind, batch]
    expected = take_apart(OBJECTIVES[name](**settings(name, kind)), *BATCHES[batch](), SIZE)
    numbers = {key: expected[key] for key in ("dissipation", "weight", "pull", "ratio", "cosines")}
    steps = ("positive", "hardest_negative")
    for key, value in numbers.items():
        assert_close(found[key], value, key)
    for key in steps:
        for moment in ("before", "after"):
            assert_close(found["step"][key][moment], expected["step"][key][moment], key)
    indices = [one["step"]["hardest_negative"]["index"] for one in (found, expected)]
    assert list(indices[0]) == list(indices[1])


def assert_close(found: Any, expected: Any, key: str) -> None:
    """JSON has null for what is not finite."""
    wanted = np.array(expected, float)
    wanted[~np.isfinite(wanted)] = np.nan
    largest = max(1.0, float(np.nanmax(np.abs(wanted), initial=0.0)))
    np.testing.assert_allclose(
        np.array(found, float), wanted, rtol=0, atol=CLOSE * largest, err_msg=key
    )


def test_the_tables_have_the_same_objectives_and_settings() -> None:
    body = "return Object.entries(module.OBJECTIVES).map(([name, one]) => [name, one.settings]);"
    expected = {
        name: {
            key: field.default
            for key, field in one.hyperparameters.model_fields.items()
            if key not in LOSS_ONLY
        }
        for name, one in OBJECTIVES.items()
    }
    assert dict(call("objectives.js", body, None)) == expected


def test_a_slider_may_say_what_the_pipeline_accepts() -> None:
    body = """return Object.entries(module.RANGES).map(([name, [least, most, closed]]) =>
        [name, least, most === Infinity ? null : most, closed]);"""
    for name, least, most, closed in call("objectives.js", body, None):
        fields = OBJECTIVES["vicreg_modified"].hyperparameters.model_fields
        limits = fields[name].metadata
        lower = annotated_types.Ge(least) if closed else annotated_types.Gt(least)
        assert lower in limits
        uppers = [one.le for one in limits if isinstance(one, annotated_types.Le)]
        assert uppers == ([] if most is None else [most])
