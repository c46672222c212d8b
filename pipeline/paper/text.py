"""The words of the report and of the figures: macros of `text.md.jinja`, filled with numbers."""

import re
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined


def words(macro: str, **numbers: Any) -> str:
    """A macro's text; paragraphs are parted by one empty line, whatever was left out."""
    text = str(getattr(_MACROS, macro)(**numbers))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def one_line(text: str) -> str:
    """Lines joined to one, which it ends."""
    return " ".join(line.strip() for line in text.splitlines() if line.strip()) + "\n"


_ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    autoescape=False,  # noqa: S701 - Markdown; the page escapes it
)
_ENVIRONMENT.filters["one_line"] = one_line
_MACROS: Any = _ENVIRONMENT.get_template("text.md.jinja").module
