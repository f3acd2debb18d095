from __future__ import annotations

from pathlib import Path

import pytest

from recx.cli import pages
from recx.core.errors import InputError


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("index", "concepts/cache", "reference/index", "reference/options/index", "reference/options/cache"):
        page = tmp_path / f"{name}.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"text\n\n# Title of {name}\n", encoding="utf-8")
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    monkeypatch.setattr(pages, "SITE", tmp_path / "site")
    return tmp_path


def test_pages_of_the_same_name_in_different_folders_have_different_topics(docs: Path) -> None:
    assert {topic: page.relative_to(docs).as_posix() for topic, page in pages.topics().items()} == {
        "cache": "concepts/cache.md",
        "reference": "reference/index.md",
        "reference/options": "reference/options/index.md",
        "options/cache": "reference/options/cache.md",
    }


def test_the_title_of_a_page_is_its_first_heading(docs: Path) -> None:
    assert pages.title_of(pages.page_of("options/cache")) == "Title of reference/options/cache"


def test_an_unknown_page_is_told_with_the_nearest_one(docs: Path) -> None:
    with pytest.raises(InputError, match="there is no page 'options/cach': did you mean 'options/cache'"):
        pages.page_of("options/cach")
