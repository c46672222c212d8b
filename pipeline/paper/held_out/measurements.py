"""Section 3.2's measurements of one encoder on held-out sentences.

The first view's embeddings are the anchors, the second view's their positives and negatives
(c_ij, j != i).
"""

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.stats import norm
from torch import Tensor

from pipeline.objectives.pieces import margin_gate, softmax_over_negatives
from pipeline.objectives.views import Views, diagonal_mask, hardest, l2_normalize
from pipeline.paper.held_out.schema import Grid, Settings
from pipeline.paper.lemma import ratio_bounds
from pipeline.results.layout import rounded

Floats = npt.NDArray[np.float64]

COSINES = Grid(start=-1, stop=1, points=201)
RATIOS = Grid(start=-1, stop=3, points=201)
PERCENTS = (0, 1, 5, 25, 50, 75, 95, 99, 100)
SUBSAMPLE = 20_000  # cosines behind a density: all negatives would take minutes
SHARES = ("weight_share", "push_share", "gradient_share")


def measure(batches: Iterable[Views], settings: Settings) -> dict[str, Any]:
    """Cosines, hardest-negative shares, minimum ratios and angles, as `Measurement` holds them.

    Args:
        batches: pairs of normalized views, at least one, all of one size.
        settings: what is measured.
    """
    by_batch = [_of_batch(views, settings) for views in batches]
    joined = {key: np.concatenate([batch[key] for batch in by_batch]) for key in by_batch[0]}
    is_open = joined["open"] > 0
    positive, to_hardest, dihedral = (
        joined[key][is_open] for key in ("positive_angle", "hardest_angle", "dihedral")
    )
    numbers: dict[str, Any] = {
        "cosines": _cosines(by_batch, joined, settings.seed),
        "hardest_share": _hardest_share(joined, is_open, settings.temperatures),
        "minimum_ratio": {
            "anchors": int(is_open.sum()),
            "grid": RATIOS.model_dump(),
            "by_step": [
                {
                    "step": step,
                    **_minimum_ratio(*ratio_bounds(positive, to_hardest, dihedral, step)),
                }
                for step in settings.steps
            ],
        },
        "angles": {
            sign: {
                "mean": joined[f"{sign}_angle"].mean(),
                "deviation": joined[f"{sign}_angle"].std(),
            }
            for sign in ("positive", "negative")
        },
    }
    plain: dict[str, Any] = rounded(numbers)
    return plain


def _of_batch(views: Views, settings: Settings) -> dict[str, Floats]:
    """Numbers of a batch's N anchors, and of its N (N - 1) negatives."""
    negatives = views.cosine[~diagonal_mask(views.cosine)]
    similarity, index = hardest(views.cosine)
    to_positive = l2_normalize(_tangent(views.anchor, views.positive))
    to_hardest = l2_normalize(_tangent(views.anchor, views.positive[index]))
    numbers = {
        "open": margin_gate(views, margin=settings.margin),
        "positive": views.aligned,
        "negative": negatives,
        "positive_angle": _angle(views.aligned),
        "negative_angle": _angle(negatives),
        "hardest_angle": _angle(similarity),
        "dihedral": _angle((to_positive * to_hardest).sum(dim=1)),
    }
    for temperature in settings.temperatures:
        weight = softmax_over_negatives(views.cosine, temperature)
        numbers |= {
            f"weight_share {temperature}": weight.amax(dim=1) / weight.sum(dim=1),
            f"push_share {temperature}": push_share(views, weight, ratio=0),
            f"gradient_share {temperature}": push_share(views, weight, ratio=1),
        }
    return {key: value.numpy() for key, value in numbers.items()}


def push_share(views: Views, weight: Tensor, ratio: float) -> Tensor:
    """Projection of the hardest negative's part on an anchor's whole direction, (N,).

    With v_ij = weight_ij (p_j - ratio p_i), its part along the anchor h_i removed, and
    V_i = sum_{j != i} v_ij: share_i = v_ij . V_i / |V_i|^2 at the hardest j. The shares of all
    negatives sum to one. Ratio 0 looks at the pushes alone, as the authors' script does.
    """
    _, index = hardest(views.cosine)
    pull = ratio * views.positive
    largest = weight.gather(1, index[:, None])
    part = _tangent(views.anchor, largest * (views.positive[index] - pull))
    total = weight.sum(dim=1, keepdim=True)
    whole = _tangent(views.anchor, weight @ views.positive - total * pull)
    return (part * whole).sum(dim=1) / whole.square().sum(dim=1)


