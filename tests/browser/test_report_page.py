"""``report.html`` in a browser: no errors, no requests; it sorts, searches, and is readable on a phone and on paper."""

from __future__ import annotations

import base64
import csv
import json
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from recx.report.page.render import render

pytestmark = pytest.mark.slow

SCRIPT, CHINESE, ARABIC = "<script>window.hacked = 1</script>", "推荐系统的报告", "توصية بالأخبار"
NAMELESS = """
return [...document.querySelectorAll("svg:not([aria-hidden=true]), img")].filter((picture) =>
  !picture.getAttribute("aria-label") && !picture.getAttribute("alt")).length
"""
UNSCOPED = """
return [...document.querySelectorAll("th")].filter((cell) => !["col", "row", "rowgroup"].includes(cell.scope)).length
"""
UNLABELLED = """
return [...document.querySelectorAll("input, select, [role=region], nav")].filter((part) =>
  !part.labels?.length && !part.getAttribute("aria-label") && !part.getAttribute("aria-labelledby")).length
"""
CUT_OFF = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("main svg, main table, main p, main li, main h2")]
  .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > width + 1)
  .map((part) => `${part.tagName} ${part.id} ${Math.round(part.getBoundingClientRect().right)}`)
"""
INKS = """
const words = [...document.querySelectorAll("svg[role=img] text")];
return [...new Set(words.map((part) => getComputedStyle(part).fill))];
"""
TWICE = """
const ids = [...document.querySelectorAll("[id]")].map((part) => part.id);
return ids.length - new Set(ids).size;
"""
SHOWN = "return [...document.querySelectorAll('#users > tbody')].filter((body) => !body.hidden).length"
CLIPPED = """
return [...document.querySelectorAll("figure svg[role=img] text")].filter((label) => {
  const box = label.getBBox();
  const { width, height } = label.ownerSVGElement.viewBox.baseVal;
  return box.x < -1 || box.x + box.width > width + 1 || box.y < -1 || box.y + box.height > height + 1;
}).map((label) => label.textContent)
"""
CROSSED = """
const place = (part) => part.getBoundingClientRect();
const overlap = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;
return [...document.querySelectorAll("figure svg[role=img]")].flatMap((picture) => {
  const whiskers = [...picture.querySelectorAll("path[stroke='var(--ink)']")].map(place);
  return [...picture.querySelectorAll("text")].filter((label) =>
    whiskers.some((whisker) => overlap(place(label), whisker))).map((label) => label.textContent);
})
"""
SMALLEST = """
const sizes = [...document.querySelectorAll("figure svg[role=img]")].map((picture) => {
  const scale = picture.getBoundingClientRect().width / picture.viewBox.baseVal.width;
  return scale * parseFloat(getComputedStyle(picture).fontSize);
});
return Math.min(...sizes);
"""


@pytest.fixture(scope="module")
def address(run_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the run's page, rendered again with hostile and foreign titles."""
    page_data = json.loads((run_folder / "report.json").read_text(encoding="utf-8"))
    for item, text in zip(page_data["examples"]["items"], (SCRIPT, CHINESE, ARABIC), strict=False):
        item["text"] = text
    page_data["examples"]["rows"][0]["user"] = SCRIPT
    page = tmp_path_factory.mktemp("page") / "report.html"
    page.write_text(render(page_data), encoding="utf-8")
    return page.as_uri()


@pytest.fixture
def page(browser: Any, address: str) -> Any:
    browser.get(address)
    return browser


def column(page: Any, table: str, place: int) -> list[str]:
    script = (
        "return [...document.querySelectorAll(arguments[0])].map((row) => row.cells[arguments[1]].textContent.trim())"
    )
    return list(
        page.execute_script(script, f"#{table} > tbody > tr:first-child, #{table} > tbody:only-of-type > tr", place)
    )


