"""Lemma 1: which ratios bring an anchor nearer to its positive, and a check of it by stepping.

The anchor's step is step * (ratio * positive - negative). On the plane that touches the sphere at
the anchor, the positive lies at sin(positive_angle), the negative at sin(negative_angle), and the
dihedral angle between their directions. Angles are in radians; numbers and arrays broadcast.
Source: Li, Zhang & Nie 2024, Lemma 1, with the upper bound that it leaves out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Real = float | Reals


def minimum_ratio(positive_angle: Real, negative_angle: Real, dihedral: Real, step: Real) -> Reals:
    """1/step + q cos(dihedral) - sqrt(1/step^2 - q^2 sin(dihedral)^2), q = sin_neg / sin_pos.

    The ratio must be above it. NaN where no ratio serves (the radicand is negative).
    """
    middle, half = _interval(positive_angle, negative_angle, dihedral, step)
    return middle - half


def maximum_ratio(positive_angle: Real, negative_angle: Real, dihedral: Real, step: Real) -> Reals:
    """The same with + sqrt: the ratio must be below it, or the step leads past the positive."""
    middle, half = _interval(positive_angle, negative_angle, dihedral, step)
    return middle + half


def _interval(
    positive_angle: Real, negative_angle: Real, dihedral: Real, step: Real
) -> tuple[Reals, Reals]:
    """Middle and half width; NaN half where the radicand is negative."""
    reach = 1 / np.asarray(step, dtype=np.float64)
    # An anchor that lies on its positive cannot get nearer: infinite quotient, NaN bounds.
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.sin(negative_angle) / np.sin(positive_angle)
        half = np.sqrt(reach**2 - (quotient * np.sin(dihedral)) ** 2)
        return reach + quotient * np.cos(dihedral), half


def vector(angle: Real, dihedral: Real) -> Reals:
    """Unit vectors (..., 3) at an angle to the anchor (0, 0, 1), `dihedral` around it."""
    sine = np.sin(angle)
    parts = np.broadcast_arrays(sine * np.cos(dihedral), sine * np.sin(dihedral), np.cos(angle))
    return np.stack(parts, axis=-1)


def nearer_on_plane(positive: Reals, negative: Reals, step: Real, ratio: Real) -> NDArray[np.bool_]:
    """Whether the step shortens the distance to the positive on the tangent plane.

    Args:
        positive: (..., 3) unit vectors; the anchor is (0, 0, 1).
        negative: likewise.
        step: lambda.
        ratio: r.
    """
    positive, negative = positive[..., :2], negative[..., :2]
    moved = _step(positive, negative, step, ratio)
    nearer = np.linalg.norm(moved - positive, axis=-1) < np.linalg.norm(positive, axis=-1)
    return np.asarray(nearer)


def nearer_on_sphere(
    positive: Reals, negative: Reals, step: Real, ratio: Real, *, tangential: bool
) -> NDArray[np.bool_]:
    """Whether the step, brought back to length one, raises the cosine to the positive.

    Args:
        positive: as for `nearer_on_plane`, like the next three.
        negative: likewise.
        step: likewise.
        ratio: likewise.
        tangential: without the step's part along the anchor, as the gradient at a normalized
            embedding is; else with it.
    """
    moved = _step(positive, negative, step, ratio)
    if tangential:
        moved[..., 2] = 0
    moved[..., 2] += 1
    cosine = (moved * positive).sum(axis=-1) / np.linalg.norm(moved, axis=-1)
    return np.asarray(cosine > positive[..., 2])


def _step(positive: Reals, negative: Reals, step: Real, ratio: Real) -> Reals:
    length, pull = np.asarray(step)[..., None], np.asarray(ratio)[..., None]
    return np.asarray(length * (pull * positive - negative))


@dataclass(frozen=True)
class Check:
    """How a step length's bounds fare on random angles and ratios.

    Attributes:
        step: its length.
        cases: how many.
        plane_agreement: share of cases in which the bounds say what the tangent plane says.
        sphere_agreement: likewise the sphere, after a tangential step.
        sphere_whole_agreement: likewise after the whole step.
        none_serves: share of angles for which no ratio serves.
    """

    step: float
    cases: int
    plane_agreement: float
    sphere_agreement: float
    sphere_whole_agreement: float
    none_serves: float


# The simulation's ranges of mean angles; a dihedral angle's whole range; ratios up to twice the
# widest interval's end, 2 / step.
POSITIVE_ANGLES = (np.pi / 20, np.pi / 2)
NEGATIVE_ANGLES = (np.pi / 20, np.pi)
DIHEDRALS = (0.0, np.pi)
LEAST_RATIO = 0.05
LARGEST_RATIO_STEP = 4.0


def check(step: float, count: int, seed: int) -> Check:
    """Compare the bounds with steps that are taken.

    Args:
        step: lambda.
        count: random cases: angles uniform in the ranges above, and ratios whose logarithm is
            uniform from LEAST_RATIO to LARGEST_RATIO_STEP / step, so that both bounds matter.
        seed: of the cases.
    """
    generator = np.random.default_rng(seed)
    at_positive, at_negative, dihedral = (
        generator.uniform(*ends, count) for ends in (POSITIVE_ANGLES, NEGATIVE_ANGLES, DIHEDRALS)
    )
    ends = np.log(LEAST_RATIO), np.log(LARGEST_RATIO_STEP / step)
    ratio = np.exp(generator.uniform(*ends, count))
    lower = minimum_ratio(at_positive, at_negative, dihedral, step)
    said = (lower < ratio) & (ratio < maximum_ratio(at_positive, at_negative, dihedral, step))
    at = vector(at_positive, 0.0), vector(at_negative, dihedral)
    tangential = nearer_on_sphere(*at, step, ratio, tangential=True)
    whole = nearer_on_sphere(*at, step, ratio, tangential=False)
    return Check(
        step=step,
        cases=count,
        plane_agreement=float(np.mean(said == nearer_on_plane(*at, step, ratio))),
        sphere_agreement=float(np.mean(said == tangential)),
        sphere_whole_agreement=float(np.mean(said == whole)),
        none_serves=float(np.mean(np.isnan(lower))),
    )
