"""What all tests share: the real data, where it is there."""

from __future__ import annotations

import gc
import logging
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from functools import wraps
from importlib.metadata import EntryPoint, distributions, entry_points
from pathlib import Path
from typing import Any

import pytest
from hydra._internal.core_plugins.file_config_source import FileConfigSource
from hydra.plugins.config_source import ConfigResult
from hypothesis import settings

from recx.config import hydra_internals, option_sources
from recx.core.system.atomic import replacing
from recx.tracking import store

# A costly test takes a part of its profile's number: @settings(max_examples=settings.default.max_examples // 2)
settings.register_profile("recx", max_examples=50, deadline=None)  # the first example of a test may compile a kernel
settings.register_profile("thorough", settings.get_profile("recx"), max_examples=1_000)
settings.load_profile("recx")

# Tests send Ctrl-C to what they start, which would ignore it where a shell has started the tests in the background.
if threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)

SET_DATA = "set RECX_DATA"
"""Part of the reason of every test that is skipped because its data is missing."""

INSTALLED = {entry.value for entry in entry_points(group=option_sources.GROUP)}
AT_FIRST = {*sys.path}


def _of_tests(*, group: str) -> list[EntryPoint]:
    laid_out = distributions(path=[path for path in sys.path if path not in AT_FIRST])
    return [one for found in laid_out for one in found.entry_points.select(group=group) if one.value not in INSTALLED]


option_sources.entry_points = _of_tests  # type: ignore[assignment]
"""Plugins that are installed beside recx have tests of their own; here only those count that a test lays out."""

_read = hydra_internals._load_config
_of_recx: dict[tuple[str, str], bytes] = {}


def _load_config(source: FileConfigSource, config_path: str) -> ConfigResult:
    if source.path != str(option_sources.CONF):
        return _read(source, config_path)
    key = source.provider, config_path
    if key not in _of_recx:
        _of_recx[key] = pickle.dumps(_read(source, config_path))
    found: ConfigResult = pickle.loads(_of_recx[key])  # a fifth of the time of a deep copy
    return found


hydra_internals._load_config = _load_config  # type: ignore[assignment]
"""recx's own option files are read once: every test that composes reads them."""

_of_mlflow = store._build
_new_stores: list[bytes] = []


@wraps(_of_mlflow)
def _build(file: Path) -> None:
    if not _new_stores:
        _of_mlflow(file)
        _new_stores.append(file.read_bytes())
    with replacing(file) as temporary:
        temporary.write_bytes(_new_stores[0])


store._build = _build
"""MLflow builds one new store in a process of tests, which takes half a second; the others are copies of it."""


def pytest_collection_finish() -> None:
    """Spare the collector of garbage the modules and tests, which stay to the end, and let it look less often."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Iterator[object]:
    """Take down what an earlier test, or Hydra in it, set up for logging: its stream may be closed by now."""
    for handler in logging.root.handlers[:]:
        if type(handler) is logging.StreamHandler:
            logging.root.removeHandler(handler)
    logging.root.setLevel(logging.WARNING)
    return (yield)


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """Return a function from a name below the folder of real data to its path; it skips the test without that data.

    The folder is RECX_DATA, or ../shared/data beside the checkout.
    """
    folder = Path(os.environ.get("RECX_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))

    def path_of(name: str) -> Path:
        if not (folder / name).exists():
            pytest.skip(f"{folder / name} is not there: {SET_DATA}")
        return folder / name

    return path_of


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Print how many tests were skipped because their data is missing."""
    without = sum(SET_DATA in str(report.longrepr) for report in terminalreporter.stats.get("skipped", ()))
    if without:
        terminalreporter.write_line(f"Tests skipped because their data is not here ({SET_DATA}): {without}")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder, which is the working directory until the test ends."""
    monkeypatch.chdir(tmp_path)
    return tmp_path
