"""Mean dissipation of InfoNCE and MPT by numerical integration instead of by drawing batches.

Independent standard normal z make angles mean + deviation z. Integrals over z and over log x are
trapezoid sums on even grids: their integrands fall off so fast that the sums are good to many
digits.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Reals = NDArray[np.float64]

NEGATIVES, POSITIVE_DEVIATION, NEGATIVE_DEVIATION = 127, 0.05, 0.1
Z = np.linspace(-8, 8, 801)
Z_MASS: Reals = norm.pdf(Z) * (Z[1] - Z[0])


def info_nce(positive_mean: float, negative_mean: float, temperature: float = 0.05) -> float:
    """E[S / (S + a)], a = e^{cos(theta_pos) / t}, S the sum of 127 e^{cos(theta_neg) / t}.

    E[a / (S + a)] = E[a int_0^inf e^{-x (S + a)} dx], where e^{-xS} has the mean phi(x)^127,
    phi(x) = E[e^{-x e^{cos(theta_neg) / t}}]. With x = e^y and b = log a, the integrand over y
    is phi(e^y)^127 E[e^{y + b} e^{-e^{y + b}}].
    """
    y = np.linspace(-60, 40, 2001)
    push = np.cos(negative_mean + NEGATIVE_DEVIATION * Z) / temperature
    phi = _falling(y[:, None] + push) @ Z_MASS
    pull = np.cos(positive_mean + POSITIVE_DEVIATION * Z) / temperature
    density = np.exp(y[:, None] + pull) * _falling(y[:, None] + pull)
    closed = phi**NEGATIVES * (density @ Z_MASS)
    return float(1 - closed.sum() * (y[1] - y[0]))


def _falling(logarithm: Reals) -> Reals:
    """e^{-e^x}, whose inner exponential may be large."""
    falling: Reals = np.exp(-np.exp(np.minimum(logarithm, 10)))
    return falling


def mpt(positive_mean: float, negative_mean: float, margin: float = 0.23) -> float:
    """P(max c_neg > c_pos - m) = 1 - E[F(cos(theta_pos) - m)^127]."""
    threshold = np.cos(positive_mean + POSITIVE_DEVIATION * Z) - margin
    return float(1 - cosine_is_at_most(threshold, negative_mean) ** NEGATIVES @ Z_MASS)


def cosine_is_at_most(value: Reals, mean: float) -> Any:
    """F: cos(theta) <= c where theta is in [arccos c, 2 pi - arccos c], or that 2 pi further."""
    least = np.arccos(np.clip(value, -1, 1))
    turns = 2 * np.pi * np.arange(-2, 3)[:, None]
    low, high = least + turns, 2 * np.pi - least + turns
    law = norm(mean, NEGATIVE_DEVIATION)
    return (law.cdf(high) - law.cdf(low)).sum(axis=0)
