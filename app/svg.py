"""Charts as SVG in plain strings; numbers and texts in, nothing of the page or the service.

Colours are classes of static/page.css: `side-0` is A, `side-1` is B.
"""

import html
import json
from collections.abc import Mapping, Sequence

import numpy as np

from app.statistics import Values

# Blue to yellow (cividis at five places), readable by the colour-blind; and A's colour to B's.
_SEQUENTIAL = ((0, 34, 78), (65, 77, 107), (124, 123, 120), (188, 175, 111), (254, 232, 56))
_BETWEEN = ((184, 74, 0), (232, 183, 150), (226, 232, 240), (150, 187, 244), (29, 99, 210))


def svg(width: float, height: float, body: str, alt: str, extra: str = "") -> str:
    """A picture that says what it shows to those who cannot see it."""
    role = f'role="img" aria-label="{html.escape(alt)}"'
    return f'<svg viewBox="0 0 {width:g} {height:g}" {role} {extra}>{body}</svg>'


def places(percents: Sequence[float], alt: str) -> str:
    """Where a pair stands for A (above) and B (below) on one scale of 0 to 100 %."""
    scale = "".join(
        f'<line class="grid" x1="{20 + 6 * at}" x2="{20 + 6 * at}" y1="18" y2="62"/>'
        f'<text x="{20 + 6 * at}" y="80" text-anchor="middle">{at} %</text>'
        for at in (0, 25, 50, 75, 100)
    )
    marks = "".join(
        f'<circle class="dot side-{side}" cx="{20 + 6 * percent:.1f}" cy="{28 + 24 * side}" '
        'r="10"/>'
        f'<text class="on" x="{20 + 6 * percent:.1f}" y="{32.5 + 24 * side}" '
        f'text-anchor="middle">{"AB"[side]}</text>'
        for side, percent in enumerate(percents)
    )
    return svg(640, 84, f"{scale}{marks}", alt)


def scatter(
    x: Values, y: Values, side: int, titles: tuple[str, str], limits: tuple[float, float], alt: str
) -> str:
    """Points of N pairs; y is a percentile, x lies within limits."""
    low, high = limits
    across = 50 + 330 * (x - low) / max(high - low, 1e-9)
    down = 250 - 2.3 * y
    points = "".join(
        f'<circle class="point side-{side}" data-link="row-{index}" '
        f'cx="{a:.1f}" cy="{b:.1f}" r="4"/>'
        for index, (a, b) in enumerate(zip(across, down, strict=True))
    )
    axes = "".join(
        f'<line class="grid" x1="50" x2="380" y1="{250 - 2.3 * at:g}" y2="{250 - 2.3 * at:g}"/>'
        f'<text x="44" y="{254 - 2.3 * at:g}" text-anchor="end">{at} %</text>'
        for at in (0, 50, 100)
    )
    axes += "".join(
        f'<text x="{50 + 165 * step}" y="268" text-anchor="middle">'
        f"{low + (high - low) * step / 2:g}</text>"
        for step in (0, 1, 2)
    )
    names = (
        f'<text x="215" y="286" text-anchor="middle">{html.escape(titles[0])}</text>'
        f'<text x="50" y="12">{html.escape(titles[1])}</text>'
    )
    return svg(400, 292, axes + names + points, alt)


def maps(
    values: Sequence[Values], names: Sequence[str], sentences: Sequence[str], limit: float
) -> str:
    """Maps (N, N) of A and B in percentiles and of B - A, linked: one cell is told of all three."""
    data = {
        "names": [*names, "B - A"],
        "sentences": list(sentences),
        "values": [
            np.where(np.isfinite(value), np.round(value), 0).astype(int).tolist()
            for value in values
        ],
    }
    markup = ""
    titles = (f"A: {names[0]}", f"B: {names[1]}", "B minus A")
    for title, grid, between in zip(titles, values, (False, False, True), strict=True):
        span = (-limit, limit) if between else (0.0, 100.0)
        markup += (
            f"<figure><figcaption>{html.escape(title)}</figcaption>"
            f"{_map(grid, sentences, span, title, between=between)}"
            f"{_key(span, between=between)}</figure>"
        )
    text = json.dumps(data, ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<div class="maps"><script type="application/json">{text}</script>'
        '<p class="readout" role="status">Point at a cell, or use the arrow keys on a map.</p>'
        f'<div class="three">{markup}</div></div>'
    )


