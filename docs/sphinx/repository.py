"""Links from pages to files of the repository, which a site cannot follow: those that are pages here lead to them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sphinx.application import Sphinx

DOCS = Path(__file__).resolve().parents[1]
ROOT = DOCS.parent
COPIES = {
    "benchmarks/README.md": "benchmarks.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    **{
        f"plugins/{folder.name}/README.md": f"plugins/{folder.name}.md"
        for folder in sorted((ROOT / "plugins").iterdir())
        if (folder / "README.md").is_file() and folder.name != "recx-template"
    },
}
"""File of the repository -> the page under docs that is a copy of it, which git ignores."""

LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^)#\s]+)((?:#[^)\s]*)?)\)")
NAMED_BY_FILE = re.compile(r"(?<!!)\[`?(?:[\w-]+/)*([\w-]+\.md)`?\]\(((?:[^)\s]*/)?\1(?:#[^)\s]*)?)\)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Copy the pages that lie elsewhere, and change the links of every page that is read."""
    app.connect("builder-inited", lambda _: copy())
    app.connect("source-read", _read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def copy() -> None:
    """Write the copies, each with its links as they are from its place."""
    for source, page in COPIES.items():
        write(DOCS / page, linked((ROOT / source).read_text(encoding="utf-8"), source, f"docs/{page}"))


def write(page: Path, text: str) -> None:
    """Write a page, unless it is as it was, so that Sphinx does not read it again."""
    page.parent.mkdir(parents=True, exist_ok=True)
    if not page.is_file() or page.read_text(encoding="utf-8") != text:
        page.write_text(text, encoding="utf-8")


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    page = f"docs/{docname}.md"
    if (ROOT / page).is_file():
        source[0] = titled(linked(source[0], page, page))


def titled(text: str) -> str:
    """Return a text in which a link that is called by the file of its page has no name: Sphinx puts the title there."""
    return _outside_fences(text, lambda part: NAMED_BY_FILE.sub(r"[](\2)", part))


def linked(text: str, source: str, page: str) -> str:
    """Return a text whose links lead to pages of the site; a link to any other file becomes the file's name.

    Args:
        text: Markdown.
        source: Where its relative links start from, relative to the repository.
        page: The page where it will stand.
    """

    def changed(found: re.Match[str]) -> str:
        picture, name, target, anchor = found.groups()
        if "://" in target or target.startswith("mailto:"):
            return found[0]
        path = os.path.normpath(Path(source).parent / target)
        path = f"docs/{COPIES[path]}" if path in COPIES else path
        if path.startswith("docs/"):
            return f"{picture}[{name}]({os.path.relpath(path, Path(page).parent)}{anchor})"
        return name if "`" in name else f"`{name}`"

    return _outside_fences(text, lambda part: LINK.sub(changed, part))


def _outside_fences(text: str, change: Callable[[str], str]) -> str:
    """Return a text in which all is changed but what is fenced."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.DOTALL | re.MULTILINE)
    return "".join(part if part.startswith("```") else change(part) for part in parts)
