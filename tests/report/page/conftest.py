"""A small run with its page, and a reader of pages."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path

import pytest

import recx

VOID = {"meta", "link", "input", "br", "hr", "img"}


class Page(HTMLParser):
    """Reads a page: its elements in order with their attributes, and the text within elements of a name."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self.open: list[str] = []
        self.feed(text)
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len(dict(attrs)) == len(attrs), f"duplicate attribute in {tag}"
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def names(self) -> list[str]:
        return [name for name, _ in self.elements]

    def text(self) -> str:
        return " ".join(" ".join(data for name, data in self.texts if name not in ("script", "style")).split())

    def inside(self, name: str) -> list[str]:
        return [data for of, data in self.texts if of == name]


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with runs of a small news site: the default, one with another ranker, one that predicted, and one
    whose retriever is not fitted again, so that the first of two retrieval passes comes from the stage cache.
    """
    home = tmp_path_factory.mktemp("home")
    small = ["tracker=console", "dataset.readers=300", "dataset.articles=150"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        recx.run(["+experiment=news", *small, "name=linear"])
        recx.run(["+experiment=news", *small, "name=identity", "ranker=identity"])
        recx.run(["+experiment=news", *small, "name=predict", "fold=predict"])
        recx.run(["+experiment=news", *small, "name=half", "refit=false"])
    return home


@pytest.fixture(scope="session")
def folders(home: Path) -> dict[str, Path]:
    """Return the folders of the runs by name."""
    return {path.name.rpartition("_")[2]: path for path in home.glob("outputs/2*/*")}


@pytest.fixture(scope="session")
def reader() -> type[Page]:
    return Page
