"""The pages of several runs and of a benchmark in a browser: no errors or requests; readable on phones and on paper."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recx.report.page import write
from recx.report.page.render import render

pytestmark = pytest.mark.slow

CUT_OFF = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("main svg, main table, main p, main li, main h2")]
  .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > width + 1)
  .map((part) => `${part.tagName} ${part.id} ${Math.round(part.getBoundingClientRect().right)}`)
"""
OPEN = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"
OPEN_PARTS = "document.querySelectorAll('section > details').forEach((part) => { part.open = true; })"
WIDTH = "return document.documentElement.scrollWidth"
SLICES = """
return [...document.querySelectorAll("[id^=slice-]")].filter((part) => part.tagName === "TABLE").map((table) => [
  table.parentElement.scrollWidth - table.parentElement.clientWidth,
  Math.max(...[...table.querySelectorAll("tbody th")].map((cell) => cell.getBoundingClientRect().height)),
  parseFloat(getComputedStyle(table).lineHeight) * 2])
"""
NAMES = """
return [...document.querySelectorAll("summary, [role=region][aria-label]")].filter((part) =>
  part.closest("figure")).map((part) => part.getAttribute("aria-label") ?? part.textContent)
"""
LINES = """
const names = "#tests tbody th, #metrics tbody th, #taken tbody th, #all-pairs tbody td:first-child";
return [...document.querySelectorAll(names)].map((cell) =>
  cell.firstElementChild.getClientRects().length)
"""


@pytest.fixture(scope="module")
def addresses(run_folder: Path, recx: Callable[..., Path], small: tuple[str, ...]) -> dict[str, str]:
    """Return the addresses of pages: two runs side by side, one with a long name, three, a benchmark, and a sweep."""
    long = "name=of_a_length_that_nobody_should_give_to_a_run_and_yet_somebody_does"
    home = recx(*small, "tracker=console", "ranker=identity", long)
    [other] = (home / "outputs").glob("*/*_of_a_length*")
    recx("report", str(run_folder), str(other), "--output", "both.html")
    recx("report", *map(str, (run_folder, other, run_folder)), "--output", "three.html")
    words = ["dataset.queries=60", "dataset.features=8", "~benchmark.rankers.bm25", "tracker=console"]
    recx("+experiment=rerank_benchmark", *words, "+benchmark.cost_per_query.linear=0.001")
    recx("report", "last", "--output", "benchmark.html")
    recx("-m", *small, "tracker=console", "fold=valid", "ranker=identity,linear")
    [sweep] = (home / "outputs" / "sweeps").glob("*/sweep.html")
    pages = {name: (home / f"{name}.html").as_uri() for name in ("both", "three", "benchmark")}
    return {**pages, "sweep": sweep.as_uri()}


@pytest.mark.parametrize("name", ["both", "three", "benchmark"])
def test_it_has_no_errors_requests_nothing_and_fits_a_phone(
    browser: Any,
    look: Callable[..., None],
    requested: Callable[[], set[str]],
    addresses: dict[str, str],
    name: str,
) -> None:
    look(width=390)
    browser.get(addresses[name])
    assert browser.get_log("browser") == []
    assert requested() == {addresses[name]}
    assert browser.execute_script(WIDTH) <= 390
    browser.execute_script(OPEN)
    assert browser.execute_script(WIDTH) <= 390
    assert set(browser.execute_script(LINES)) == {1}  # a metric's name is one line


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("name", ["both", "three", "benchmark", "sweep"])
def test_axe_finds_nothing(
    browser: Any,
    look: Callable[..., None],
    violations: Callable[[], list[Any]],
    addresses: dict[str, str],
    name: str,
    width: int,
    dark: bool,
) -> None:
    look(width=width, dark=dark)
    browser.get(addresses[name])
    assert violations() == []


@pytest.mark.parametrize("name", ["both", "three", "benchmark"])
def test_every_table_fits_on_paper(
    browser: Any, look: Callable[..., None], addresses: dict[str, str], name: str
) -> None:
    look(width=718, media="print")  # A4 with margins of 1 cm
    browser.get(addresses[name])
    browser.execute_script(OPEN_PARTS)
    assert browser.execute_script(CUT_OFF) == []
    assert browser.execute_script("return document.querySelectorAll('#tests thead th').length") == 16


@pytest.mark.parametrize("name", ["both", "three", "benchmark"])
def test_the_numbers_of_every_figure_have_a_unique_name(browser: Any, addresses: dict[str, str], name: str) -> None:
    browser.get(addresses[name])
    names = browser.execute_script(NAMES)
    assert len(names) >= 4
    assert len(set(names)) == len(names)


def test_a_benchmark_shows_how_it_was_run(browser: Any, addresses: dict[str, str]) -> None:
    browser.get(addresses["benchmark"])
    shown = browser.execute_script("return document.getElementById('run').textContent")
    for words in ("python -m recx +experiment=rerank_benchmark", "sample.queries", "warmup", "batch size", "currency"):
        assert words in shown
    titles = browser.execute_script("return [...document.querySelectorAll('figcaption')].map((one) => one.textContent)")
    assert {"Quality against latency", "Quality against cost"} <= set(titles)


@pytest.fixture
def page_data(run_folder: Path) -> dict[str, Any]:
    return write.read(run_folder)


def test_slices_of_many_users_fit_a_small_window(
    browser: Any, look: Callable[..., None], page_data: dict[str, Any], tmp_path: Path
) -> None:
    for one in page_data["slices"]:
        for group in one["groups"]:
            group |= {"users": 12345, "higher": 4567, "lower": 3456}
    page_data["slices"][0]["groups"][0]["label"] = "25125 to 92492"
    (tmp_path / "report.html").write_text(render(page_data), encoding="utf-8")
    look(width=860)
    browser.get((tmp_path / "report.html").as_uri())
    browser.execute_script("document.querySelectorAll('#slices details').forEach((part) => { part.open = true; })")
    found = browser.execute_script(SLICES)
    assert len(found) == len(page_data["slices"])
    for beyond, height, two_lines in found:
        assert beyond <= 0
        assert height < two_lines


def test_a_table_of_one_user_keeps_its_rows_together(browser: Any, page_data: dict[str, Any], tmp_path: Path) -> None:
    page_data["examples"]["rows"] = page_data["examples"]["rows"][:1]
    (tmp_path / "report.html").write_text(render(page_data), encoding="utf-8")
    browser.get((tmp_path / "report.html").as_uri())
    rows = "return [...document.querySelector('#users').tBodies[0].rows].map((row) => row.className)"
    before = browser.execute_script(rows)
    for _ in range(2):
        browser.execute_script("document.querySelectorAll('#users th button').forEach((one) => one.click())")
        assert browser.execute_script(rows) == before
    assert browser.get_log("browser") == []
