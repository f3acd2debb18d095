"""Locks: one holder at a time, released when the process exits, and no file is left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from recx.core.system.locks import turn

ROOT = Path(__file__).resolve().parents[3]
HOLDER = """
import sys, time
from pathlib import Path
from recx.core.system.locks import turn
with turn(Path(sys.argv[1])):
    print("inside", flush=True)
    time.sleep(1000)
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """Return a process that is inside."""
    process = subprocess.Popen([sys.executable, "-c", HOLDER, str(path)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "inside\n"
    return process


def test_one_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "sub" / "lock"
    inside: list[int] = []
    most: list[int] = []

    def work() -> None:
        for _ in range(20):  # the file comes and goes while others wait for it
            with turn(path):
                inside.append(1)
                most.append(len(inside))
                time.sleep(0.001)
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == [1] * 80
    assert list(path.parent.iterdir()) == []


def test_without_waiting_a_held_lock_raises(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with turn(path):
        for _ in range(2):
            with pytest.raises(BlockingIOError), turn(path, wait=False):
                raise AssertionError("two are inside")
        assert path.exists()
    with turn(path, wait=False):
        pass
    assert not path.exists()


def test_a_lock_is_released_when_its_holder_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with holder(path) as process:
        with pytest.raises(BlockingIOError), turn(path, wait=False):
            raise AssertionError("two are inside")
        process.kill()
    with turn(path, wait=False):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_deleted_lock_file_does_not_admit_a_second_holder(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = turn(path)
    first.__enter__()
    path.unlink()
    with turn(path, wait=False):
        first.__exit__(None, None, None)
        assert path.exists()
        with pytest.raises(BlockingIOError), turn(path, wait=False):
            raise AssertionError("two are inside")


def test_an_error_inside_is_raised_and_releases_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(FileNotFoundError), turn(path):
        (tmp_path / "none").unlink()
    with turn(path, wait=False):
        assert path.exists()


def test_a_lock_file_that_cannot_be_created_raises(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "file" / "lock", tmp_path / "folder"):
        with pytest.raises(OSError, match=r"\["), turn(path):
            raise AssertionError("there is no lock")
