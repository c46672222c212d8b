"""Hyperparameters: the paper's values as defaults, each checked against its range."""

import dataclasses
import math

import pytest

from pipeline.objectives import OBJECTIVES

NUMBERS = [
    (name, field)
    for name, objective in OBJECTIVES.items()
    for field in dataclasses.fields(objective)
    if "bounds" in field.metadata
]
CHOICES = [
    (name, field)
    for name, objective in OBJECTIVES.items()
    for field in dataclasses.fields(objective)
    if "choices" in field.metadata
]


def identify(value: object) -> str:
    return value if isinstance(value, str) else str(getattr(value, "name", value))


PAPER: dict[str, dict[str, object]] = {
    "info_nce": {"temperature": 0.05},
    "arccon": {"temperature": 0.05, "angular_margin": math.radians(10)},
    "mpt": {"margin": 0.23},
    "met": {"distance_margin": 0.45},
    "mhe": {"uniformity_coefficient": 10.0, "mhe_exponent": 2},
    "mhs": {"uniformity_coefficient": 1.0, "mhs_negatives": "own_view"},
    "barlow_twins": {"redundancy_coefficient": 30.0},
    "vicreg": {"covariance_coefficient": 30.0},
    "mhe_modified": {"temperature": 0.05, "margin": 0.3, "ratio": 1.75},
    "mhs_modified": {"margin": 0.3, "ratio": 1.75, "mhs_negatives": "own_view"},
    "barlow_twins_modified": {"temperature": 0.05, "margin": 0.3, "ratio": 1.5},
    "vicreg_modified": {"temperature": 0.05, "margin": 0.3, "ratio": 1.5},
    "paradigm": {"temperature": 0.05, "margin": 0.3, "ratio": 1.0, "mean_over": "all"},
}
CONVENTIONS: dict[str, object] = {"gate": "cross_view", "positive_gradient": "anchor_only"}


@pytest.mark.parametrize("name", PAPER)
def test_defaults_are_the_papers(name: str) -> None:
    fields = dataclasses.asdict(OBJECTIVES[name]())
    gated = CONVENTIONS if name.endswith("_modified") or name == "paradigm" else {}
    assert fields == PAPER[name] | gated


@pytest.mark.parametrize(("name", "field"), NUMBERS, ids=identify)
@pytest.mark.parametrize("bad", [-0.5, math.nan, math.inf, -math.inf])
def test_a_number_out_of_range_is_named_with_its_range(
    name: str, field: dataclasses.Field[float], bad: float
) -> None:
    where = rf"{OBJECTIVES[name].__name__}\.{field.name}: {bad} is out of range; it must be "
    with pytest.raises(ValueError, match=where + r"(above|at least) 0\.0"):
        OBJECTIVES[name](**{field.name: bad})


@pytest.mark.parametrize(("name", "field"), NUMBERS, ids=identify)
@pytest.mark.parametrize("bad", ["0.05", None, True, [0.05]])
def test_what_is_no_number_is_refused(
    name: str, field: dataclasses.Field[float], bad: object
) -> None:
    with pytest.raises(ValueError, match=rf"{field.name}: expected a number"):
        OBJECTIVES[name](**{field.name: bad})


@pytest.mark.parametrize(("name", "field"), CHOICES, ids=identify)
def test_every_convention_can_be_chosen_and_no_other(
    name: str, field: dataclasses.Field[str]
) -> None:
    for allowed in field.metadata["choices"]:
        assert getattr(OBJECTIVES[name](**{field.name: allowed}), field.name) == allowed
    with pytest.raises(ValueError, match=rf"{field.name}: 'sideways' is not one of "):
        OBJECTIVES[name](**{field.name: "sideways"})


@pytest.mark.parametrize("name", OBJECTIVES)
def test_fields_are_keyword_only_and_frozen(name: str) -> None:
    objective = OBJECTIVES[name]()
    with pytest.raises(TypeError):
        OBJECTIVES[name](0.05)
    field = dataclasses.fields(objective)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(objective, field, 1.0)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_unknown_field_is_refused(name: str) -> None:
    with pytest.raises(TypeError, match="tau"):
        OBJECTIVES[name](tau=0.05)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_field_is_explained(name: str) -> None:
    """In the docstring of the class or of the one it takes the field from."""
    explained = "\n".join(base.__doc__ or "" for base in OBJECTIVES[name].__mro__)
    for field in dataclasses.fields(OBJECTIVES[name]):
        assert f"{field.name}:" in explained or f"{field.name}, " in explained
