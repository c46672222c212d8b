"""The paper's tables, written once more as slowly and plainly as they read.

Loops over i and j on float64 arrays; nothing here is shared with the code under test. Each
function takes both views (the anchor's first) and returns dissipation (N,), weight (N, N),
ratio (N, N) with an undefined diagonal of zero.
"""

from collections.abc import Callable
from math import acos, cos, exp, radians, sin

import numpy as np

Pieces = tuple[np.ndarray, np.ndarray, np.ndarray]
Reference = Callable[[np.ndarray, np.ndarray], Pieces]

T, M, NU_MHE, NU_MHS, NU_BARLOW, NU_VICREG = 0.05, 0.3, 10.0, 1.0, 30.0, 30.0


def others(count: int, i: int) -> list[int]:
    return [j for j in range(count) if j != i]


def build(
    count: int,
    dissipation: Callable[[int], float],
    weight: Callable[[int, int], float],
    ratio: Callable[[int, int], float],
) -> Pieces:
    d = np.array([dissipation(i) for i in range(count)])
    w, r = np.zeros((count, count)), np.zeros((count, count))
    for i in range(count):
        for j in others(count, i):
            w[i, j], r[i, j] = weight(i, j), ratio(i, j)
    return d, w, r


def info_nce(h: np.ndarray, p: np.ndarray, angular_margin: float = 0.0) -> Pieces:
    n, c = len(h), h @ p.T

    def theta(i: int) -> float:
        return acos(c[i, i])

    def mass(i: int) -> float:
        return sum(exp(c[i, k] / T) for k in others(n, i))

    return build(
        n,
        lambda i: 1 / (1 + exp(cos(theta(i) + angular_margin) / T) / mass(i)),
        lambda i, j: exp(c[i, j] / T) / (T * mass(i)),
        lambda i, j: sin(theta(i) + angular_margin) / sin(theta(i)),
    )


def arccon(h: np.ndarray, p: np.ndarray) -> Pieces:
    return info_nce(h, p, radians(10))


def mpt(h: np.ndarray, p: np.ndarray) -> Pieces:
    n, c = len(h), h @ p.T
    top = [max(others(n, i), key=lambda j, i=i: c[i, j]) for i in range(n)]  # type: ignore[misc]
    return build(
        n,
        lambda i: float(c[i, i] - c[i, top[i]] < 0.23),
        lambda i, j: float(j == top[i]),
        lambda i, j: 1.0,
    )


def met(h: np.ndarray, p: np.ndarray) -> Pieces:
    n = len(h)
    d = np.linalg.norm(h[:, None] - p[None], axis=2)
    near = [min(others(n, i), key=lambda j, i=i: d[i, j]) for i in range(n)]  # type: ignore[misc]
    return build(
        n,
        lambda i: float(d[i, near[i]] - d[i, i] < 0.45),
        lambda i, j: 1 / d[i, j] if j == near[i] else 0.0,
        lambda i, j: d[i, j] / d[i, i],
    )


def one(i: int) -> float:
    return 1.0


def gate(h: np.ndarray, p: np.ndarray) -> Callable[[int], float]:
    c = h @ p.T
    return lambda i: float(c[i, i] - max(c[i, k] for k in others(len(h), i)) < M)


def pairs(matrix: np.ndarray, temperature: float) -> float:
    """sum_{k < l} e^{matrix_kl / temperature}."""
    n = len(matrix)
    return sum(exp(matrix[k, m] / temperature) for k in range(n) for m in range(k + 1, n))


def mhe_weight(h: np.ndarray) -> Callable[[int, int], float]:
    s = h @ h.T
    return lambda i, j: 2 * NU_MHE * exp(2 * s[i, j]) / pairs(s, 0.5)


def mhe_ratio(h: np.ndarray) -> Callable[[int, int], float]:
    n, s = len(h), h @ h.T
    return lambda i, j: pairs(s, 0.5) / (NU_MHE * n * sum(exp(2 * s[i, k]) for k in others(n, i)))


