"""The pages of `recx ui` in a browser: a sweep's trials, a run's report, two runs side by side, all served locally."""

from __future__ import annotations

import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 60


@pytest.fixture(scope="module")
def runs(run_folder: Path, recx: Callable[..., Path], small: tuple[str, ...]) -> dict[str, str]:
    """Return run name -> id: a run, a sweep, and its two trials."""
    folder = recx("-m", *small, "ranker.l2=0.1,0.01", "sweep_id=two", "fold=valid")
    store = sqlite3.connect(folder / "outputs" / "mlflow.db")
    named = dict(store.execute("SELECT name, run_uuid FROM runs"))
    store.close()
    assert {"union + linear", "sweep two", "ranker.l2=0.1", "ranker.l2=0.01"} <= set(named)
    return named


@pytest.fixture(scope="module")
def pages(run_folder: Path, runs: dict[str, str]) -> Iterator[str]:
    """Return the address of `recx ui` on the store of these runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
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


def test_the_trials_of_a_sweep_are_shown_below_it(local: Any, pages: str) -> None:
    local.get(f"{pages}/experiments/1/runs?workflowType=machine_learning")
    wait(local, "sweep two", "union + linear")
    assert "ranker.l2=0.01" not in local.execute_script("return document.body.innerText")
    local.execute_script(
        "document.querySelector('.ag-center-cols-container button, [role=row] .du-bois-light-btn-link').click()"
    )
    wait(local, "ranker.l2=0.1", "ranker.l2=0.01", "best")


def test_the_report_of_a_run_is_shown_among_its_artifacts(local: Any, pages: str, runs: dict[str, str]) -> None:
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support import expected_conditions as until
    from selenium.webdriver.support.ui import WebDriverWait

    local.get(f"{pages}/experiments/1/runs/{runs['union + linear']}/artifacts/report.html")
    WebDriverWait(local, PATIENCE).until(until.frame_to_be_available_and_switch_to_it((By.TAG_NAME, "iframe")))
    wait(local, "Summary", "Where hits are lost")
    assert local.execute_script("return document.querySelectorAll('th button').length") > 0  # its script ran
    local.switch_to.default_content()


def test_two_trials_are_compared(local: Any, pages: str, runs: dict[str, str]) -> None:
    pair = quote(json.dumps([runs["ranker.l2=0.1"], runs["ranker.l2=0.01"]]))
    local.get(f"{pages}/compare-runs?runs={pair}&experiments={quote(json.dumps(['1']))}")
    wait(local, "Comparing 2 Runs from 1 Experiment", "ranker.l2=0.1", "ranker.l2=0.01", "end_to_end/ndcg_at_5")


def test_every_address_that_recx_prints_opens_its_run(local: Any, pages: str, runs: dict[str, str]) -> None:
    from recx.tracking.mlflow import address

    printed = address("sqlite:///x.db", "1", runs["sweep two"])
    local.get(f"{pages}{printed.partition('#')[2]}")
    wait(local, "sweep two", "sweep/best_objective")
