"""Lemma 1's bounds are exact on the tangent plane, and about right on the sphere."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pipeline.paper.lemma import (
    check,
    nearer_on_plane,
    nearer_on_sphere,
    ratio_bounds,
    vector,
)
from pipeline.paper.simulation.lemma_figure import least_serving

TOLERANCE = 1e-9  # float64, relative to the bound: closer ratios may fall on either side
STEPS = (0.1, 0.5, 1.0, 2.0)

positives = st.floats(0.05, math.pi / 2)
negatives = st.floats(0.0, math.pi)
dihedrals = st.floats(0.0, math.pi)
steps = st.floats(0.05, 3.0)
ratios = st.floats(-5.0, 45.0)


@given(positives, negatives, dihedrals, steps, ratios)
def test_an_anchor_gets_nearer_exactly_between_the_bounds(
    positive: float, negative: float, dihedral: float, step: float, ratio: float
) -> None:
    lower, upper = ratio_bounds(positive, negative, dihedral, step)
    for bound in (lower, upper):
        assume(np.isnan(bound) or abs(ratio - bound) > TOLERANCE * (1 + abs(bound)))
    nearer = nearer_on_plane(vector(positive, 0.0), vector(negative, dihedral), step, ratio)
    assert nearer == (lower < ratio < upper)


def test_the_bounds_of_a_worked_triangle() -> None:
    """q = sin 90 / sin 30 = 2, a = 90 degrees, step 0.4: 2.5 -/+ sqrt(6.25 - 4) = 1 and 4."""
    at = math.pi / 6, math.pi / 2, math.pi / 2, 0.4
    assert ratio_bounds(*at) == pytest.approx((1.0, 4.0))


def test_an_anchor_on_its_positive_is_served_by_no_ratio() -> None:
    assert np.isnan(ratio_bounds(0.0, 1.0, 1.0, 0.5)).all()
    assert np.isnan(ratio_bounds(0.0, 0.0, 1.0, 0.5)).all()


def test_the_check_agrees_on_the_plane_and_counts_the_angles_that_no_ratio_serves() -> None:
    """None at a step of 0.1, since q is at most 1 / sin 9 degrees = 6.4; more for longer steps."""
    checks = [check(step, 20_000, seed=1) for step in STEPS]
    assert {one["plane_agreement"] for one in checks} == {1.0}
    for one in checks:
        assert 0.5 < one["sphere_whole_agreement"] < one["sphere_agreement"] < 1.0
    shares = [one["none_serves"] for one in checks]
    assert shares[0] == 0
    assert shares == sorted(shares)
    assert shares[-1] > 0.5
    assert checks[0] == check(STEPS[0], 20_000, seed=1)


def test_short_steps_make_the_sphere_a_plane() -> None:
    generator = np.random.default_rng(0)
    positive, negative, dihedral, ratio = generator.uniform(0.2, 1.5, (4, 10_000))
    said = ratio > ratio_bounds(positive, negative, dihedral, 1e-4)[0]
    at = vector(positive, 0.0), vector(negative, dihedral)
    found = nearer_on_sphere(*at, 1e-4, ratio, tangential=True)
    assert np.mean(said == found) > 0.999


@pytest.mark.parametrize("step", STEPS)
def test_the_least_ratio_of_steps_on_the_plane_is_the_formulas(step: float) -> None:
    dihedral = np.linspace(0.1, 3.0, 12)
    plane, _ = least_serving(math.pi / 6, np.full_like(dihedral, 1.0), dihedral, step)
    formula, _ = ratio_bounds(math.pi / 6, 1.0, dihedral, step)
    spacing = (2 * (1 / math.sin(math.pi / 6) + 1) + 1 / step) / 10_000
    np.testing.assert_allclose(plane, formula, rtol=0, atol=1.01 * spacing)
