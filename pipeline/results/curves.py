"""Curves of the score on the dev pairs during training: read, listed for DVC, drawn.

No other column of a curve is used here.
"""

import csv
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pipeline.results.figures import line, panels
from pipeline.results.names import CONTRASTIVE, MODIFIED
from pipeline.results.spread import spread

UNTRAINED_COLOURS = ("0.3", "0.6")  # greys, of the backbone with [CLS] and with the mean

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


def draw(curves: Curves, untrained: Mapping[str, float]) -> Figure:
    """One line an objective, its mean over seeds with a band of one deviation to either side.

    Of several families that have originals or modified forms each has a panel of its own, and the
    contrastive objectives have one. Originals are dashed, modified forms solid; what the backbone
    scores untrained, with each pooling, is a dotted line.
    """
    names = list(dict.fromkeys(objective for objective, _ in curves))
    families = [name for name in MODIFIED if any(_family(objective) == name for objective in names)]
    rest = [name for name in names if _family(name) not in families]
    groups = [[name for name in names if _family(name) == family] for family in families]
    groups_shown = [rest, *groups] if len(families) > 1 else [names]
    groups_shown = [group for group in groups_shown if group] or [[]]
    columns = min(len(groups_shown), 3)
    size = {"width": 8, "height": 5} if columns == 1 else {"width": 4, "height": 3.4}
    figure, axes = panels(columns, -(-len(groups_shown) // columns), sharey=True, **size)
    for place, panel in enumerate(axes.flat):
        if place < len(groups_shown):
            _draw_panel(panel, groups_shown[place], curves, untrained)
        else:
            panel.set_axis_off()
    return figure


def _draw_panel(
    panel: Axes, names: list[str], curves: Curves, untrained: Mapping[str, float]
) -> None:
    for name in names:
        by_seed = [points for (objective, _), points in curves.items() if objective == name]
        steps = [step for step in by_seed[0] if all(step in points for points in by_seed)]
        scores = [spread([points[step] for points in by_seed]) for step in steps]
        style = _style(name)
        panel.plot(steps, [score.mean for score in scores], label=name, **style)
        if len(by_seed) > 1:
            low = [score.mean - (score.deviation or 0) for score in scores]
            high = [score.mean + (score.deviation or 0) for score in scores]
            panel.fill_between(steps, low, high, color=style["color"], alpha=0.15, linewidth=0)
    for (name, score), colour in zip(untrained.items(), UNTRAINED_COLOURS, strict=False):
        panel.axhline(score, color=colour, linestyle=":", label=name)
    panel.set_xlabel("training step")
    place = panel.get_subplotspec()
    if place is not None and place.is_first_col():
        panel.set_ylabel("dev pairs, Spearman x 100")
    panel.grid(alpha=0.3)
    if names:
        panel.legend(loc="best", fontsize="small", frameon=False, handlelength=3.5)
    else:
        panel.set_title("no curve was found")


def _family(objective: str) -> str | None:
    families = (*CONTRASTIVE, *MODIFIED)  # an objective's name begins with its family's
    return next((name for name in families if f"{objective}_".startswith(f"{name}_")), None)


def _style(objective: str) -> dict[str, Any]:
    family = _family(objective)
    if objective in (*CONTRASTIVE, *MODIFIED.values()):
        dashes = "-"
    else:
        dashes = "--" if objective in MODIFIED else "-."
    index = (*CONTRASTIVE, *MODIFIED).index(family) if family else 0
    return line(index) | {"linestyle": dashes}