def mhe_modified_weight(h: np.ndarray) -> Callable[[int, int], float]:
    s = h @ h.T
    return lambda i, j: exp(s[i, j] / T) / (T * pairs(s, T))


def nearest(h: np.ndarray) -> Callable[[int, int], float]:
    """1 / |h_i - h_j| for the nearest j, else 0."""
    d = np.linalg.norm(h[:, None] - h[None], axis=2)
    near = [min(others(len(h), i), key=lambda j, i=i: d[i, j]) for i in range(len(h))]  # type: ignore[misc]
    return lambda i, j: 1 / d[i, j] if j == near[i] else 0.0


def mhs_weight(h: np.ndarray) -> Callable[[int, int], float]:
    return lambda i, j: NU_MHS / len(h) * nearest(h)(i, j)


def mhs_ratio(h: np.ndarray) -> Callable[[int, int], float]:
    return lambda i, j: 2 * float(np.linalg.norm(h[i] - h[j])) / NU_MHS


def similarity_weight(x: np.ndarray, nu: float) -> Callable[[int, int], float]:
    """2 nu x_i.x_j / N^2."""
    return lambda i, j: 2 * nu * float(x[i] @ x[j]) / len(x) ** 2


def softmax_weight(x: np.ndarray) -> Callable[[int, int], float]:
    """e^{x_i.x_j/t} / sum_{k != l} e^{x_k.x_l/t}."""
    s = x @ x.T
    return lambda i, j: exp(s[i, j] / T) / (2 * pairs(s, T))


def barlow_matrix(h: np.ndarray, p: np.ndarray) -> np.ndarray:
    """I - (1 - nu) C_diag, (D, D)."""
    correlation = h.T @ p / len(h)
    return np.eye(h.shape[1]) - (1 - NU_BARLOW) * np.diag(np.diag(correlation))


def barlow_ratio(h: np.ndarray, p: np.ndarray) -> Callable[[int, int], float]:
    """Its part along the positive: divided by |p_i|^2 where embeddings are not of length one."""
    n, matrix = len(h), barlow_matrix(h, p)

    def ratio(i: int, j: int) -> float:
        push = NU_BARLOW * sum(float(p[i] @ p[k]) for k in others(n, i))
        return n * float(p[i] @ matrix @ p[i]) / push / float(p[i] @ p[i])

    return ratio


def vicreg_ratio(h: np.ndarray) -> Callable[[int, int], float]:
    n = len(h)
    return lambda i, j: n / (NU_VICREG * sum(float(h[i] @ h[k]) for k in others(n, i)))


def fixed(value: float) -> Callable[[int, int], float]:
    return lambda i, j: value


def keeping_the_pull(
    count: int, weight: Callable[[int, int], float]
) -> Callable[[int, int], float]:
    """At the step "+ weight" the pull stays 2/N, so the ratio is 2 / (N sum_k weight_ik)."""
    return lambda i, j: 2 / (count * sum(weight(i, k) for k in others(count, i)))


def baseline_weight(h: np.ndarray, p: np.ndarray) -> Callable[[int, int], float]:
    n, c = len(h), h @ p.T
    return lambda i, j: exp(c[i, j] / T) / sum(exp(c[i, k] / T) for k in others(n, i))


