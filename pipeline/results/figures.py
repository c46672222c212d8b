"""The one style of all figures, and their bytes. Figures are the only use of matplotlib here.

Colours of Okabe and Ito 2008, which the colour-blind tell apart; in grey, markers and line styles
do. Grids of values run from dark (low) to bright (high).
"""

import io
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

COLOURS = ("#000000", "#E69F00", "#56B4E9", "#999999", "#009E73", "#CC79A7", "#0072B2", "#D55E00")
MARKERS = ("o", "v", "^", "x", "s", "D", "P", "*")
LINES = ("-", "--", "-.", ":")
GRID_COLOURS = "cividis"
NOT_VISITED = "////"  # hatching of what training does not reach
FORMATS = ("svg", "png")
_DPI = 150


def panels(
    columns: int = 1, rows: int = 1, *, width: float = 4.4, height: float = 3.4, **shared: Any
) -> tuple[Figure, np.ndarray]:
    """A figure of equal panels.

    Args:
        columns: panels in a row.
        rows: rows.
        width: of a panel, in inches.
        height: likewise.
        shared: `sharex`, `sharey` of matplotlib's `Figure.subplots`.

    Returns:
        The figure and its (rows, columns) axes.
    """
    figure = Figure(figsize=(columns * width, rows * height), layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False, **shared)


def line(index: int) -> dict[str, Any]:
    """Colour, marker and line style of the index-th of several lines, told apart in grey too."""
    return {
        "color": COLOURS[index % len(COLOURS)],
        "marker": MARKERS[index % len(MARKERS)],
        "linestyle": LINES[index % len(LINES)],
        "markersize": 4,
    }


def image(figure: Figure, kind: str) -> bytes:
    """A picture as svg or png, without dates and with ids that equal figures share."""
    content = io.BytesIO()
    metadata = {"Date": None, "Creator": None} if kind == "svg" else {"Software": None}
    with mpl.rc_context({"svg.hashsalt": "triad"}):
        figure.savefig(content, format=kind, dpi=_DPI, metadata=metadata)
    return content.getvalue()
