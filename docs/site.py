"""Hook of mkdocs: what docs/ links to outside itself becomes a part of the site.

The pages are written for whoever reads them in the repository. In the site, a page or picture of
elsewhere lies below `repository/`; a link to a folder or to code becomes its name.
"""

import posixpath
import re
from pathlib import Path

from mkdocs.structure.files import File, Files, InclusionLevel

ROOT = Path(__file__).parents[1]
SHOWN = {".md", ".png", ".svg", ".json", ".yaml", ".yml"}
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s#]+)(#[^)\s]*)?\)")


def place(path: str) -> str:
    """Where a file of the repository lies in the site."""
    return path.removeprefix("docs/") if path.startswith("docs/") else f"repository/{path}"


def source(uri: str) -> str:
    """Which file of the repository a page of the site is."""
    inside = uri.startswith("repository/")
    return uri.removeprefix("repository/") if inside else f"docs/{uri}"


def target(page: str, link: str) -> str:
    """The file of the repository that a page of it links to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), link))


def is_shown(path: str) -> bool:
    """Whether the site takes it in."""
    return (ROOT / path).is_file() and Path(path).suffix in SHOWN


def on_files(files: Files, config: object) -> Files:
    """Add all that is linked to, and all that these pages link to."""
    left = [f"docs/{file.src_uri}" for file in files.documentation_pages()]
    seen = set(left)
    while left:
        page = left.pop()
        for *_, link, _ in LINK.findall((ROOT / page).read_text(encoding="utf-8")):
            path = target(page, link)
            if ":" in link or path in seen or not is_shown(path):
                continue
            seen.add(path)
            if not path.startswith("docs/"):
                file = File.generated(
                    config,  # type: ignore[arg-type]
                    place(path),
                    abs_src_path=str(ROOT / path),
                    inclusion=InclusionLevel.NOT_IN_NAV,
                )
                files.append(file)
            if path.endswith(".md"):
                left.append(path)
    return files


def on_page_markdown(markdown: str, page: object, **_: object) -> str:
    """Let links lead to where things are in the site."""
    uri = page.file.src_uri  # type: ignore[attr-defined]

    def there(match: re.Match[str]) -> str:
        picture, text, link, anchor = match.groups()
        path = target(source(uri), link)
        if ":" in link:
            return match.group()
        if not is_shown(path):
            return f"{text} (`{path}`)" if text != path else f"`{path}`"
        to = posixpath.relpath(place(path), posixpath.dirname(uri) or ".")
        return f"{picture}[{text}]({to}{anchor or ''})"

    return LINK.sub(there, markdown)
