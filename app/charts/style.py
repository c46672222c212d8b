"""What all charts share: colours, the empty figure, and sentences as hover texts.

Backgrounds are transparent, and the page's CSS gives text and grid lines the theme's colours.
"""

import html
import textwrap
from collections.abc import Sequence

import plotly.graph_objects as go

# Of the first and the second encoder: 3:1 and more on white and on the dark theme's background,
# apart in grey and for the colour-blind.
COLOURS = ("#c2570c", "#3b82f6")
DASHES = ("solid", "dash")
SYMBOLS = ("circle", "diamond")
SEQUENTIAL = "Cividis"
DIVERGING = "RdBu_r"
_INK = "#334155"  # in exported files, which have no theme
_GRID = "#cbd5e1"
_WIDTH, _LONGEST = 60, 300  # characters of a line, and of a sentence, in hover texts


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
        meta={"alt": alt, "name": name},
        font={"family": "system-ui, sans-serif", "size": 13, "color": _INK},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        margin={"l": 10, "r": 10, "t": 30, "b": 10},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
        dragmode=False,
        hoverlabel={"align": "left", "bgcolor": "#1e293b", "font": {"color": "#ffffff"}},
        xaxis=axis,
        yaxis=axis,
    )
    return made


def nothing(said: str, name: str) -> go.Figure:
    """A figure that says in a sentence why there is nothing to see."""
    made = figure(said, name, 120)
    made.update_layout(xaxis={"visible": False}, yaxis={"visible": False})
    made.add_annotation(text=said, showarrow=False, xref="paper", yref="paper", x=0.5, y=0.5)
    return made


def shown(sentence: str) -> str:
    """A sentence as a hover text: markup is text, long lines are broken, very long ones cut."""
    cut = sentence if len(sentence) <= _LONGEST else f"{sentence[: _LONGEST - 1]}…"
    return "<br>".join(html.escape(line) for line in textwrap.wrap(cut, _WIDTH) or [""])


def names(sentences: Sequence[str]) -> list[str]:
    """Hover texts of sentences."""
    return [shown(sentence) for sentence in sentences]
