"""The stage cache: entries are whole or not there, made once, checked on reading."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from waiting import PATIENCE, until

from recx.core.progress import shown_on
from recx.core.system.locks import turn
from recx.storage.cache.entries import DAMAGED, GONE, LOCK, PART, Entry, entries, prune
from recx.storage.cache.store import Cache, current

KEY, OTHER = "ab" + "0" * 30, "cd" + "0" * 30
ROOT = Path(__file__).resolve().parents[3]
NUMBERS = np.arange(50_000)


def ab() -> str:
    return KEY


def cd() -> str:
    return OTHER


class Maker:
    """Makes a value and counts how often."""

    def __init__(self, value: Any = NUMBERS) -> None:
        self.value, self.made = value, 0

    def __call__(self) -> Any:
        self.made += 1
        return self.value


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    return Cache(tmp_path / "cache")


@pytest.fixture
def printed(tmp_path: Path) -> Iterator[Path]:
    """Give the file that progress is written to."""
    path = tmp_path / "printed.txt"
    with path.open("w") as file, shown_on(Console(file=file, width=200)):
        yield path


def files(cache: Cache) -> list[str]:
    return sorted(path.name for path in cache.folder.rglob("*") if path.is_file())


def test_what_is_kept_is_made_once(cache: Cache) -> None:
    make = Maker()
    for _ in range(3):
        np.testing.assert_array_equal(cache.kept("load", ab, make), NUMBERS)
    assert make.made == 1
    assert cache.hits == {"load": 2}
    assert files(cache) == ["0.npy", "entry.json", "value.json"]
    facts = json.loads((cache.place(KEY) / "entry.json").read_text())
    assert facts["stage"] == "load"
    assert (
        facts["bytes"]
        == sum(path.stat().st_size for path in cache.place(KEY).iterdir() if path.suffix != ".json")
        + (cache.place(KEY) / "value.json").stat().st_size
    )


def test_reading_only_adds_nothing(cache: Cache, tmp_path: Path) -> None:
    reader = Cache(tmp_path / "cache", writes=False)
    make = Maker()
    reader.kept("load", ab, make)
    assert not cache.folder.exists()
    cache.kept("load", ab, make)
    reader.kept("load", ab, make)
    assert make.made == 2
    assert reader.hits == {"load": 1}


def test_what_has_no_key_and_what_nobody_will_ask_for_is_not_kept(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache", passing=("rank",))
    cache.kept("load", lambda: None, Maker())
    cache.kept("rank", ab, Maker())
    assert not cache.folder.exists()


def test_what_files_cannot_hold_is_made_each_time(cache: Cache) -> None:
    make = Maker({1: 2})
    assert cache.kept("load", ab, make) == cache.kept("load", ab, make) == {1: 2}
    assert make.made == 2
    assert not files(cache)


def test_an_error_of_a_part_is_raised_and_leaves_no_entry(cache: Cache) -> None:
    def fail() -> int:
        raise FileNotFoundError("no such data")

    with pytest.raises(FileNotFoundError, match="no such data"):
        cache.kept("load", ab, fail)
    assert not files(cache)


def flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def shorten(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


@pytest.mark.parametrize("damage", [flip, shorten, Path.unlink])
@pytest.mark.parametrize("name", ["0.npy", "value.json", "entry.json"])
def test_a_damaged_entry_is_noticed_and_computed_again(name: str, damage: Any, cache: Cache, printed: Path) -> None:
    make = Maker()
    cache.kept("load", ab, make)
    damage(cache.place(KEY) / name)
    for _ in range(2):
        np.testing.assert_array_equal(cache.kept("load", ab, make), NUMBERS)
    # A flipped bit of what only describes the entry does no harm.
    assert make.made == (1 if (name, damage) == ("entry.json", flip) and not printed.read_text() else 2)
    lines = printed.read_text().splitlines()
    assert len(lines) == make.made - 1
    assert all("(load) is damaged" in line and "computing it again" in line for line in lines)


def test_a_reader_leaves_a_damaged_entry_where_it_is(cache: Cache, tmp_path: Path) -> None:
    cache.kept("load", ab, Maker())
    flip(cache.place(KEY) / "0.npy")
    np.testing.assert_array_equal(Cache(cache.folder, writes=False).kept("load", ab, Maker()), NUMBERS)
    assert cache.place(KEY).is_dir()


def test_a_full_disk_prints_one_line_and_leaves_no_entry(
    cache: Cache, printed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("recx.storage.values._write_array", full)
    for key in (ab, cd):
        np.testing.assert_array_equal(cache.kept("load", key, Maker()), NUMBERS)
    assert not files(cache)
    assert printed.read_text().splitlines() == [
        "  the cache keeps no load (No space left on device): check the disk, or choose cache=off"
    ]


def test_the_key_depends_on_stage_and_threads(cache: Cache, tmp_path: Path) -> None:
    two = Cache(tmp_path, threads=2)
    assert cache.key("rank", "fit", 1) != cache.key("retrieve", "fit", 1)
    assert cache.key("rank", "fit", 1) != cache.key("rank", "fit", 2)
    assert cache.key("rank", "fit", 1) != two.key("rank", "fit", 1)
    assert cache.key("load", "fit", 1) == two.key("load", "fit", 1)
    assert cache.key("rank", None, 1) is None
    assert cache.key("rank", "fit", len) is None


def test_the_cache_of_a_run_is_found_inside_it_only(cache: Cache) -> None:
    assert current() is None
    with cache.used():
        assert current() is cache
    assert current() is None


WORKER = """
import sys, time
from pathlib import Path
from recx.storage.cache.store import Cache
folder, key, seconds = Path(sys.argv[1]), sys.argv[2], float(sys.argv[3])
def make():
    with (folder / "made").open("a") as file:
        file.write("x")
    time.sleep(seconds)
    return [1, 2]
