"""What an analysis leaves: data as JSON, with the words that explain it, and a figure of it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipeline.machine.files import write_together
from pipeline.results.figures import FORMATS, image

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from matplotlib.figure import Figure


# Lists without lists or mappings in them, over several lines.
_INNERMOST = re.compile(r"\[\n[^\[\]{}]*\n *\]")


@dataclass(frozen=True)
class Exhibit:
    """A figure with its data.

    Attributes:
        name: of its files.
        title: a few words.
        caption: what is shown, the axes with their units, how to read it.
        settings: what it was made with: all that another run must equal.
        data: the numbers that are drawn, and others that belong to them; plain JSON, no NaN.
        figure: the picture.
    """

    name: str
    title: str
    caption: str
    settings: Mapping[str, Any]
    data: Mapping[str, Any]
    figure: Figure


def write_exhibits(folder: Path, exhibits: Iterable[Exhibit]) -> None:
    """Write `<name>.json`, `.svg` and `.png` of each; equal exhibits give equal bytes.

    Raises:
        WriteError: the folder cannot be written.
    """
    contents: dict[Path, bytes] = {}
    for one in exhibits:
        words = {"title": one.title, "caption": one.caption}
        contents[folder / f"{one.name}.json"] = as_json(
            {**words, "settings": one.settings, "data": one.data}
        )
        for kind in FORMATS:
            contents[folder / f"{one.name}.{kind}"] = image(one.figure, kind)
    write_together(contents)


def as_json(content: Mapping[str, Any]) -> bytes:
    """JSON that git shows well, a list of numbers a line; NaN and infinity are refused."""
    text = json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False)
    text = _INNERMOST.sub(lambda found: re.sub(r"\n *", " ", found[0]), text)
    return f"{text}\n".encode()
