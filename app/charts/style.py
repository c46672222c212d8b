"""What all charts share: colours, the empty figure, and texts that Plotly shows as they are.

Backgrounds are transparent, and the page's CSS gives text and grid lines the theme's colours.
"""

import html
import re
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from app.statistics import Values

# Of the first and the second encoder: 3:1 and more on white and on the dark theme's background,
# 1.6:1 to each other in grey, apart for the colour-blind.
COLOURS = ("#b84a00", "#4a90f7")
DASHES = ("solid", "dash")
SYMBOLS = ("circle", "diamond")
NEUTRAL = "#64748b"  # what belongs to neither encoder

SEQUENTIAL = "Cividis"
# The middle is grey, so that it is neither the light theme's background nor glares on the dark one.
_MIDDLE = "#e2e8f0"
# From the first encoder's colour to the second's.
BETWEEN = (
    (0.0, "#7a2e00"),
    (0.25, COLOURS[0]),
    (0.5, _MIDDLE),
    (0.75, COLOURS[1]),
    (1.0, "#1e3a8a"),
)

_FONT = "system-ui, sans-serif"
_INK = "#334155"  # in exported files, which have no theme
_GRID = "#cbd5e1"
_WIDTH, _LONGEST = 54, 300  # characters of a line (a phone has room for them), of a sentence
# A click on a legend would hide points but not the lines between them.
_KEPT = {"itemclick": False, "itemdoubleclick": False}
_SMALL = 12  # pixels, the size of hover texts


def figure(alt: str, name: str, height: int) -> go.Figure:
    """An empty figure.

    Args:
        alt: what it shows, for those who cannot see it.
        name: of the file when it is saved.
        height: in pixels; the width is that of its place.
    """
    made = go.Figure()
    axis = {"gridcolor": _GRID, "zeroline": False, "automargin": True, "fixedrange": True}
    made.update_layout(
        template=None,
        autosize=True,
        height=height,
        meta={"alt": _encodable(alt), "name": re.sub(r"[^\w.-]+", "-", name)[:80]},
        font={"family": _FONT, "size": 13, "color": _INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", **_KEPT},
        dragmode=False,
        hoverlabel={
            "align": "left",
            "bgcolor": "#1e293b",
            "bordercolor": NEUTRAL,
            "font": {"family": _FONT, "color": "#ffffff", "size": _SMALL},
        },
        xaxis=axis,
        yaxis=axis,
    )
    return made


def nothing(said: str, name: str) -> go.Figure:
    """A figure that says in a sentence why there is nothing to see."""
    made = figure(said, name, 120)
    made.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    lines = "<br>".join(textwrap.wrap(escaped(said), 40))
    made.add_annotation(text=lines, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5)
    return made


def escaped(text: str) -> str:
    """A text that Plotly shows as it is: no markup, template, formula, or lone surrogate.

    Plotly knows `&lt;` and numbers, but not `&quot;`: quotation marks stay.
    """
    return html.escape(_encodable(text), quote=False).replace("%{", "&#37;{").replace("$", "&#36;")


def _encodable(text: str) -> str:
    """Without lone surrogates, which JSON from a browser may hold, and of which no JSON is made."""
    return text.encode("utf-8", "replace").decode()


def label(model: str, longest: int = 40) -> str:
    """An encoder's id as a title or legend entry."""
    return escaped(model if len(model) <= longest else f"{model[: longest - 1]}…")


def shown(sentence: str) -> str:
    """A sentence as a hover text: markup is text, long lines are broken, very long ones cut."""
    text = " ".join(sentence.split())
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "<br>".join(escaped(line) for line in textwrap.wrap(cut, _WIDTH) or ["(empty)"])


def names(sentences: Sequence[str]) -> list[str]:
    """Hover texts of sentences."""
    return [shown(sentence) for sentence in sentences]


def array(values: Values | Sequence[float | None]) -> Values:
    """Numbers of any shape; None and what is not finite become nan."""
    numbers = np.array(values, float)
    return np.where(np.isfinite(numbers), numbers, np.nan)


def plain(values: Values) -> list[Any]:
    """Numbers of any shape as JSON has them: nan is None, digits that nobody sees are cut."""
    listed: list[Any] = array(values).tolist()
    return [_plain(one) for one in listed]


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(one) for one in value]
    return None if value != value else float(f"{value:.6g}")  # noqa: PLR0124 - nan


def mean(values: Values, form: str = ".2f") -> str:
    """The mean of what is known, for an alt text."""
    known = values[np.isfinite(values)]
    return format(float(known.mean()), form) if len(known) else "unknown"


def unknown(values: Mapping[str, Values]) -> str:
    """What of each named array is not known, as a sentence with a space before it; may be empty."""
    counts = {name: int(np.isnan(one).sum()) for name, one in values.items()}
    told = [f"{count:,} of {name}" for name, count in counts.items() if count]
    return f" Not known, shown as gaps: {', '.join(told)}." if told else ""