def test_it_opens_fast_without_errors_or_requests(
    page: Any, address: str, run_folder: Path, requested: Callable[[], set[str]]
) -> None:
    assert page.get_log("browser") == []
    assert requested() == {address}
    assert page.execute_script("return window.hacked") is None
    entry = page.execute_script("return performance.getEntriesByType('navigation')[0].toJSON()")
    assert 0 < entry["loadEventEnd"] < 2000
    assert (run_folder / "report.html").stat().st_size < 5 * 2**20


def test_the_policy_of_the_page_blocks_requests(page: Any) -> None:
    reached: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            reached.append(self.path)
            self.send_error(404)

        def log_message(self, *args: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Listening) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        page.execute_async_script(f"fetch('{address}/fetch').catch(() => 0).finally(arguments[0])")
        page.execute_async_script(
            "const image = new Image(); image.onload = image.onerror = () => arguments[0](1); "
            f"image.src = '{address}/image.png'"
        )
        assert reached == []
        server.shutdown()
    refused = " ".join(entry["message"] for entry in page.get_log("browser"))
    assert "Content Security Policy" in refused


def test_titles_stay_text_in_their_own_direction(page: Any) -> None:
    text = page.execute_script("return document.body.textContent")
    assert {SCRIPT, CHINESE, ARABIC} <= {title for title in (SCRIPT, CHINESE, ARABIC) if title in text}
    script = (
        "return [...document.querySelectorAll('bdi')].filter((part) => part.textContent.includes(arguments[0]))"
        ".map((part) => part.dir)"
    )
    assert set(page.execute_script(script, ARABIC)) == {"auto"}


def test_a_table_sorts_by_click_and_by_keyboard(page: Any) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.common.keys import Keys

    page.execute_script("document.getElementById('metrics').closest('details').open = true")
    heading = page.find_element(By.XPATH, "//table[@id='metrics']//th[contains(., 'Mean')]")
    button = heading.find_element(By.TAG_NAME, "button")
    place = int(page.execute_script("return arguments[0].cellIndex", heading))
    before = column(page, "metrics", place)
    button.click()
    assert heading.get_attribute("aria-sort") == "ascending"
    rising = column(page, "metrics", place)
    assert rising == sorted(before, key=float)
    assert rising != before
    page.execute_script("arguments[0].focus()", button)
    page.switch_to.active_element.send_keys(Keys.ENTER)
    assert heading.get_attribute("aria-sort") == "descending"
    assert list(map(float, column(page, "metrics", place))) == sorted(map(float, before), reverse=True)
    page.switch_to.active_element.send_keys(Keys.SPACE)
    assert heading.get_attribute("aria-sort") == "ascending"


def test_the_search_finds_a_user(page: Any) -> None:
    from selenium.webdriver.common.by import By

    everybody = page.execute_script("return document.querySelectorAll('#users > tbody').length")
    assert everybody > 20
    assert page.execute_script(SHOWN) == 20
    page.find_element(By.ID, "more").click()
    assert page.execute_script(SHOWN) == min(everybody, 40)
    field = page.find_element(By.ID, "search")
    field.send_keys("hacked")
    found = [text for text in column(page, "users", 0) if "hacked" in text]
    assert found == [SCRIPT]
    shown, matching, of = map(int, re.findall(r"\d+", page.find_element(By.ID, "found").text))
    assert shown == page.execute_script(SHOWN) == min(matching, 20)
    assert 1 <= matching < of == everybody
    field.clear()
    field.send_keys("nobody is called so")
    assert page.execute_script(SHOWN) == 0


def test_every_table_is_there_as_csv(page: Any, tmp_path: Path) -> None:
    page.execute_cdp_cmd("Browser.setDownloadBehavior", {"behavior": "allow", "downloadPath": str(tmp_path)})
    tables = page.execute_script("return document.querySelectorAll('.scroll > table').length")
    assert page.execute_script("return document.querySelectorAll('button.csv').length") == tables
    page.execute_script("document.querySelector('#pivot button.csv').click()")
    file = tmp_path / "Means_over_readers.csv"
    until(file.is_file)
    head, *rows = csv.reader(file.read_text(encoding="utf-8").splitlines())
    assert head == ["Metric", "at 5", "at 10", "at 20", "at 50", "uncut"]
    assert next(row[0] for row in rows if len(row) == len(head)) == "recall"


