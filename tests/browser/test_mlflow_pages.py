"""The pages of `recx ui` in a browser: a sweep's trials, a run's report, two runs side by side, all served locally."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from waiting import PATIENCE, free_port

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]


ON = "union_news + linear{} on news (made up)"
ALONE = ON.format(", dataset.readers=300 dataset.articles=120")
OTHER = "item_knn + identity, dataset.readers=300 dataset.articles=120 on news (made up)"
SWEEP = f"sweep of ranker.l2, n_candidates: {ON.format('')}"
AXES = ("ranker.l2=0.1 n_candidates=50", "ranker.l2=0.01 n_candidates=50")
TRIALS = tuple(f"{axes}: {ON.format('')}" for axes in AXES)
SHOTS = os.environ.get("RECX_SCREENSHOTS")
"""The folder for the pictures of docs/how-to/mlflow.md; without it they are only looked at."""


@pytest.fixture(scope="module")
def runs(run_folder: Path, recx: Callable[..., Path], small: tuple[str, ...]) -> dict[str, str]:
    """Return run name -> id: two runs, a sweep, its four trials and the best of them on test."""
    recx(*small, "retriever=item_knn", "ranker=identity")
    folder = recx("-m", *small, "ranker.l2=0.1,0.01", "n_candidates=50,100", "sweep_id=two", "fold=valid")
    store = sqlite3.connect(folder / "outputs" / "mlflow.db")
    named = dict(store.execute("SELECT name, run_uuid FROM runs"))
    store.close()
    assert {ALONE, OTHER, SWEEP, *TRIALS} <= set(named)
    assert sum(name.startswith("best, ranker.l2=0.") for name in named) == 1
    return named


@pytest.fixture(scope="module")
def pages(run_folder: Path, runs: dict[str, str]) -> Iterator[str]:
    """Return the address of `recx ui` on the store of these runs."""
    port = free_port()
    command = [sys.executable, "-m", "recx", "ui", "--port", str(port)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    server = subprocess.Popen(
        command,
        cwd=run_folder.parents[2],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    said = ""
    while f":{port}/#/" not in said:
        said = server.stdout.readline()
        assert said, "the server ended before it printed its address"
    yield f"http://127.0.0.1:{port}/#"
    server.send_signal(signal.SIGINT)
    server.wait(timeout=PATIENCE)
    server.stdout.close()


@pytest.fixture
def local(browser: Any, requested: Callable[[], set[str]]) -> Iterator[Any]:
    """Return the browser, and check at the end that nothing was requested from another machine."""
    browser.execute_cdp_cmd("Emulation.setTimezoneOverride", {"timezoneId": "UTC"})
    yield browser
    hosts = {urlsplit(address).hostname for address in requested()}
    assert hosts == {"127.0.0.1"}


def wait(browser: Any, *texts: str) -> None:
    """Wait until all these texts are visible."""
    from selenium.webdriver.support.ui import WebDriverWait

    def all_there(driver: Any) -> bool:
        shown = driver.execute_script("return document.body.innerText")
        return all(text in shown for text in texts)

    WebDriverWait(browser, PATIENCE).until(all_there, f"not all of {texts} is shown")


def set_width(browser: Any, width: int) -> None:
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def shown(browser: Any) -> str:
    text = browser.execute_script("return document.body.innerText")
    assert isinstance(text, str)
    return text


def picture(browser: Any, name: str, tmp_path: Path) -> None:
    """Take the picture of a page, for the documentation where that is asked for."""
    from io import BytesIO

    from PIL import Image

    browser.execute_script("document.querySelector('[aria-label=Close]')?.click()")
    image = Image.open(BytesIO(browser.get_screenshot_as_png())).convert("P", palette=Image.Palette.ADAPTIVE, colors=64)
    file = Path(SHOTS or tmp_path) / f"mlflow_{name}.png"
    image.save(file, optimize=True)
    assert 5_000 < file.stat().st_size < 150_000


def see(browser: Any, text: str) -> None:
    """Scroll to the last place that begins with a text."""
    every = "[...document.querySelectorAll('p, h1, h2, h3, h4, span, div')]"
    browser.execute_script(
        f"{every}.filter(one => one.innerText?.startsWith(arguments[0])).at(-1).scrollIntoView()", text
    )


def compared(pages: str, runs: dict[str, str], *names: str) -> str:
    """Return the page that compares runs."""
    ids = quote(json.dumps([runs[name] for name in names]))
    return f"{pages}/compare-runs?runs={ids}&experiments={quote(json.dumps(['1']))}&workflowType=machine_learning"


def rows_of(browser: Any, section: str) -> dict[str, list[str]]:
    """Return the rows of a section of the page that compares two runs: name -> its values, for those that differ."""
    text = shown(browser)
    lines = text.partition(f"\n{section}\nShow diff only")[2].partition("Show diff only")[0].splitlines()
    cells = [line.split("\t") for line in lines if "\t" in line]
    return {name: values for name, *values in cells if len(set(values)) > 1}


def test_the_table_shows_what_runs_are_compared_by(local: Any, pages: str, tmp_path: Path) -> None:
    set_width(local, 2400)
    local.get(f"{pages}/experiments/1/runs?viewStateShareKey=recx&workflowType=machine_learning")
    wait(local, SWEEP, ALONE, OTHER, "news (made up) (")
    heads = ("Dataset", "split", "retriever", "ranker", "end_to_end/ndcg_at_5", "retrieval/recall_at_50")
    wait(local, *heads, "leave_last", "item_knn", "identity")
    picture(local, "runs", tmp_path)
    assert TRIALS[0] not in shown(local), "the trials of a sweep are below it"
    local.execute_script(
        "document.querySelector('.ag-center-cols-container button, [role=row] .du-bois-light-btn-link').click()"
    )
    wait(local, *TRIALS)


def test_the_page_of_a_run_begins_with_its_summary(
    local: Any, pages: str, runs: dict[str, str], tmp_path: Path
) -> None:
    local.get(f"{pages}/experiments/1/runs/{runs[ALONE]}?workflowType=machine_learning")
    said = "do readers get the right articles?", "must not order runs with different retrievers", "news (made up) ("
    wait(local, *said)
    assert "protocol." not in shown(local)
    assert local.execute_script("return document.querySelectorAll('table').length") >= 4, "tables are rendered"
    more = "[...document.querySelectorAll('button')].filter(one => one.innerText == 'Show more')[0]"
    local.execute_script(f"{more}?.click()")
    see(local, "do readers get the right articles?")
    picture(local, "run", tmp_path)


def test_two_runs_differ_in_few_rows_each_of_which_matters(
    local: Any, pages: str, runs: dict[str, str], tmp_path: Path
) -> None:
    local.get(compared(pages, runs, ALONE, OTHER))
    wait(local, "Comparing 2 Runs from 1 Experiment", ALONE, OTHER, "end_to_end/ndcg_at_5")
    assert set(rows_of(local, "Parameters")) == {"retriever", "ranker"}
    local.execute_script("document.querySelector('[role=switch]').click()")  # the differing rows only
    see(local, "Parameters")
    picture(local, "compare", tmp_path)


def test_the_axes_of_a_sweep_come_first(local: Any, pages: str, runs: dict[str, str], tmp_path: Path) -> None:
    local.get(compared(pages, runs, *TRIALS, *(name.replace("=50", "=100") for name in TRIALS)))
    wait(local, "Comparing 4 Runs from 1 Experiment", "Parallel Coordinates Plot", "valid/end_to_end/ndcg_at_5")
    chosen = shown(local).partition("Parameters:")[2].partition("Metrics:")[0].split()
    assert chosen == ["n_candidates", "ranker.l2"]
    assert set(rows_of(local, "Parameters")) == {"n_candidates", "ranker.l2"}
    picture(local, "sweep", tmp_path)


def test_the_report_of_a_run_is_shown_among_its_artifacts(local: Any, pages: str, runs: dict[str, str]) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support import expected_conditions as until
    from selenium.webdriver.support.ui import WebDriverWait

    local.get(f"{pages}/experiments/1/runs/{runs[ALONE]}/artifacts/report.html")
    WebDriverWait(local, PATIENCE).until(until.frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe")))
    wait(local, "Summary", "Where hits are lost")
    assert local.execute_script("return document.querySelectorAll('th button').length") > 0  # its script ran
    local.switch_to.default_content()


@pytest.mark.parametrize(
    ("file", "text"), [("counts.json", "candidates_per_request"), ("weights.json", "news_phi_rel")]
)
def test_counts_and_weights_are_tables_among_the_artifacts(
    local: Any, pages: str, runs: dict[str, str], file: str, text: str
) -> None:
    local.get(f"{pages}/experiments/1/runs/{runs[ALONE]}/artifacts/{file}")
    wait(local, file, text)


def test_the_page_of_a_sweep_has_the_table_of_its_trials(
    local: Any, pages: str, runs: dict[str, str], run_folder: Path
) -> None:
    local.get(f"{pages}/experiments/1/runs/{runs[SWEEP]}?workflowType=machine_learning")
    wait(local, "sweep of ranker.l2, n_candidates: ", "valid/end_to_end/ndcg_at_5", "0.01")
    store = sqlite3.connect(run_folder.parents[1] / "mlflow.db")
    assert store.execute("SELECT count(*) FROM latest_metrics WHERE run_uuid = ?", (runs[SWEEP],)).fetchone() == (0,)
    store.close()


def test_a_run_of_news_has_few_params_and_metrics(runs: dict[str, str], run_folder: Path) -> None:
    store = sqlite3.connect(run_folder.parents[1] / "mlflow.db")
    n = {
        kind: store.execute(f"SELECT count(*) FROM {kind} WHERE run_uuid = ?", (runs[ALONE],)).fetchone()[0]
        for kind in ("params", "latest_metrics", "tags")
    }
    store.close()
    assert n["params"] <= 40
    assert n["latest_metrics"] <= 60
    assert n["tags"] <= 25
