"""The pages of the documentation: where they lie, and which one a word means."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from recx.core.errors import InputError, did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]
DOCS = _PACKAGE / "docs" if (_PACKAGE / "docs").is_dir() else _PACKAGE.parent / "docs"
"""Their folder: in the package where recx was installed from a wheel, beside it in a checkout."""
SITE = DOCS / "site"
"""What ``make docs`` builds of them; a wheel has it if it was built before the wheel was."""


def topics() -> Mapping[str, Path]:
    """Return topic -> its page. A page's topic is its file's name, that of a section's first page its folder's."""
    others = (DOCS / "index.md", DOCS / "package.md")
    pages = [page for page in sorted(DOCS.rglob("*.md")) if SITE not in page.parents and page not in others]
    return {page.parent.name if page.stem == "index" else page.stem: page for page in pages}


def page_of(topic: str) -> Path:
    """Return the page of a topic.

    Raises:
        InputError: There is no such page.
    """
    known = topics()
    if topic not in known:
        raise InputError(f"there is no page {topic!r}: {did_you_mean(topic, known)}")
    return known[topic]


def title_of(page: Path) -> str:
    """Return the title of a page, its first heading."""
    with page.open(encoding="utf-8") as lines:
        return next((line[2:].strip() for line in lines if line.startswith("# ")), page.stem)
