"""The number of threads that compute: one number for NumPy, SciPy, FAISS and recx itself.

This module does not import NumPy, whose thread pool reads the number at import.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TypeVar

from recx.core.errors import InputError

S = TypeVar("S")
T = TypeVar("T")
_POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@contextmanager
def limited_to(threads: object) -> Iterator[int]:
    """Limit the threads of NumPy, SciPy, FAISS and other libraries inside the context, and yield their number.

    Args:
        threads: A positive integer, or None for what is ``available``.

    Raises:
        InputError: The number is not a positive integer.
    """
    from threadpoolctl import threadpool_limits

    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"runtime.threads={threads}: it must be a positive whole number, or null for every core")
    number = threads if isinstance(threads, int) else available()
    before = {name: os.environ[name] for name in _POOLS if name in os.environ}
    os.environ.update(dict.fromkeys(_POOLS, str(number)))
    try:
        # The pools of libraries that are loaded already do not read the environment again.
        with threadpool_limits(number) if "numpy" in sys.modules else nullcontext():
            yield number
    finally:
        for name in _POOLS:
            os.environ.pop(name, None)
        os.environ.update(before)


def available() -> int:
    """Return how many threads may compute: OMP_NUM_THREADS if it is set, else all cores that this process may use."""
    text = os.environ.get("OMP_NUM_THREADS", "")
    return int(text) if text.isdigit() and int(text) > 0 else cores()


def cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def side_by_side(work: Callable[[S], T], pieces: Iterable[S]) -> list[T]:
    """Return the result of ``work`` for each piece, in order, computed by as many threads as are available.

    Args:
        work: A function that releases Python's global lock while it computes, as NumPy does.
        pieces: The arguments; the results never depend on the number of threads.
    """
    from concurrent.futures import ThreadPoolExecutor

    pieces = list(pieces)
    workers = min(available(), len(pieces))
    if workers < 2:
        return list(map(work, pieces))
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(work, pieces))
