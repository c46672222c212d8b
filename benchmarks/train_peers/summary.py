"""What a size's rounds come to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from benchmarks.spread import spread
from benchmarks.train_peers.contestants import OURS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.train_peers.rounds import Contest

_MANY = 1_000_000  # sentences, an epoch of the paper's corpus


def summary(contest: Contest, batch_size: int) -> dict[str, Any]:
    """Of all contestants; shares of the peak are filled in by `share_of_peak` at the end."""
    return {
        "arithmetic": contest.arithmetic(),
        "contestants": {name: _one(contest, name, batch_size) for name in contest.seconds},
        "not_run": dict(contest.not_run),
    }


def _one(contest: Contest, name: str, batch_size: int) -> dict[str, Any]:
    own, ours = contest.seconds[name], contest.seconds[OURS]
    a_step = spread(own)["median"]
    return {
        "step_ms": spread([1000 * one for one in own]),
        "sentences_per_second": batch_size / a_step,
        "seconds_for_a_million": a_step * _MANY / batch_size,
        # Within a round, since rounds differ in what else the machine does.
        "ours_faster": spread([one / other for one, other in zip(own, ours, strict=True)]),
        "compile_seconds": contest.compile_seconds(name),
        "warm_up_seconds": contest.warm_up[name][0],
        "peak_mib": contest.peak_mib[name],
    }


def peak(rounds: Sequence[Mapping[str, float]], reference: str) -> dict[str, Any]:
    """The best matmul speed of the whole run, for each precision."""
    best = {one: max(found[one] for found in rounds) for one in rounds[0]}
    return {"reference": reference, "tflops": best, "rounds": [dict(one) for one in rounds]}


def share_of_peak(size: dict[str, Any], tflops: float) -> None:
    """Fill in how much of the peak every contestant's step makes of the same work."""
    flops = size["arithmetic"]["flops_per_step"]
    for one in size["contestants"].values():
        one["share_of_peak"] = flops / (one["step_ms"]["median"] / 1000) / (tflops * 1e12)
