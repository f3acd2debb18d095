"""One number of threads for all pools, and recx's own work side by side."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar
from pathlib import Path
from threading import Barrier, current_thread
from typing import Any

import pytest
from waiting import PATIENCE

from recx.core.errors import InputError
from recx.core.system.threads import ahead, available, limited_to, side_by_side

ROOT = Path(__file__).resolve().parents[3]


def test_threads_are_limited_inside_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from threadpoolctl import threadpool_info

    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    before = [pool["num_threads"] for pool in threadpool_info()]
    with limited_to(1) as number:
        assert number == 1
        assert os.environ["OMP_NUM_THREADS"] == "1"
        assert {pool["num_threads"] for pool in threadpool_info()} <= {1}
    assert "OMP_NUM_THREADS" not in os.environ
    assert [pool["num_threads"] for pool in threadpool_info()] == before


def test_threads_follow_the_environment_or_else_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    with limited_to(None) as number:
        assert number == 3
    monkeypatch.setenv("OMP_NUM_THREADS", "")
    with limited_to(None) as number:
        assert 1 <= number <= (os.cpu_count() or 1)


@pytest.mark.parametrize("first_out", ["first in", "last in"])
def test_runs_in_two_threads_leave_the_limits_as_they_were(monkeypatch: pytest.MonkeyPatch, first_out: str) -> None:
    from threadpoolctl import threadpool_info

    def limits() -> list[int]:
        return [pool["num_threads"] for pool in threadpool_info()]

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    before, steps, numbers = limits(), Barrier(2, timeout=PATIENCE), {}

    def run(name: str) -> None:
        if name == "last in":
            steps.wait()
        with limited_to(1 if name == "first in" else None) as number:
            numbers[name] = number
            if name == "first in":
                steps.wait()
            steps.wait()  # both are in
            if name != first_out:
                steps.wait()
        if name == first_out:
            steps.wait()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(run, ["first in", "last in"]))
    assert numbers == {"first in": 1, "last in": 3}
    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert "MKL_NUM_THREADS" not in os.environ
    assert limits() == before


def test_a_nested_limit_ends_with_its_context(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    with limited_to(2):
        with limited_to(1):
            assert os.environ["OMP_NUM_THREADS"] == "1"
        assert os.environ["OMP_NUM_THREADS"] == "2"
    assert "OMP_NUM_THREADS" not in os.environ


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "two"])
def test_threads_are_counted_in_whole_numbers(threads: Any) -> None:
    with pytest.raises(InputError, match=r"runtime\.threads="), limited_to(threads):
        pass


def test_a_library_loaded_later_is_limited_too() -> None:
    script = (
        "from recx.core.system.threads import limited_to\n"
        "with limited_to(1):\n"
        "    import faiss\n"
        "    from threadpoolctl import threadpool_info\n"
        "    print(faiss.omp_get_max_threads(), {pool['num_threads'] for pool in threadpool_info()})"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "1 {1}"


def test_pieces_come_back_in_their_order_whoever_is_done_first(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_first(piece: int) -> int:
        time.sleep(0.02 if piece == 0 else 0)
        return piece * piece

    for threads in ("1", "2", "7"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        assert side_by_side(slow_first, range(5)) == [0, 1, 4, 9, 16]
    assert side_by_side(slow_first, []) == []


def test_an_error_in_a_piece_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    with pytest.raises(ZeroDivisionError):
        side_by_side(lambda piece: 1 / piece, [1, 0, 2])


def test_results_come_in_order_and_few_are_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    taken: list[int] = []

    def pieces() -> Iterator[int]:
        for piece in range(12):
            taken.append(piece)
            yield piece

    def work(piece: int) -> int:
        time.sleep(0.01 * (piece % 3))
        return piece * piece

    for at, result in enumerate(ahead(work, pieces())):
        assert result == at * at
        assert len(taken) <= at + 4


def test_nested_work_shares_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")

    def names(_: int) -> set[str]:
        return set(side_by_side(lambda _: (time.sleep(0.01), current_thread().name)[1], range(6)))

    together = Barrier(2, timeout=PATIENCE)
    assert len(set(side_by_side(lambda _: (together.wait(), current_thread().name)[1], range(6)))) > 1
    assert [len(inner) for inner in side_by_side(names, range(4))] == [1] * 4


def test_threads_see_the_context_of_their_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    where: ContextVar[str] = ContextVar("where", default="nowhere")
    where.set("here")
    assert side_by_side(lambda _: where.get(), range(4)) == ["here"] * 4


def test_an_error_ends_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    begun: list[int] = []

    def work(piece: int) -> int:
        begun.append(piece)
        time.sleep(0.01)
        return 1 // (piece - 1)

    with pytest.raises(ZeroDivisionError):
        list(ahead(work, range(100)))
    assert len(begun) < 10
    assert available() == 2
