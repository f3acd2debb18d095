"""The site in docs/site, opened from its files: accessible, readable on a phone, with search and dark mode offline."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import until

pytestmark = pytest.mark.slow

SITE = Path(__file__).resolve().parents[2] / "docs" / "site"
TOO_WIDE = """
const whole = [document.documentElement, ...document.querySelectorAll(".content")];
const inside = "pre, .highlight, .table-wrapper, .math, .cell_output";
return whole.every((part) => part.scrollWidth <= part.clientWidth) ? [] : [...document.querySelectorAll("article *")]
  .filter((part) => part.getBoundingClientRect().right > whole[0].clientWidth + 1)
  .filter((part) => !part.parentElement.closest(inside))
  .map((part) => part.outerHTML.slice(0, 120)).concat([`${whole.map((part) => part.scrollWidth)} px`]).slice(0, 3)
"""
RESULTS = "return [...document.querySelectorAll('#search-results li a')].map((link) => link.getAttribute('href'))"
GROUND = "return getComputedStyle(document.body).backgroundColor"


@pytest.fixture
def pages(browser: Any) -> list[Path]:
    """Return every page of the site, which needs a browser and ``make docs``."""
    found = sorted(SITE.rglob("*.html"))
    if not found:
        pytest.skip("there is no site: make docs")
    browser.get(found[0].as_uri())
    browser.execute_script("localStorage.clear()")  # the theme that an earlier test chose
    return found


def kinds(pages: list[Path]) -> list[Path]:
    """Return the first page of each section and one of middling length, the search and the index of names.

    axe takes ten seconds and more for the longest.
    """
    sections: dict[Path, list[Path]] = {}
    for page in pages:
        sections.setdefault(page.parent, []).append(page)
    chosen = [page for page in pages if page.stem in ("index", "search", "genindex")]
    return list(dict.fromkeys([*chosen, *(sorted(some, key=_size)[len(some) // 2] for some in sections.values())]))


def _size(page: Path) -> int:
    return page.stat().st_size


def test_the_kinds_are_of_every_section(tmp_path: Path) -> None:
    names = {
        "index.html": 1,
        "search.html": 1,
        "scale.html": 9,
        "security.html": 5,
        "how-to/index.html": 1,
        "how-to/own.html": 4,
    }
    for name, size in names.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x" * size, encoding="utf-8")
    found = {str(page.relative_to(tmp_path)) for page in kinds(sorted(tmp_path.rglob("*.html")))}
    assert found == names.keys() - {"scale.html"}


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    browser: Any,
    pages: list[Path],
    look: Callable[..., None],
    violations: Callable[[], list[Any]],
    width: int,
    dark: bool,
) -> None:
    look(width=width, dark=dark)
    found = {}
    for page in kinds(pages):
        browser.get(page.as_uri())
        found[str(page.relative_to(SITE))] = violations()
    assert {page: some for page, some in found.items() if some} == {}


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_scrolls_sideways(browser: Any, pages: list[Path], look: Callable[..., None], width: int) -> None:
    look(width=width)
    found = {}
    for page in pages:
        browser.get(page.as_uri())
        found[str(page.relative_to(SITE))] = browser.execute_script(TOO_WIDE)
    assert {page: some for page, some in found.items() if some} == {}


@pytest.mark.parametrize(
    ("outer", "inner", "found"),
    [
        ("", "", True),
        ('class="content" style="overflow-x: auto"', "", True),
        ('class="content" style="overflow-x: auto"', 'class="table-wrapper" style="overflow-x: auto"', False),
        ("", 'class="highlight" style="overflow-x: auto"', False),
    ],
    ids=["page", "content", "table in content", "code"],
)
def test_what_is_too_wide_is_found(
    browser: Any, look: Callable[..., None], tmp_path: Path, outer: str, inner: str, found: bool
) -> None:
    look(width=390)
    wide = '<p style="width: 900px">wide</p>'
    page = tmp_path / "page.html"
    page.write_text(
        '<meta name="viewport" content="width=device-width">'
        f"<div {outer}><article><div {inner}>{wide}</div></article></div>",
        encoding="utf-8",
    )
    browser.get(page.as_uri())
    assert (wide in browser.execute_script(TOO_WIDE)) == found


def test_every_page_is_shown_from_its_files_alone(
    browser: Any, pages: list[Path], requested: Callable[[], set[str]]
) -> None:
    requested()
    for page in pages:
        browser.get(page.as_uri())
    assert {address for address in requested() if not address.startswith(SITE.as_uri())} == set()
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_search_finds_pages(
    browser: Any, pages: list[Path], look: Callable[..., None], requested: Callable[[], set[str]], width: int
) -> None:
    from selenium.webdriver.common.keys import Keys

    look(width=width)
    browser.get((SITE / "start" / "install.html").as_uri())
    if width == 390:
        browser.find_element("css selector", ".header-left label").click()
    box = browser.find_element("css selector", ".sidebar-search")
    until(box.is_displayed)
    box.send_keys("data frame", Keys.ENTER)
    until(lambda: any(link.startswith("how-to/frames.html") for link in browser.execute_script(RESULTS)))
    assert {address for address in requested() if not address.startswith(SITE.as_uri())} == set()
    assert [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    browser.find_element("css selector", "#search-results li a").click()
    until(lambda: "/search.html" not in browser.current_url)
    assert Path(browser.current_url.partition("?")[0].partition("#")[0].removeprefix("file://")).is_file()


@pytest.mark.parametrize("width", [1280, 390])
def test_the_theme_is_chosen_by_a_button_and_kept(
    browser: Any, pages: list[Path], look: Callable[..., None], width: int
) -> None:
    look(width=width)
    browser.get((SITE / "index.html").as_uri())
    assert _brightness(browser.execute_script(GROUND)) > 0.9
    header = ".content-icon-container" if width == 1280 else ".mobile-header"
    browser.find_element("css selector", f"{header} .theme-toggle").click()
    until(lambda: _brightness(browser.execute_script(GROUND)) < 0.2)
    browser.get((SITE / "how-to" / "own-data.html").as_uri())
    assert _brightness(browser.execute_script(GROUND)) < 0.2


def _brightness(colour: str) -> float:
    return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / (3 * 255)
