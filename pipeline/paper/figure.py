"""What an analysis leaves: a picture, its numbers as JSON, and the words that explain it."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib import figure

from pipeline.machine.files import write_together
from pipeline.paper.text import one_line, words
from pipeline.results.figures import FORMATS, image
from pipeline.results.layout import rounded

# Lists without lists or mappings in them, over several lines.
_INNERMOST = re.compile(r"\[\n[^\[\]{}]*\n *\]")


@dataclass(frozen=True)
class Figure:
    """A picture with its numbers.

    Attributes:
        name: of its files.
        title: a few words.
        caption: what is shown, the axes with their units, how to read it.
        settings: what it was made with: all that another run must equal.
        data: the numbers that are drawn, and others that belong to them.
        picture: of matplotlib.
    """

    name: str
    title: str
    caption: str
    settings: Mapping[str, Any]
    data: Mapping[str, Any]
    picture: figure.Figure


def explained(
    name: str,
    picture: figure.Figure,
    settings: Mapping[str, Any],
    data: Mapping[str, Any],
    macro: str | None = None,
    **more: Any,
) -> Figure:
    """A figure with its title and caption.

    Args:
        name: of its files.
        picture: of matplotlib.
        settings: as `Figure` has them.
        data: likewise.
        macro: of `text.md.jinja`: a line that is the title, then the caption; usually the name.
        more: what the words tell beside settings and data.
    """
    text = words(macro or name, settings=settings, data=data, **more)
    title, _, caption = text.partition("\n")
    return Figure(name, title, one_line(caption).strip(), settings, data, picture)


def write_figures(folder: Path, figures: Iterable[Figure]) -> None:
    """Write `<name>.json`, `.svg` and `.png` of each; equal figures give equal bytes.

    Raises:
        WriteError: the folder cannot be written.
    """
    contents: dict[Path, bytes] = {}
    for picture in figures:
        content = {
            "title": picture.title,
            "caption": picture.caption,
            "settings": picture.settings,
            "data": rounded(picture.data),
        }
        contents[folder / f"{picture.name}.json"] = as_json(content)
        for kind in FORMATS:
            contents[folder / f"{picture.name}.{kind}"] = image(picture.picture, kind)
    write_together(contents)


def as_json(content: Mapping[str, Any]) -> bytes:
    """JSON that git shows well, a list of numbers a line; NaN and infinity are refused."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    text = _INNERMOST.sub(lambda match: re.sub(r"\n *", " ", match[0]), text)
    return f"{text}\n".encode()