def _map(
    values: Values,
    sentences: Sequence[str],
    span: tuple[float, float],
    title: str,
    *,
    between: bool,
) -> str:
    count = len(sentences)
    labelled = count <= 12
    left = 172 if labelled else 26
    size = 300 / count
    cells = "".join(
        f'<rect x="{left + size * column:.2f}" y="{size * row:.2f}" width="{size:.2f}" '
        f'height="{size:.2f}" fill="{_colour(values[row, column], span, between=between)}" '
        f'data-cell="{row},{column}"/>'
        for row in range(count)
        for column in range(count)
    )
    stride = max(1, count // 10)
    names = "".join(
        f'<text x="{left - 6}" y="{size * (row + 0.5) + 4:.1f}" text-anchor="end">'
        f"{html.escape(_short(sentence) if labelled else str(row + 1))}</text>"
        for row, sentence in enumerate(sentences)
        if labelled or row % stride == 0
    )
    off = values[~np.eye(count, dtype=bool)]
    alt = f"{title}: {count} sentences with each other, {np.nanmean(off):.0f} on average."
    return svg(left + 304, 304, cells + names, alt, 'tabindex="0" class="map"')


def _key(span: tuple[float, float], *, between: bool) -> str:
    kind, sign = ("between", "+") if between else ("sequential", "")
    return (
        f'<div class="colours {kind}"><span>{span[0]:.0f}</span><i></i>'
        f"<span>{sign}{span[1]:.0f} %</span></div>"
    )


def _colour(value: float, span: tuple[float, float], *, between: bool) -> str:
    if not np.isfinite(value):
        return "none"
    stops = _BETWEEN if between else _SEQUENTIAL
    at = float(np.clip((value - span[0]) / (span[1] - span[0]), 0, 1)) * (len(stops) - 1)
    red, green, blue = (
        round(float(np.interp(at, range(len(stops)), channel)))
        for channel in zip(*stops, strict=True)
    )
    return f"#{red:02x}{green:02x}{blue:02x}"


def _short(sentence: str, most: int = 25) -> str:
    return sentence if len(sentence) <= most else f"{sentence[: most - 1]}…"


def curves(
    rows: Sequence[Sequence[Mapping[str, float | None]]], key: str, *, symmetric: bool = False
) -> str:
    """One measure of A and B over the steps; `symmetric`: logarithmic on both sides of 0."""
    points = [
        [
            (step, value)
            for step, value in ((row.get("step"), row.get(key)) for row in line)
            if step is not None and value is not None
        ]
        for line in rows
    ]
    everything = np.array([point for line in points for point in line], float)
    if not len(everything):
        return '<p class="note">Not recorded for these encoders.</p>'
    finite = everything[np.isfinite(everything).all(axis=1)]
    last = max(float(finite[:, 0].max()), 1.0)

    def scaled(value: float) -> float:
        return float(np.sign(value) * np.log10(1 + abs(value))) if symmetric else value

    low, high = scaled(float(finite[:, 1].min())), scaled(float(finite[:, 1].max()))
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)

    def at(step: float, value: float) -> str:
        across = 46 + 340 * step / last
        return f"{across:.1f} {170 - 150 * (scaled(value) - low) / (high - low):.1f}"

    body = "".join(
        f'<text x="40" y="{y}" text-anchor="end">{float(f"{value:.2g}"):g}</text>'
        for y, value in ((24, finite[:, 1].max()), (174, finite[:, 1].min()))
    )
    body += (
        f'<text x="46" y="190">step 0</text><text x="386" y="190" text-anchor="end">{last:g}</text>'
    )
    texts = []
    for side, line in enumerate(points):
        visible = [(step, value) for step, value in line if np.isfinite(value)]
        if visible:
            path = "L".join(at(step, value) for step, value in visible)
            body += f'<path class="line side-{side}" d="M{path}"/>'
            x, y = at(*visible[-1]).split()
            body += f'<circle class="dot side-{side}" cx="{x}" cy="{y}" r="4"/>'
            texts.append(f"{'AB'[side]} from {visible[0][1]:.3g} to {visible[-1][1]:.3g}")
    return svg(400, 196, body, f"{key.replace('_', ' ')} over the steps: {'; '.join(texts)}.")
