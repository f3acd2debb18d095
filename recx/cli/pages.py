"""The pages of the documentation: where they lie, and which one a word means."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from recx.core.errors import InputError, did_you_mean

_PACKAGE = Path(__file__).resolve().parents[1]
DOCS = _PACKAGE / "docs" if (_PACKAGE / "docs").is_dir() else _PACKAGE.parent / "docs"
"""Their folder: in the package where recx was installed from a wheel, beside it in a checkout."""
SITE = DOCS / "site"
"""What ``make docs`` builds of them; a wheel has it if it was built before the wheel was."""

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", flags=re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"!?\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\((?![\w+.-]+:)([^)#\s]*)(?:#[^)\s]*)?\)")


def topics() -> Mapping[str, Path]:
    """Return topic -> its page.

    A page's topic is its file's name, that of a section's first page its folder's. Of pages in a folder of a section
    it is both, ``options/ranker``, and of the first of them those of section and folder, ``reference/options``.
    """
    return {topic_of(page): page for page in pages()}


def pages() -> list[Path]:
    """Return every page that is a topic."""
    others = (DOCS / "index.md", DOCS / "package.md")
    folders = [folder for folder in sorted(DOCS.iterdir()) if folder.is_dir() and folder != SITE]
    found = sorted([*DOCS.glob("*.md"), *(page for folder in folders for page in folder.rglob("*.md"))])
    return [page for page in found if page not in others]


def topic_of(page: Path) -> str:
    """Return the topic of a page."""
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


def text_of(page: Path) -> str:
    """Return a page in plain Markdown, whose links name topics: what only the site understands is put in words.

    The head of a tutorial goes, its cells are Python, and a table of contents is a list of pages.
    """
    text = re.sub(r"\A---\n.*?^---\n", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    known = {path: topic for topic, path in topics().items()}
    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_linked(text[end : fence.start()], page, known), _fence(fence["info"].strip(), fence["body"], page)]
        end = fence.end()
    return "".join([*parts, _linked(text[end:], page, known)])


def _linked(text: str, page: Path, known: Mapping[Path, str]) -> str:
    def named(found: re.Match[str]) -> str:
        name, target = found.groups()
        topic = known.get(Path(os.path.normpath(page.parent / target))) if target else None
        if topic is None:
            return name
        same = Path(name.strip("`")).stem == Path(target).stem
        return f"`help {topic}`" if same else f"{name} (`help {topic}`)"

    return _LINK.sub(named, text)


def _fence(info: str, body: str, page: Path) -> str:
    if info == "{toctree}" and ":hidden:" in body.split():
        return ""
    if info == "{toctree}":
        lines = [line for line in body.splitlines() if line and not line.startswith(":")]
        entries = [line.rpartition("<")[2].removesuffix(">") for line in lines]  # "Title <page>" or "page"
        below = {path for entry in entries for path in page.parent.glob(f"{entry}.md")} - {page}
        return "\n".join(f"- `help {topic_of(path)}`: {title_of(path)}" for path in sorted(below))
    if info.startswith("{code-cell}"):
        code = re.sub(r"^:.*\n", "", body, flags=re.MULTILINE)
        return f"```python\n{code}```"
    return f"```{info}\n{body}```"
