"""Section 3.2's measurements of one encoder on held-out sentences, as plain numbers for JSON.

Anchors are the first view's embeddings, negatives c_ij the other view's (j != i). Not here:
embedding (dropout_views.py), what is asked of a batch (anchors.py) and figures
(paper.report).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pipeline.objectives.pieces import margin_gate, softmax_over_negatives
from pipeline.paper.held_out import anchors
from pipeline.paper.held_out.densities import Grid, density
from pipeline.paper.lemma import maximum_ratio, minimum_ratio
from pipeline.paper.rounding import rounded

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy.typing as npt
    from torch import Tensor

    from pipeline.objectives.views import Views

    Floats = npt.NDArray[np.float64]

COSINES = Grid(-1, 1, 201)
RATIOS = Grid(-1, 3, 201)
PERCENTS = (0, 1, 5, 25, 50, 75, 95, 99, 100)
SUBSAMPLE = 20_000  # cosines behind a density: all negatives would take minutes


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is measured.

    Attributes:
        margin: of the gate that decides which anchors are open, in cosine.
        temperatures: of the softmax weights.
        steps: lambda of Lemma 1, step lengths.
        seed: of the subsample behind the densities.
    """

    margin: float
    temperatures: tuple[float, ...]
    steps: tuple[float, ...]
    seed: int


def measure(batches: Iterable[Views], settings: Settings) -> dict[str, Any]:
    """Cosines, hardest-negative shares, minimum ratios and angles.

    Args:
        batches: pairs of normalized views, at least one, all of one size.
        settings: what is measured.

    Returns:
        Nested plain numbers with six digits after the point; None for what is undefined.
    """
    found = [_of_batch(views, settings) for views in batches]
    joined = {key: np.concatenate([one[key] for one in found]) for key in found[0]}
    numbers = {
        "cosines": _cosines(found, joined, settings.seed),
        "hardest_share": _hardest_share(joined, settings.temperatures),
        "minimum_ratio": _minimum_ratio(joined, settings.steps),
        "angles": _angles(joined),
    }
    plain: dict[str, Any] = rounded(numbers)
    return plain


def _of_batch(views: Views, settings: Settings) -> dict[str, Floats]:
    """Numbers of a batch's N anchors, and of its N (N - 1) negatives."""
    negatives = anchors.negative_cosines(views)
    numbers: dict[str, Tensor] = {
        "open": margin_gate(views, margin=settings.margin),
        "positive": views.aligned,
        "negative": negatives,
        "negative_angle": anchors.angle(negatives),
        **anchors.angles(views)._asdict(),
    }
    for temperature in settings.temperatures:
        weight = softmax_over_negatives(views.cosine, temperature)
        for name, share in _shares(views, weight).items():
            numbers[f"{name} {temperature}"] = share
    return {key: value.numpy() for key, value in numbers.items()}


def _shares(views: Views, weight: Tensor) -> dict[str, Tensor]:
    return {
        "weight_share": anchors.weight_share(weight),
        "push_share": anchors.push_share(views, weight, ratio=0),
        "gradient_share": anchors.push_share(views, weight, ratio=1),
    }


def _cosines(
    found: list[dict[str, Floats]], joined: dict[str, Floats], seed: int
) -> dict[str, Any]:
    """Means over all pairs, the means' deviation over batches, densities."""
    means = {key: np.array([one[key].mean() for one in found]) for key in ("positive", "negative")}
    means["gap"] = means["positive"] - means["negative"]
    of_pairs = {key: _density(joined[key], seed) for key in ("positive", "negative")}
    return {
        **{key: _over_batches(value) for key, value in means.items()},
        "grid": _described(COSINES),
        "density": {key: curve for key, (curve, _) in of_pairs.items()},
        "density_pairs": {key: pairs for key, (_, pairs) in of_pairs.items()},
    }


def _over_batches(means: Floats) -> dict[str, float]:
    deviation = means.std(ddof=1) if len(means) > 1 else math.nan
    return {"mean": float(means.mean()), "deviation_over_batches": float(deviation)}


def _density(cosines: Floats, seed: int) -> tuple[Floats | None, int]:
    """The density, and how many cosines, drawn without replacement, it was estimated from."""
    if len(cosines) > SUBSAMPLE:
        cosines = np.random.default_rng(seed).choice(cosines, SUBSAMPLE, replace=False)
    return density(cosines, COSINES), len(cosines)


def _hardest_share(joined: dict[str, Floats], temperatures: Iterable[float]) -> dict[str, Any]:
    """Mean shares at each temperature over open and over all anchors."""
    opened = joined["open"] > 0
    negatives = len(joined["negative"]) // len(opened)
    return {
        "uniform": 1 / negatives,
        "anchors": len(opened),
        "open": int(opened.sum()),
        "open_share": float(opened.mean()),
        "by_temperature": [
            {
                "temperature": temperature,
                "open": _means(joined, temperature, opened),
                "all": _means(joined, temperature, np.ones_like(opened)),
            }
            for temperature in temperatures
        ],
    }


def _means(
    joined: dict[str, Floats], temperature: float, chosen: npt.NDArray[np.bool_]
) -> dict[str, float]:
    names = ("weight_share", "push_share", "gradient_share")
    shares = {name: joined[f"{name} {temperature}"][chosen] for name in names}
    return {name: float(share.mean()) if len(share) else math.nan for name, share in shares.items()}


def _minimum_ratio(joined: dict[str, Floats], steps: Iterable[float]) -> dict[str, Any]:
    """Of open anchors, for each step length."""
    opened = joined["open"] > 0
    around = anchors.Angles(*(joined[key][opened] for key in anchors.Angles._fields))
    return {
        "anchors": int(opened.sum()),
        "grid": _described(RATIOS),
        "by_step": [{"step": step, **_distribution(around, step)} for step in steps],
    }


def _distribution(around: anchors.Angles[Floats], step: float) -> dict[str, Any]:
    """Of the smallest ratio that serves.

    Shares are of all open anchors: r must be above 1; r = 1 lies between both bounds; no r
    serves. Quantiles and density are of the anchors for which some r serves.
    """
    lower, upper = minimum_ratio(*around, step), maximum_ratio(*around, step)
    defined = lower[np.isfinite(lower)]
    count = len(lower) or math.nan
    return {
        "share_above_one": np.count_nonzero(lower > 1) / count,
        "share_one_serves": np.count_nonzero((lower < 1) & (upper > 1)) / count,
        "share_undefined": (len(lower) - len(defined)) / count,
        "quantiles": _quantiles(defined),
        "density": density(defined, RATIOS),
    }


def _quantiles(samples: Floats) -> dict[str, float] | None:
    """By percent."""
    if not len(samples):
        return None
    return {str(percent): float(np.percentile(samples, percent)) for percent in PERCENTS}


def _angles(joined: dict[str, Floats]) -> dict[str, Any]:
    """Mean and standard deviation over all pairs, in radians."""
    found = {key: joined[f"{key}_angle"] for key in ("positive", "negative")}
    return {key: {"mean": one.mean(), "deviation": one.std()} for key, one in found.items()}


def _described(grid: Grid) -> dict[str, Any]:
    return {"start": grid.start, "stop": grid.stop, "points": grid.points}
