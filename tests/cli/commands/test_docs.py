"""``recx docs`` finds the site and opens it, or says how to get it."""

from __future__ import annotations

import webbrowser
from pathlib import Path

import pytest

from recx.cli import pages
from recx.cli.commands import docs
from recx.core.errors import InputError


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the addresses that would have been opened in a browser, which no test does."""
    addresses: list[str] = []
    monkeypatch.setattr(webbrowser, "open", addresses.append)
    return addresses


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of a site of two pages, of which one is a topic."""
    for module in (pages, docs):
        monkeypatch.setattr(module, "DOCS", tmp_path)
        monkeypatch.setattr(module, "SITE", tmp_path / "site")
    (tmp_path / "how-to").mkdir()
    (tmp_path / "how-to" / "frames.md").write_text("# Frames\n", encoding="utf-8")
    (tmp_path / "site" / "how-to").mkdir(parents=True)
    for name in ("index", "how-to/frames"):
        (tmp_path / "site" / f"{name}.html").write_text("", encoding="utf-8")
    return tmp_path / "site"


@pytest.mark.parametrize(("words", "page"), [([], "index.html"), (["frames"], "how-to/frames.html")])
def test_a_page_is_opened_or_only_printed(
    words: list[str], page: str, site: Path, opened: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    address = (site / page).as_uri()
    assert docs.run([*words, "--print"]) == 0
    assert (opened, capsys.readouterr().out) == ([], f"{address}\n")
    assert docs.run(words) == 0
    assert (opened, capsys.readouterr().out) == ([address], f"{address}\n")


def test_without_a_site_the_way_to_it_is_named(site: Path, opened: list[str]) -> None:
    (site / "index.html").unlink()
    with pytest.raises(InputError, match=r"has no site: run `make docs`.*python -m recx help TOPIC"):
        docs.run([])
    assert opened == []


def test_a_page_that_is_newer_than_the_site_is_told(site: Path, opened: list[str]) -> None:
    (site / "how-to" / "frames.html").unlink()
    with pytest.raises(InputError, match=r"built before the page 'frames' was written.*python -m recx help frames"):
        docs.run(["frames"])
    assert opened == []


def test_an_unknown_topic_names_the_nearest(site: Path, opened: list[str]) -> None:
    with pytest.raises(InputError, match=r"there is no page 'frame': did you mean 'frames'\?"):
        docs.run(["frame"])
    assert opened == []
