"""The dev curves as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.figure import Figure

from pipeline.results.curves import untrained_score
from pipeline.results.figures import COLOURS, MARKERS
from pipeline.results.numbers import CONTRASTIVE, ORIGINALS

if TYPE_CHECKING:
    from pipeline.results.curves import Curve

FAMILIES = (*CONTRASTIVE, *ORIGINALS)


def draw(curves: list[Curve]) -> Figure:
    """One line a curve: the family's colour and marker; originals dashed, modified ones solid.

    The backbone before training is a dotted line.
    """
    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
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
    own = (name for name in FAMILIES if objective == name or objective.startswith(f"{name}_"))
    family = next(own, None)
    index = FAMILIES.index(family) if family else 0
    rest = objective.removeprefix(family) if family else objective
    dashed = "--" if objective in ORIGINALS else "-."
    solid = objective in CONTRASTIVE or rest == "_modified"
    return {
        "color": COLOURS[index],
        "marker": MARKERS[index],
        "markersize": 4,
        "linestyle": "-" if solid else dashed,
    }
