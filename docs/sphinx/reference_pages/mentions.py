"""Which pages of the documentation show a command with an option."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from repository import COPIES, DOCS

from recx.cli.pages import title_of

MOST = 6
"""Pages that are named at most."""
SECTIONS = ("start", "tutorials", "how-to", "concepts", "coming-from")
PAGES = ("scale.md", "reproductions.md")
BY_COMMAND = {"study": "study", "reproduction": "reproduce"}
"""Group whose options are words of a command -> the command."""


def pages_with(group: str, name: str, page: str) -> list[str]:
    """Return links to the pages that mention an option, from a page under docs."""
    if group in BY_COMMAND:
        option = re.compile(rf"\b{BY_COMMAND[group]} {name}(?!\w)")
    else:
        option = re.compile(rf"(?<![\w.]){group}=(?:\w+,)*{name}(?!\w)")
    found = [path for path, text in _texts().items() if option.search(text)]
    start = (DOCS / page).parent
    return [f"[{title_of(path)}]({os.path.relpath(path, start)})" for path in found[:MOST]]


@cache
def _texts() -> dict[Path, str]:
    """Return page -> its text, of all that are written by hand."""
    paths = [path for section in SECTIONS for path in sorted((DOCS / section).rglob("*.md"))]
    copies = {DOCS / page for page in COPIES.values()}
    kept = [path for path in (*paths, *(DOCS / page for page in PAGES)) if path not in copies and path.stem != "index"]
    return {path: path.read_text(encoding="utf-8") for path in kept}
