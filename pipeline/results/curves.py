"""Curves of the score on the dev pairs during training: read, and listed for DVC.

No other column of a curve is used here. `plot` draws them.
"""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.machine.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Curve:
    """Spearman x 100 on the dev pairs at the steps where it was measured."""

    objective: str
    seed: int
    steps: tuple[int, ...]
    dev_spearman: tuple[float, ...]


def read_curves(folder: Path, encoders: list[tuple[str, int]]) -> list[Curve]:
    """Curves at `<folder>/<objective>/<seed>.csv`; an encoder without one is left out."""
    curves = []
    for objective, seed in encoders:
        path = folder / objective / f"{seed}.csv"
        if path.is_file():
            steps, scores = zip(*_points(path), strict=True)
            curves.append(Curve(objective, seed, steps, scores))
    return curves


def rows_for_dvc(curves: list[Curve]) -> list[dict[str, Any]]:
    """One row a point, as `dvc plots` reads them."""
    return [
        {"encoder": f"{curve.objective}-{curve.seed}", "step": step, "dev_spearman": score}
        for curve in curves
        for step, score in zip(curve.steps, curve.dev_spearman, strict=True)
    ]


def untrained_score(curves: list[Curve]) -> float | None:
    """What the backbone scores on the dev pairs: at step 0 of any curve; None if none has it."""
    scores = [curve.dev_spearman[0] for curve in curves if curve.steps[0] == 0]
    return scores[0] if scores else None


def _points(path: Path) -> list[tuple[int, float]]:
    points = []
    try:
        with path.open(encoding="utf-8", newline="") as text:
            lines = list(csv.DictReader(text))
    except (UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"curves: {path} is no CSV text ({error}); train the encoder again."
        ) from None
    for number, line in enumerate(lines, start=2):
        try:
            point = (int(line["step"]), float(line["dev_spearman"]))
        except (KeyError, TypeError, ValueError):
            point = (0, math.nan)
        if not math.isfinite(point[1]):
            raise InputError(
                f"curves: {path}, line {number}: step and dev_spearman must be numbers under "
                "a header that names them; train the encoder again."
            )
        points.append(point)
    if not points:
        raise InputError(f"curves: {path} holds no step; train the encoder again.")
    return points
