"""Hyperparameters: the paper's values as defaults, each checked against its range."""

import math
from typing import Any, get_args

import pytest
from pydantic import ValidationError

from pipeline.objectives import OBJECTIVES

FIELDS = {name: recipe.hyperparameters.model_fields for name, recipe in OBJECTIVES.items()}
NUMBERS = [(n, key) for n, fields in FIELDS.items() for key in fields if fields[key].description]
CHOICES = [(n, key) for n, fields in FIELDS.items() for key in fields if (n, key) not in NUMBERS]

GATED: dict[str, Any] = {
    "margin": 0.3,
    "gate": "cross_view",
    "positive_gradient": "anchor_only",
}
TEMPERED = {**GATED, "temperature": 0.05}
PAPER: dict[str, dict[str, Any]] = {
    "info_nce": {"temperature": 0.05},
    "arccon": {"temperature": 0.05, "angular_margin": math.radians(10)},
    "mpt": {"margin": 0.23},
    "met": {"distance_margin": 0.45},
    "mhe": {"uniformity_coefficient": 10.0, "mhe_exponent": 2},
    "mhe_dissipation": {**GATED, "uniformity_coefficient": 10.0, "mhe_exponent": 2},
    "mhe_dissipation_weight": {**TEMPERED, "mhe_weight_pull": "alignment"},
    "mhe_modified": {**TEMPERED, "ratio": 1.75},
    "mhs": {"uniformity_coefficient": 1.0, "mhs_negatives": "own_view"},
    "mhs_dissipation": {**GATED, "uniformity_coefficient": 1.0, "mhs_negatives": "own_view"},
    "mhs_modified": {**GATED, "ratio": 1.75, "mhs_negatives": "own_view"},
    "barlow_twins": {"redundancy_coefficient": 30.0},
    "barlow_twins_batch_norm": {"redundancy_coefficient": 30.0},
    "barlow_twins_dissipation": {**GATED, "redundancy_coefficient": 30.0},
    "barlow_twins_dissipation_weight": TEMPERED,
    "barlow_twins_modified": {**TEMPERED, "ratio": 1.5},
    "vicreg": {"covariance_coefficient": 30.0},
    "vicreg_centred": {
        "covariance_coefficient": 30.0,
        "variance_coefficient": 1.0,
        "standard_deviation": 1.0,
    },
    "vicreg_dissipation": {**GATED, "covariance_coefficient": 30.0},
    "vicreg_dissipation_weight": TEMPERED,
    "vicreg_modified": {**TEMPERED, "ratio": 1.5},
    "paradigm": {**TEMPERED, "ratio": 1.0, "mean_over": "all"},
}


def test_every_objective_has_the_papers_values_as_defaults() -> None:
    found = {name: recipe().hyperparameters.model_dump() for name, recipe in OBJECTIVES.items()}
    assert found == PAPER


@pytest.mark.parametrize("bad", [-0.5, math.nan, math.inf, -math.inf])
def test_a_number_out_of_range_is_named_with_its_range(bad: float) -> None:
    for name, key in NUMBERS:
        where = rf"{name}\.{key}: {bad} is out of range; it must be (above|at least) 0\.0"
        with pytest.raises(ValueError, match=where):
            OBJECTIVES[name](**{key: bad})


@pytest.mark.parametrize("bad", ["0.05", None, True, [0.05]], ids=repr)
def test_what_is_no_number_is_refused(bad: object) -> None:
    for name, key in NUMBERS:
        with pytest.raises(ValueError, match=rf"{name}\.{key}: expected a number"):
            OBJECTIVES[name](**{key: bad})


def test_every_convention_can_be_chosen_and_no_other() -> None:
    for name, key in CHOICES:
        for choice in get_args(FIELDS[name][key].annotation):
            assert getattr(OBJECTIVES[name](**{key: choice}).hyperparameters, key) == choice
        with pytest.raises(ValueError, match=rf"{name}\.{key}: expected one of .* got 'sideways'"):
            OBJECTIVES[name](**{key: "sideways"})


def test_an_unknown_hyperparameter_is_refused() -> None:
    for recipe in OBJECTIVES.values():
        with pytest.raises(ValueError, match="tau"):
            recipe(tau=0.05)


def test_hyperparameters_are_frozen_and_decide_equality() -> None:
    objective = OBJECTIVES["vicreg_modified"](ratio=2.0)
    with pytest.raises(ValidationError, match="frozen"):
        objective.hyperparameters.ratio = 1.0  # type: ignore[attr-defined]
    assert objective == OBJECTIVES["vicreg_modified"](ratio=2.0)
    assert objective != OBJECTIVES["vicreg_modified"]()
    assert objective != OBJECTIVES["barlow_twins_modified"](ratio=2.0)
