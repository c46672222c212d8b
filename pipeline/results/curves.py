"""Curves of the score on the dev pairs during training: read, listed for DVC, drawn.

No other column of a curve is used here.
"""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

from pipeline.results.figures import line, panels
from pipeline.results.numbers import CONTRASTIVE, MODIFIED

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from matplotlib.figure import Figure

# Spearman x 100 on the dev pairs by step, of an encoder's objective and seed.
Curves = dict[tuple[str, int], dict[int, float]]


def read_curves(folder: Path, encoders: Iterable[tuple[str, int]]) -> Curves:
    """Curves at `<folder>/<objective>/<seed>.csv`; an encoder without one is left out."""
    curves: Curves = {}
    for objective, seed in encoders:
        path = folder / objective / f"{seed}.csv"
        if path.is_file():
            with path.open(encoding="utf-8", newline="") as text:
                points = {
                    int(row["step"]): float(row["dev_spearman"]) for row in csv.DictReader(text)
                }
            curves[objective, seed] = points
    return curves


def rows_for_dvc(curves: Curves) -> list[dict[str, Any]]:
    """One row a point, as `dvc plots` reads them."""
    return [
        {"encoder": f"{objective}-{seed}", "step": step, "dev_spearman": score}
        for (objective, seed), points in curves.items()
        for step, score in points.items()
    ]


def untrained_score(curves: Curves) -> float | None:
    """What the backbone scores on the dev pairs: at step 0 of any curve; None if none has it."""
    return next((points[0] for points in curves.values() if 0 in points), None)


def draw(curves: Curves) -> Figure:
    """One line a curve: the family's colour and marker; originals dashed, modified ones solid.

    The backbone before training is a dotted line.
    """
    figure, ((axes,),) = panels(width=8, height=5)
    labelled: set[str] = set()
    for (objective, _), points in curves.items():
        label = None if objective in labelled else objective
        labelled.add(objective)
        axes.plot(list(points), list(points.values()), label=label, **_style(objective))
    untrained = untrained_score(curves)
    if untrained is not None:
        axes.axhline(untrained, color="0.4", linestyle=":", label="untrained")
    axes.set_xlabel("training step")
    axes.set_ylabel("dev pairs, Spearman x 100")
    axes.grid(alpha=0.3)
    if curves:
        axes.legend(loc="center left", bbox_to_anchor=(1, 0.5), frameon=False)
    else:
        axes.set_title("no curve was found")
    return figure


def _style(objective: str) -> dict[str, Any]:
    families = (*CONTRASTIVE, *MODIFIED)  # an objective's name begins with its family's
    family = next((name for name in families if f"{objective}_".startswith(f"{name}_")), None)
    if objective in (*CONTRASTIVE, *MODIFIED.values()):
        dashes = "-"
    else:
        dashes = "--" if objective in MODIFIED else "-."
    return line(families.index(family) if family else 0) | {"linestyle": dashes}