REFERENCES: dict[str, Reference] = {
    "info_nce": info_nce,
    "arccon": arccon,
    "mpt": mpt,
    "met": met,
    "mhe": lambda h, p: build(len(h), one, mhe_weight(h), mhe_ratio(h)),
    "mhe_dissipation": lambda h, p: build(len(h), gate(h, p), mhe_weight(h), mhe_ratio(h)),
    "mhe_dissipation_weight": lambda h, p: build(
        len(h), gate(h, p), mhe_modified_weight(h), keeping_the_pull(len(h), mhe_modified_weight(h))
    ),
    "mhe_modified": lambda h, p: build(len(h), gate(h, p), mhe_modified_weight(h), fixed(1.75)),
    "mhs": lambda h, p: build(len(h), one, mhs_weight(h), mhs_ratio(h)),
    "mhs_dissipation": lambda h, p: build(len(h), gate(h, p), mhs_weight(h), mhs_ratio(h)),
    "mhs_modified": lambda h, p: build(len(h), gate(h, p), nearest(h), fixed(1.75)),
    "barlow_twins": lambda h, p: build(
        len(h), one, similarity_weight(p, NU_BARLOW), barlow_ratio(h, p)
    ),
    "barlow_twins_batch_norm": lambda h, p: build(
        len(h), one, similarity_weight(p, NU_BARLOW), barlow_ratio(h, p)
    ),
    "barlow_twins_dissipation": lambda h, p: build(
        len(h), gate(h, p), similarity_weight(p, NU_BARLOW), barlow_ratio(h, p)
    ),
    "barlow_twins_dissipation_weight": lambda h, p: build(
        len(h), gate(h, p), softmax_weight(p), keeping_the_pull(len(h), softmax_weight(p))
    ),
    "barlow_twins_modified": lambda h, p: build(len(h), gate(h, p), softmax_weight(p), fixed(1.5)),
    "vicreg": lambda h, p: build(len(h), one, similarity_weight(h, NU_VICREG), vicreg_ratio(h)),
    "vicreg_centred": lambda h, p: build(
        len(h),
        one,
        similarity_weight(h - h.mean(axis=0), NU_VICREG),
        vicreg_ratio(h - h.mean(axis=0)),
    ),
    "vicreg_dissipation": lambda h, p: build(
        len(h), gate(h, p), similarity_weight(h, NU_VICREG), vicreg_ratio(h)
    ),
    "vicreg_dissipation_weight": lambda h, p: build(
        len(h), gate(h, p), softmax_weight(h), keeping_the_pull(len(h), softmax_weight(h))
    ),
    "vicreg_modified": lambda h, p: build(len(h), gate(h, p), softmax_weight(h), fixed(1.5)),
    "paradigm": lambda h, p: build(len(h), gate(h, p), baseline_weight(h, p), fixed(1.0)),
}

CONTRASTIVE = ("info_nce", "arccon", "mpt", "met")
# Mean over anchors; elsewhere the weights hold the normalizer.
FACTOR_ONE_OVER_N = (*CONTRASTIVE, "mhs_modified", "paradigm")
OTHER_VIEW_NEGATIVES = (*CONTRASTIVE, "paradigm")


def pulls_with_a_matrix(name: str) -> bool:
    return name in {"barlow_twins", "barlow_twins_batch_norm", "barlow_twins_dissipation"}


def gradient(name: str, h: np.ndarray, p: np.ndarray) -> np.ndarray:
    """factor * dissipation_i * sum_{j != i} weight_ij (negative_j - ratio_ij p_i), (N, D).

    Where Barlow Twins' ratio is a matrix, the part of the pull across the positive is added:
    the table's row holds the part along it only.
    """
    n = len(h)
    d, w, r = REFERENCES[name](h, p)
    negatives = p if name in OTHER_VIEW_NEGATIVES else h
    if name == "vicreg_centred":
        negatives = h - h.mean(axis=0)
    result = np.zeros_like(h)
    for i in range(n):
        for j in others(n, i):
            result[i] += d[i] * w[i, j] * (negatives[j] - r[i, j] * p[i])
        if pulls_with_a_matrix(name):
            whole = barlow_matrix(h, p) @ p[i]
            along = (whole @ p[i]) / (p[i] @ p[i]) * p[i]
            push = sum(float(p[i] @ p[k]) for k in others(n, i))
            scale = n / (NU_BARLOW * push) * w[i].sum()
            result[i] -= d[i] * scale * (whole - along)
    return result / n if name in FACTOR_ONE_OVER_N else result