def test_the_index_stays_in_sight_and_marks_where_one_is(page: Any) -> None:
    page.execute_script("document.getElementById('slices').scrollIntoView()")
    nav = "return document.querySelector('nav').getBoundingClientRect().top"
    assert page.execute_script(nav) == 0
    current = "return [...document.querySelectorAll('nav a[aria-current]')].map((link) => link.hash)"
    until(lambda: page.execute_script(current) == ["#slices"])


def test_no_label_of_a_chart_is_clipped_and_none_runs_into_a_whisker(page: Any) -> None:
    page.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.execute_script(CLIPPED) == []
    assert page.execute_script(CROSSED) == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
def test_axe_finds_nothing(
    page: Any, look: Callable[..., None], violations: Callable[[], list[Any]], width: int, dark: bool
) -> None:
    look(width=width, dark=dark)
    assert violations() == []


def test_on_a_phone_nothing_scrolls_sideways_and_letters_stay_readable(page: Any, look: Callable[..., None]) -> None:
    look(width=390)
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    page.execute_script("document.querySelectorAll('details').forEach((part) => { part.open = true; })")
    assert page.execute_script("return document.documentElement.scrollWidth") <= 390
    assert page.execute_script(SMALLEST) >= 10


@pytest.mark.parametrize("dark", [False, True])
def test_colours_follow_the_colour_scheme(page: Any, look: Callable[..., None], dark: bool) -> None:
    look(dark=dark)
    script = "const style = getComputedStyle(document.body); return [style.backgroundColor, style.color]"
    ground, ink = (_brightness(colour) for colour in page.execute_script(script))
    assert (ground < 0.05) if dark else (ground > 0.9)
    assert (max(ground, ink) + 0.05) / (min(ground, ink) + 0.05) >= 7
    for fill in page.execute_script(INKS):
        letters = _brightness(fill)
        assert (max(ground, letters) + 0.05) / (min(ground, letters) + 0.05) >= 4.5, fill


def test_nothing_is_cut_off_on_paper(page: Any, look: Callable[..., None]) -> None:
    look(width=718, dark=True, media="print")  # A4 with margins of 1 cm
    assert page.execute_script(CUT_OFF) == []
    ground = page.execute_script("return getComputedStyle(document.documentElement).backgroundColor")
    assert _brightness(ground) > 0.9
    assert page.execute_script("return document.querySelector('nav').checkVisibility()") is False
    paper = base64.b64decode(page.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})["data"])
    assert paper.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", paper)) > 1


def test_it_is_accessible_to_screen_readers_and_keyboards(page: Any) -> None:
    assert page.execute_script("return document.querySelectorAll('h1').length") == 1
    assert page.execute_script("return document.documentElement.lang") == "en"
    assert page.execute_script("return document.title") != ""
    assert page.execute_script(NAMELESS) == 0
    assert page.execute_script(UNSCOPED) == 0
    assert page.execute_script(UNLABELLED) == 0
    levels = page.execute_script(
        "return [...document.querySelectorAll('h1, h2, h3, h4')].map((one) => +one.tagName[1])"
    )
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert page.execute_script(TWICE) == 0
    page.execute_script("document.body.focus()")
    from selenium.webdriver.common.keys import Keys

    page.find_element("tag name", "body").send_keys(Keys.TAB)
    assert page.switch_to.active_element.get_attribute("class") == "skip"


def _brightness(colour: str) -> float:
    """Return the relative luminance of ``rgb(…)``, as defined by WCAG."""
    parts = [int(part) / 255 for part in re.findall(r"\d+", colour)[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
