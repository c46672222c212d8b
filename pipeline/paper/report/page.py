"""Markdown with pictures -> one HTML page that holds all it shows and asks nobody for anything."""

import base64
import html
import re
from pathlib import Path

from markdown_it import MarkdownIt

_IMAGE = re.compile(r'<img src="([^"]+\.svg)"')

_PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ max-width: 60rem; margin: 2rem auto; padding: 0 1rem; line-height: 1.5;
  font-family: system-ui, sans-serif; }}
table {{ border-collapse: collapse; display: block; overflow-x: auto; }}
th, td {{ padding: 0.2rem 0.7rem; border-bottom: 1px solid #8888; text-align: left; }}
/* The figures are drawn on white. */
img {{ max-width: 100%; background: white; border-radius: 4px; }}
blockquote {{ margin: 0 0 2rem; padding-left: 1rem; border-left: 3px solid #8888; }}
code {{ font-size: 0.92em; overflow-wrap: anywhere; }}
pre {{ overflow-x: auto; }}
</style>
</head>
<body>
{body}</body>
</html>
"""


def as_page(markdown: str, folder: Path) -> str:
    """A page.

    Args:
        markdown: the text, whose first line is its title; its pictures are SVG files by their
            path below `folder`.
        folder: where the pictures lie.

    Raises:
        OSError: a picture is missing.
    """
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)

    def embedded(match: re.Match[str]) -> str:
        content = base64.b64encode((folder / html.unescape(match[1])).read_bytes()).decode()
        return f'<img src="data:image/svg+xml;base64,{content}"'

    title = html.escape(markdown.partition("\n")[0].removeprefix("# "))
    return _PAGE.format(title=title, body=_IMAGE.sub(embedded, body))
