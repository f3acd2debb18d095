"""The limit of the cache: the least recently used entries go first, and the total never exceeds it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from recx.core.progress import shown_on
from recx.storage.cache import limit
from recx.storage.cache.entries import GONE, LOCK, PART, entries
from recx.storage.cache.limit import TOTAL
from recx.storage.cache.store import Cache

ROOT = Path(__file__).resolve().parents[3]


def key(number: int) -> Callable[[], str]:
    return lambda: f"{number:032}"


def keep(cache: Cache, number: int, kilobytes: int = 10) -> None:
    cache.kept("load", key(number), lambda: np.full(kilobytes * 1000, number % 100, dtype=np.uint8))


def age(cache: Cache, number: int, seconds: float) -> None:
    used = time.time() - seconds
    os.utime(cache.place(key(number)()) / "entry.json", (used, used))


def numbers(folder: Path) -> set[int]:
    return {int(entry.place.name) for entry in entries(folder)}


def size(folder: Path) -> int:
    return sum(entry.bytes for entry in entries(folder))


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    filled = Cache(tmp_path)
    for number in range(5):
        keep(filled, number)
        age(filled, number, 100 - number)
    keep(filled, 0)  # used again: now 1 is the oldest
    cache = Cache(tmp_path, limit=55_000)
    keep(cache, 5)  # 60 KB in all, and nine tenths of the limit hold four
    assert numbers(tmp_path) == {0, 3, 4, 5}
    assert [int(entry.place.name) for entry in cache.removed] == [1, 2]


def test_what_the_run_wrote_itself_goes_last(tmp_path: Path) -> None:
    cache, other = Cache(tmp_path, limit=35_000), Cache(tmp_path)
    keep(cache, 1)
    age(cache, 1, 100)
    keep(other, 2)
    keep(other, 3)
    keep(cache, 4)
    assert numbers(tmp_path) == {1, 3, 4}


def test_a_result_larger_than_the_limit_is_not_kept_and_one_line_says_so(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    cache = Cache(tmp_path / "cache", limit=15_000)
    keep(cache, 1)
    with path.open("w") as file, shown_on(Console(file=file, width=200)):
        keep(cache, 2, 20)
        keep(cache, 3, 20)
    assert numbers(cache.folder) == {1}
    [line] = path.read_text().splitlines()
    assert line.startswith("  the cache keeps no load: its 20")
    assert line.endswith("kB are more than cache.limit (15.0 kB)")
    assert cache.too_large == ["load", "load"]


def test_a_run_that_reached_the_limit_says_so_once(tmp_path: Path) -> None:
    path = tmp_path / "printed"
    with path.open("w") as file, shown_on(Console(file=file, width=200)):
        cache = Cache(tmp_path / "cache", limit=25_000)
        with cache.used():
            for number in range(4):
                keep(cache, number)
        with Cache(tmp_path / "cache", limit=25_000).used():
            keep(cache, 3)
    assert path.read_text().splitlines() == [
        "  the stage cache reached cache.limit (25.0 kB): 2 entries (20.3 kB), the least recently used, were removed"
    ]


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 40), st.booleans()), max_size=12))
def test_the_total_is_never_above_the_limit(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[int, int, bool]]
) -> None:
    folder = tmp_path_factory.mktemp("cache")
    one, two = Cache(folder, limit=60_000), Cache(folder, limit=60_000)
    for number, kilobytes, first in steps:
        keep(one if first else two, number, kilobytes)
        assert size(folder) <= 60_000
        assert int((folder / TOTAL).read_text()) >= size(folder)
        assert number in numbers(folder)


def test_few_walks_over_many_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    walks: list[Path] = []
    monkeypatch.setattr(limit, "entries", lambda folder: walks.append(folder) or entries(folder))
    cache = Cache(tmp_path, limit=10**9)
    for number in range(30):
        keep(cache, number, 1)
    for number in range(30):
        keep(cache, number, 1)
    assert len(walks) == 1  # the first entry, since nothing was counted yet


@pytest.mark.parametrize("content", ["", "much", "-5", "9" * 30, None])
def test_a_total_that_cannot_be_read_is_counted_again(content: str | None, tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=10**9)
    keep(cache, 1)
    if content is None:
        (tmp_path / TOTAL).unlink()
    else:
        (tmp_path / TOTAL).write_text(content)
    keep(cache, 2)
    assert int((tmp_path / TOTAL).read_text()) == size(tmp_path)


def test_without_a_limit_entries_are_counted_for_runs_that_have_one(tmp_path: Path) -> None:
    keep(Cache(tmp_path, limit=10**9), 1)
    keep(Cache(tmp_path), 2)
    assert int((tmp_path / TOTAL).read_text()) == size(tmp_path)


def test_entries_that_were_removed_elsewhere_cost_no_others(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit=35_000)
    keep(cache, 1)
    keep(cache, 2)
    limit.prune(tmp_path, 15_000, None)
    keep(cache, 3)
    keep(cache, 4)  # by the file it would be 40 KB, but it is 30
    assert cache.removed == []
    assert numbers(tmp_path) == {2, 3, 4}


WORKER = """
import sys
from pathlib import Path
import numpy as np
from recx.storage.cache.store import Cache
cache, first = Cache(Path(sys.argv[1]), limit=100_000), int(sys.argv[2])
for number in range(first, first + 40):
    value = cache.kept("load", lambda: f"{number % 60:032}", lambda: np.full(10_000, number % 60, dtype=np.uint8))
    assert (value == number % 60).all()
assert not cache.troubles, cache.troubles
"""


def test_processes_at_once_stay_below_the_limit_together(tmp_path: Path) -> None:
    command = [sys.executable, "-W", "error", "-c", WORKER, str(tmp_path)]
    workers = [subprocess.Popen([*command, str(first)], cwd=ROOT) for first in (0, 20)]
    while any(worker.poll() is None for worker in workers):
        assert size(tmp_path) <= 100_000
        time.sleep(0.01)
    assert [worker.wait() for worker in workers] == [0, 0]
    assert 0 < size(tmp_path) <= 100_000
    assert int((tmp_path / TOTAL).read_text()) >= size(tmp_path)
    assert not [
        path for path in tmp_path.rglob("*") if path.suffix in (PART, GONE, LOCK)
    ]  # no lock and nothing half removed