assert Cache(folder / "cache").kept("load", lambda: key, make) == [1, 2]
"""


def worker(folder: Path, seconds: float) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), KEY, str(seconds)], cwd=ROOT)


def test_two_processes_that_want_the_same_make_it_once(tmp_path: Path) -> None:
    workers = [worker(tmp_path, 0.5) for _ in range(3)]
    assert [process.wait(PATIENCE) for process in workers] == [0, 0, 0]
    assert (tmp_path / "made").read_text() == "x"
    assert [path.name for path in (tmp_path / "cache" / KEY[:2]).iterdir()] == [KEY]


def test_a_killed_process_holds_nobody_up(tmp_path: Path) -> None:
    first = worker(tmp_path, 1000)
    until((tmp_path / "made").exists, lambda: first.poll() is not None and "the process ended")
    second = worker(tmp_path, 0)
    first.kill()
    first.wait()
    assert second.wait(PATIENCE) == 0
    assert (tmp_path / "made").read_text() == "xx"


def test_pruning_takes_the_longest_unused_first(cache: Cache) -> None:
    keys = [f"{number:02}{'0' * 30}" for number in range(4)]
    now = time.time()
    for age, key in enumerate(keys):
        cache.kept("load", lambda key=key: key, Maker())  # type: ignore[misc]
        os.utime(cache.place(key) / "entry.json", (now - 100 * age, now - 100 * age))
    assert [entry.place.name for entry in entries(cache.folder)] == keys[::-1]
    assert [entry.place.name for entry in prune(cache.folder, None, 250)] == [keys[3]]
    size = entries(cache.folder)[0].bytes
    cache.kept("load", lambda: keys[2], Maker())  # now it is the newest
    assert [entry.place.name for entry in prune(cache.folder, 2 * size, None)] == [keys[1]]
    assert [entry.place.name for entry in entries(cache.folder)] == [keys[0], keys[2]]


def test_pruning_takes_away_what_a_killed_process_left_and_nothing_that_is_being_made(cache: Cache) -> None:
    cache.kept("load", ab, Maker())
    held, left = cache.place("ab" + "1" * 30), cache.place("ab" + "2" * 30)
    for place in (held, left):
        for ending in (PART, GONE):
            place.with_suffix(ending).mkdir()
        for ending in (".values", LOCK):
            place.with_suffix(ending).touch()
    with turn(held.with_suffix(LOCK)):
        prune(cache.folder, 0, None)
        assert {path.stem for path in held.parent.iterdir()} == {held.name}
        assert len(list(held.parent.iterdir())) == 4
    prune(cache.folder, None, None)
    assert list(held.parent.iterdir()) == []
    assert entries(cache.folder / "none") == []


def test_pruning_takes_away_nothing_that_is_no_entry(tmp_path: Path) -> None:
    for name in ("en/words", "en/words.part/file", f"ab/{OTHER}/file", f"abc/{KEY}/file", f"ab/{KEY}x/file", "ab.lock"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("precious")
    before = sorted(tmp_path.rglob("*"))
    assert prune(tmp_path, 0, 0) == []
    assert sorted(tmp_path.rglob("*")) == before


def test_a_folder_with_files_but_no_description_is_no_entry_and_stays(cache: Cache) -> None:
    cache.kept("load", ab, Maker())
    (cache.place(KEY) / "entry.json").unlink()
    before = sorted(cache.folder.rglob("*"))
    assert entries(cache.folder) == []
    assert prune(cache.folder, 0, 0) == []
    assert sorted(cache.folder.rglob("*")) == before


@pytest.mark.parametrize("content", ["", "[]", "{}", "[" * 5000, '{"stage": 1, "bytes": "many"}', "\0"])
def test_an_entry_that_does_not_say_what_it_is_is_counted_and_pruned(content: str, cache: Cache) -> None:
    cache.kept("load", ab, Maker())
    (cache.place(KEY) / "entry.json").write_text(content)
    [found] = entries(cache.folder)
    assert isinstance(found, Entry)
    assert found.stage == DAMAGED
    assert found.bytes >= NUMBERS.nbytes
    assert prune(cache.folder, 0, None) == [found]
    assert entries(cache.folder) == []
