"""Curves of the score on the dev pairs during training: read, listed for DVC, drawn.

No other column of a curve is used here.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.results.figures import COLOURS, MARKERS, panels
from pipeline.results.numbers import CONTRASTIVE, MODIFIED, ORIGINALS

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

FAMILIES = (*CONTRASTIVE, *ORIGINALS)  # an objective's name begins with its family's


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
            with path.open(encoding="utf-8", newline="") as text:
                rows = list(csv.DictReader(text))
            steps = tuple(int(row["step"]) for row in rows)
            scores = tuple(float(row["dev_spearman"]) for row in rows)
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


def draw(curves: list[Curve]) -> Figure:
    """One line a curve: the family's colour and marker; originals dashed, modified ones solid.

    The backbone before training is a dotted line.
    """
    figure, ((axes,),) = panels(width=8, height=5)
    labelled: set[str] = set()
    for curve in curves:
        label = None if curve.objective in labelled else curve.objective
        labelled.add(curve.objective)
        axes.plot(curve.steps, curve.dev_spearman, label=label, **_style(curve.objective))
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
    family = next((name for name in FAMILIES if f"{objective}_".startswith(f"{name}_")), None)
    index = FAMILIES.index(family) if family else 0
    if objective in CONTRASTIVE or objective in MODIFIED.values():
        line = "-"
    else:
        line = "--" if objective in ORIGINALS else "-."
    return {"color": COLOURS[index], "marker": MARKERS[index], "markersize": 4, "linestyle": line}
