"""How many threads compute: one number for numpy, scipy, FAISS and recx's own.

Nothing here brings numpy, whose pool reads the number when it is loaded.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

from recx.core.errors import InputError

S = TypeVar("S")
T = TypeVar("T")
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limited_to(threads: object) -> Iterator[int]:
    """Let numpy, scipy, FAISS and whatever else counts threads use at most so many inside.

    threads: a whole number, or None for what is ``available``.

    Raises:
        InputError: it is no whole number from 1 up.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"runtime.threads={threads}: it must be a whole number from 1 up, or null for every core")
    number = threads if isinstance(threads, int) else available()
    before = {name: os.environ[name] for name in _POOLS if name in os.environ}
    os.environ.update(dict.fromkeys(_POOLS, str(number)))
    try:
        with _loaded_pools(number):
            yield number
    finally:
        for name in _POOLS:
            os.environ.pop(name, None)
        os.environ.update(before)


def _loaded_pools(number: int) -> Any:
    """Limit the pools of libraries that read the environment before we could set it."""
    if "numpy" not in sys.modules:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(number)


def available() -> int:
    """Return how many threads may compute: what OMP_NUM_THREADS says, else every core that this process may use."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdigit() and int(said) > 0:
        return int(said)
    return cores()


def cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def side_by_side(work: Callable[[S], T], pieces: Iterable[S]) -> list[T]:
    """Return what comes of each piece, in order, as many at a time as there are threads.

    work: lets go of Python's lock while it computes, as numpy does. The outcome never depends on the threads.
    """
    from concurrent.futures import ThreadPoolExecutor

    pieces = list(pieces)
    if min(available(), len(pieces)) < 2:
        return list(map(work, pieces))
    with ThreadPoolExecutor(min(available(), len(pieces))) as pool:
        return list(pool.map(work, pieces))
