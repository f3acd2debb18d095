"""A headless Chromium for tests of pages; without it (or without Selenium) these tests are skipped with a reason."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from waiting import PATIENCE

from recx.cli.main import main

FLAGS = (
    "--headless=new",
    "--no-sandbox",  # root has none in a container
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",  # requests to other hosts are logged, and fail
)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """Return a running Chromium, driven by Selenium, that keeps its console and its network log."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="no Selenium: pip install -e '.[test]'")
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    server = shutil.which("chromedriver")
    if program is None or server is None:
        pytest.skip("no Chromium: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = program
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=server))
    driver.set_page_load_timeout(60)
    driver.set_script_timeout(PATIENCE)  # axe reads every element of a page, and some have thousands
    yield driver
    driver.quit()


@pytest.fixture
def browser(chromium: Any) -> Iterator[Any]:
    """Return the browser with a wide light screen, an empty page and empty logs."""
    set_screen(chromium)
    chromium.get("about:blank")
    for log in ("browser", "performance"):
        chromium.get_log(log)
    yield chromium
    set_screen(chromium)


def set_screen(browser: Any, *, width: int = 1100, dark: bool = False, media: str = "screen") -> None:
    """Set the browser's width in pixels, light or dark mode, and screen or print media."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    still = {"name": "prefers-reduced-motion", "value": "reduce"}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": media, "features": [scheme, still]})


@pytest.fixture
def look(browser: Any) -> Callable[..., None]:
    """Return a function that sets the browser's width in pixels, light or dark mode, and screen or print media."""
    return partial(set_screen, browser)


@pytest.fixture
def requested(browser: Any) -> Callable[[], set[str]]:
    """Return a function that returns the addresses that were requested since its last call.

    Those that contain their own content (data, blob) are left out.
    """

    def addresses() -> set[str]:
        messages = (json.loads(entry["message"])["message"] for entry in browser.get_log("performance"))
        sent = (
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        )
        return {address for address in sent if not address.startswith(("data:", "blob:", "about:"))}

    return addresses


AXE = """
const done = arguments[0];
const told = (one) => [one.id, one.impact, one.nodes.map((node) => node.html)];
axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })
  .then((found) => done({ passes: found.passes.length, violations: found.violations.map(told) }));
"""


@pytest.fixture
def violations(browser: Any) -> Callable[[], list[Any]]:
    """Return a function that returns what axe-core finds in the open page: rule, impact and elements."""
    package = find_spec("axe_playwright_python")
    assert package is not None
    assert package.origin is not None
    rules = (Path(package.origin).parent / "axe.min.js").read_text(encoding="utf-8")

    def found() -> list[Any]:
        browser.execute_script(rules)
        result = browser.execute_async_script(AXE)
        assert result["passes"] > 20
        return list(result["violations"])

    return found


@pytest.fixture(scope="session")
def small() -> tuple[str, ...]:
    """Return the overrides of a run that takes a second."""
    return ("+experiment=news", "dataset.readers=300", "dataset.articles=120")


@pytest.fixture(scope="session")
def recx(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function that runs recx with arguments in one folder for the session, and returns that folder."""
    folder = tmp_path_factory.mktemp("runs")

    def run(*words: str) -> Path:
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(folder)
            patch.setattr("sys.argv", ["recx", *words])
            assert main() == 0
        return folder

    return run


@pytest.fixture(scope="session")
def run_folder(chromium: Any, recx: Callable[..., Path], small: tuple[str, ...]) -> Path:
    """Return the folder of a small run tracked in MLflow; it is made only if there is a browser."""
    outputs = recx(*small) / "outputs"
    [report] = outputs.glob("*/*_news/report.html")
    return report.parent
