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
    """Return topic -> its page.

    A page's topic is its file's name, that of a section's first page its folder's. Of pages in a folder of a section
    it is both, ``options/ranker``, and of the first of them those of section and folder, ``reference/options``.
    """
    others = (DOCS / "index.md", DOCS / "package.md")
    pages = [page for page in sorted(DOCS.rglob("*.md")) if SITE not in page.parents and page not in others]
    return {_topic(page): page for page in pages}


def _topic(page: Path) -> str:
    parts = page.relative_to(DOCS).with_suffix("").parts
    named = parts[:-1] if parts[-1] == "index" else parts
    return named[-1] if len(parts) <= 2 else "/".join(named[-2:])


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
