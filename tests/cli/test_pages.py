"""Pages of the documentation as topics and as text for a terminal."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from reference_pages import PAGES
from repository import COPIES

from recx.cli import pages
from recx.cli.commands.help import WORDS
from recx.core.errors import InputError

HOME = "# Here\n\n"


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


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder of pages: one at the top, two in a section that has a first page, and a site."""
    monkeypatch.setattr(pages, "DOCS", tmp_path)
    monkeypatch.setattr(pages, "SITE", tmp_path / "site")
    for name in ("index", "package", "scale", "how-to/index", "how-to/frames", "how-to/own/index", "site/scale"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / f"{name}.md").write_text(f"# Title of {name}\n", encoding="utf-8")
    return tmp_path


def text(folder: Path, body: str) -> str:
    page = folder / "how-to" / "here.md"
    page.write_text(HOME + body, encoding="utf-8")
    return pages.text_of(page).removeprefix(HOME)


def test_a_topic_is_a_file_or_a_section(folder: Path) -> None:
    found = {topic: page.relative_to(folder).as_posix() for topic, page in pages.topics().items()}
    assert found == {
        "scale": "scale.md",
        "how-to": "how-to/index.md",
        "frames": "how-to/frames.md",
        "how-to/own": "how-to/own/index.md",
    }
    assert pages.title_of(folder / "how-to" / "frames.md") == "Title of how-to/frames"


def test_no_two_pages_have_the_same_topic() -> None:
    assert [topic for topic, pages_ in Counter(map(pages.topic_of, pages.pages())).items() if pages_ > 1] == []


@pytest.mark.slow
def test_pages_that_are_made_have_topics_of_their_own() -> None:
    made = {pages.DOCS / page for page in COPIES.values()}
    made |= {pages.DOCS / "reference" / f"{name}.md" for make in PAGES for name in make()}
    assert len(made) > 20
    twice = Counter(map(pages.topic_of, {*pages.pages(), *made}))
    assert [topic for topic, pages_ in twice.items() if pages_ > 1] == []
    assert not WORDS.keys() & twice.keys()  # which would hide the page


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("see [frames.md](frames.md#x)", "see `help frames`"),
        ("see [the frames](frames.md)", "see the frames (`help frames`)"),
        ("see [`scale.md`](../scale.md)", "see `help scale`"),
        ("see [own](own/index.md)", "see own (`help how-to/own`)"),
        ("see [`plugin.py`](../../recx/plugin.py) and [below](#x)", "see `plugin.py` and below"),
        ("![A picture](../pictures/a.png)", "A picture"),
        ("see [it](https://a.org/frames.md)", "see [it](https://a.org/frames.md)"),
        ("```\n[a](frames.md)\n```\n[frames.md](frames.md)", "```\n[a](frames.md)\n```\n`help frames`"),
    ],
)
def test_a_link_names_the_topic_of_its_page(folder: Path, body: str, shown: str) -> None:
    assert text(folder, body) == shown


def test_what_only_the_site_understands_is_put_in_words(folder: Path) -> None:
    (folder / "how-to" / "index.md").write_text(
        "---\nkernelspec:\n  name: python3\n---\n# How-to\n```{toctree}\n:glob:\n\n*\n```\n", encoding="utf-8"
    )
    assert pages.text_of(folder / "how-to" / "index.md") == "# How-to\n- `help frames`: Title of how-to/frames\n"
    cell = "```{code-cell} ipython3\n:tags: [hide-input]\nrows = a[:1]\n```\n"
    assert text(folder, cell) == "```python\nrows = a[:1]\n```\n"
    titled = "```{toctree}\nFrames <frames>\n```\n"
    assert text(folder, titled) == "- `help frames`: Title of how-to/frames\n"
    assert text(folder, "```{toctree}\n:hidden:\n\nframes\n```\n") == "\n"
