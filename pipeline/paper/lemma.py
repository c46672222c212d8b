"""Lemma 1: which ratios bring an anchor nearer to its positive, and a check of it by stepping.

The anchor's step is step * (ratio * positive - negative). On the plane that touches the sphere at
the anchor, the positive lies at sin(positive_angle), the negative at sin(negative_angle), and the
dihedral angle between their directions. Angles are in radians; numbers and arrays broadcast.
Source: Li, Zhang & Nie 2024, Lemma 1, with the upper bound that it leaves out.
"""

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]
Real = float | Reals


def ratio_bounds(
    positive_angle: Real, negative_angle: Real, dihedral: Real, step: Real
) -> tuple[Reals, Reals]:
    """1/step + q cos(dihedral) -+ sqrt(1/step^2 - q^2 sin(dihedral)^2), q = sin_neg / sin_pos.

    The ratio must lie between the two: below, the push wins; above, the step leads past the
    positive. Both are NaN where no ratio serves (the radicand is negative).
    """
    reach = 1 / np.asarray(step, dtype=np.float64)
    # An anchor that lies on its positive cannot get nearer: infinite quotient, NaN bounds.
    with np.errstate(divide="ignore", invalid="ignore"):
        quotient = np.sin(negative_angle) / np.sin(positive_angle)
        half = np.sqrt(reach**2 - (quotient * np.sin(dihedral)) ** 2)
        middle = reach + quotient * np.cos(dihedral)
        return middle - half, middle + half


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

    Arguments are those of `nearer_on_plane`. A tangential step is without its part along the
    anchor, as the gradient at a normalized embedding is.
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


# The simulation's ranges of mean angles; a dihedral angle's whole range; ratios up to twice the
# widest interval's end, 2 / step.
POSITIVE_ANGLES = (np.pi / 20, np.pi / 2)
NEGATIVE_ANGLES = (np.pi / 20, np.pi)
DIHEDRALS = (0.0, np.pi)
LEAST_RATIO = 0.05
LARGEST_RATIO_STEP = 4.0


def check(step: float, cases: int, seed: int) -> dict[str, float]:
    """Compare the bounds with steps that are taken.

    Args:
        step: lambda.
        cases: how many: angles uniform in the ranges above, and ratios whose logarithm is
            uniform from LEAST_RATIO to LARGEST_RATIO_STEP / step, so that both bounds matter.
        seed: of the cases.

    Returns:
        The shares of cases in which the bounds say what the tangent plane says, what the sphere
        says after a tangential step, and after the whole step; and of those that no ratio serves.
    """
    generator = np.random.default_rng(seed)
    at_positive, at_negative, dihedral = (
        generator.uniform(*ends, cases) for ends in (POSITIVE_ANGLES, NEGATIVE_ANGLES, DIHEDRALS)
    )
    ends = np.log(LEAST_RATIO), np.log(LARGEST_RATIO_STEP / step)
    ratio = np.exp(generator.uniform(*ends, cases))
    lower, upper = ratio_bounds(at_positive, at_negative, dihedral, step)
    bounded = (lower < ratio) & (ratio < upper)
    at = vector(at_positive, 0.0), vector(at_negative, dihedral)
    tangential = nearer_on_sphere(*at, step, ratio, tangential=True)
    whole = nearer_on_sphere(*at, step, ratio, tangential=False)
    return {
        "step": step,
        "cases": cases,
        "plane_agreement": np.mean(bounded == nearer_on_plane(*at, step, ratio)),
        "sphere_agreement": np.mean(bounded == tangential),
        "sphere_whole_agreement": np.mean(bounded == whole),
        "none_serves": np.mean(np.isnan(lower)),
    }