def _tangent(anchor: Tensor, vectors: Tensor) -> Tensor:
    """Vectors without their part along the unit anchors, (N, D)."""
    return vectors - (vectors * anchor).sum(dim=1, keepdim=True) * anchor


def _angle(cosine: Tensor) -> Tensor:
    return torch.arccos(cosine.clamp(-1, 1))


def _cosines(
    by_batch: list[dict[str, Floats]], joined: dict[str, Floats], seed: int
) -> dict[str, Any]:
    means = {
        sign: np.array([batch[sign].mean() for batch in by_batch])
        for sign in ("positive", "negative")
    }
    samples = {sign: _subsample(joined[sign], seed) for sign in means}
    means["gap"] = means["positive"] - means["negative"]
    deviations = {
        key: value.std(ddof=1) if len(value) > 1 else math.nan for key, value in means.items()
    }
    return {
        **{
            key: {"mean": value.mean(), "deviation_over_batches": deviations[key]}
            for key, value in means.items()
        },
        "grid": COSINES.model_dump(),
        "density": {sign: density(sample, COSINES) for sign, sample in samples.items()},
        "density_pairs": {sign: len(sample) for sign, sample in samples.items()},
    }


def _subsample(cosines: Floats, seed: int) -> Floats:
    if len(cosines) <= SUBSAMPLE:
        return cosines
    return np.random.default_rng(seed).choice(cosines, SUBSAMPLE, replace=False)


def density(samples: Floats, grid: Grid) -> Floats:
    """Gaussian kernel density estimate at the grid's points.

    The bandwidth is Scott's, deviation * n^(-1/5), but at least half the grid's spacing: the grid
    would miss narrower peaks, and equal samples have no width, which scipy's `gaussian_kde`
    refuses. Nothing is folded back at the ends of a variable's range.
    """
    deviation = samples.std(ddof=1) if len(samples) > 1 else 0.0
    spacing = (grid.stop - grid.start) / (grid.points - 1)
    bandwidth = max(deviation * len(samples) ** -0.2, spacing / 2)
    # One point at a time: a matrix of points and samples would take gigabytes.
    return np.array([norm.pdf(point, samples, bandwidth).mean() for point in grid.values])


def _hardest_share(
    joined: dict[str, Floats], is_open: npt.NDArray[np.bool_], temperatures: Iterable[float]
) -> dict[str, Any]:
    def means(temperature: float, mask: npt.NDArray[np.bool_]) -> dict[str, float]:
        shares = {name: joined[f"{name} {temperature}"][mask] for name in SHARES}
        return {name: share.mean() if len(share) else math.nan for name, share in shares.items()}

    return {
        "uniform": len(is_open) / len(joined["negative"]),
        "anchors": len(is_open),
        "open": int(is_open.sum()),
        "open_share": is_open.mean(),
        "by_temperature": [
            {
                "temperature": temperature,
                "open": means(temperature, is_open),
                "all": means(temperature, np.ones_like(is_open)),
            }
            for temperature in temperatures
        ],
    }


def _minimum_ratio(lower: Floats, upper: Floats) -> dict[str, Any]:
    """Of Lemma 1's bounds at the open anchors."""
    defined = lower[np.isfinite(lower)]
    anchors = len(lower) or math.nan
    quantiles = map(float, np.percentile(defined, PERCENTS)) if len(defined) else ()
    return {
        "share_above_one": np.count_nonzero(lower > 1) / anchors,
        "share_one_serves": np.count_nonzero((lower < 1) & (upper > 1)) / anchors,
        "share_undefined": (len(lower) - len(defined)) / anchors,
        "quantiles": dict(zip(map(str, PERCENTS), quantiles, strict=False)) or None,
        "density": density(defined, RATIOS) if len(defined) else None,
    }
