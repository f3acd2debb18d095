"""The page of a study in a browser: no errors or requests, nothing for axe-core, readable on phones and on paper."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from recx.core.evaluation import Evaluation
from recx.jobs.study.cells import Cell, CellOutcome
from recx.jobs.study.output import write_outputs
from recx.jobs.study.tables import tables_of

pytestmark = pytest.mark.slow

METRICS = ("end_to_end/ndcg_at_10", "end_to_end/recall_at_20")
OPEN = "document.querySelectorAll('details').forEach((part) => { part.open = true; })"
WIDTH = "return document.documentElement.scrollWidth"
CUT_OFF = """
const width = document.documentElement.clientWidth;
return [...document.querySelectorAll("main svg, main table, main p, main li, main h2")]
  .filter((part) => part.checkVisibility() && part.getBoundingClientRect().right > width + 1)
  .map((part) => `${part.tagName} ${part.id} ${Math.round(part.getBoundingClientRect().right)}`)
"""
CLIPPED = """
return [...document.querySelectorAll("figure svg text")].filter((part) => {
  const [whole, own] = [part.ownerSVGElement.getBoundingClientRect(), part.getBoundingClientRect()];
  return own.width && (own.left < whole.left - 1 || own.right > whole.right + 1 || own.bottom > whole.bottom + 1);
}).map((part) => part.textContent)
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the address of the page of a study of five chains in four worlds, of which some runs failed."""
    rng = np.random.default_rng(0)
    outcomes = []
    gains = {"popularity": 0.0, "item_knn": 0.2, "ease": 0.4, "slim_with_a_long_name": 0.39, "sasrec": 0.3}
    for world, users in {"films": 60, "beauty_5core": 50, "news": 40, "tools": 20}.items():
        own = rng.random(users) * 0.5
        for chain, gain in gains.items():
            for seed in range(2):
                cell = Cell(chain, world, seed, (f"retriever={chain}", "ranker=identity", f"seed={seed}"))
                if (chain, world) == ("sasrec", "news"):
                    outcomes.append(CellOutcome(cell, None, None, math.nan, 0, "it broke at <b>x</b>"))
                    continue
                values = own + gain + rng.normal(0, 0.02, users)
                evaluation = Evaluation(np.arange(users), dict.fromkeys(METRICS, values))
                folder = Path("outputs", "studies", "mine", world, chain, str(seed))
                outcomes.append(CellOutcome(cell, folder, evaluation, 2.5, 300_000_000))
    folder = tmp_path_factory.mktemp("study")
    write_outputs("mine", tables_of(outcomes, METRICS, "popularity", average=True), folder)
    return (folder / "study.html").as_uri()


def test_it_has_no_errors_requests_nothing_and_fits_a_phone(
    browser: Any, look: Callable[..., None], requested: Callable[[], set[str]], address: str
) -> None:
    look(width=390)
    browser.get(address)
    assert browser.get_log("browser") == []
    assert requested() == {address}
    assert browser.execute_script(WIDTH) <= 390
    assert browser.execute_script("return document.documentElement.scrollHeight") <= 8000
    browser.execute_script(OPEN)
    assert browser.execute_script(WIDTH) <= 390
    assert browser.execute_script(CLIPPED) == []


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (1280, True), (390, False), (390, True)])
def test_axe_finds_nothing(
    browser: Any, look: Callable[..., None], violations: Callable[[], list[Any]], address: str, width: int, dark: bool
) -> None:
    look(width=width, dark=dark)
    browser.get(address)
    assert violations() == []
    browser.execute_script(OPEN)
    assert violations() == []


def test_every_table_fits_on_paper(browser: Any, look: Callable[..., None], address: str) -> None:
    look(width=718, media="print")  # A4 with margins of 1 cm
    browser.get(address)
    assert browser.execute_script(CUT_OFF) == []
    assert browser.execute_script("return document.querySelectorAll('#metric-1-table tbody tr').length") == 5


SORTED = """
document.querySelectorAll('#metric-1-table thead button')[3].click();
return [...document.querySelectorAll('#metric-1-table tbody tr')].map((row) => row.cells[3].dataset.value)
"""


def test_a_column_sorts_by_its_means_and_a_failed_cell_comes_last(browser: Any, address: str) -> None:
    browser.get(address)
    *rising, last = browser.execute_script(SORTED)
    assert [float(value) for value in rising] == sorted(map(float, rising))
    assert (len(rising), last) == (4, "")
    assert browser.execute_script(SORTED) == [*rising[::-1], ""]
