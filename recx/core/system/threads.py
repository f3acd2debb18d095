"""The number of threads that compute: one number for NumPy, SciPy, FAISS and recx itself.

This module does not import NumPy, whose thread pool reads the number at import.
"""

from __future__ import annotations

import os
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from itertools import chain, islice
from threading import Lock
from typing import Any, TypeVar

from recx.core.errors import InputError

S = TypeVar("S")
T = TypeVar("T")
POOLS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""The variables by which libraries are told how many threads they may use."""


@contextmanager
def limited_to(threads: object) -> Iterator[int]:
    """Limit the threads of NumPy, SciPy, FAISS and other libraries inside the context, and yield their number.

    Args:
        threads: A positive integer, or None for what is ``available``.

    Raises:
        InputError: The number is not a positive integer.
    """
    if threads is not None and (type(threads) is not int or threads < 1):
        raise InputError(f"runtime.threads={threads}: it must be a positive whole number, or null for every core")
    with _turn:
        if not _limits:
            _environment.update({name: os.environ[name] for name in POOLS if name in os.environ})
        number = threads if isinstance(threads, int) else _number(_environment.get("OMP_NUM_THREADS", ""))
        limit = _Limit(number, _pools_limited_to(number))
        _limits.append(limit)
    try:
        yield number
    finally:
        with _turn:
            first = _limits[0]
            _limits[:] = [other for other in _limits if other is not limit]
            limit.restore()
            if _limits:
                _limits[0].restore = first.restore
                _pools_limited_to(_limits[-1].number)
            else:
                first.restore()
                for name in POOLS:
                    os.environ.pop(name, None)
                os.environ.update(_environment)
                _environment.clear()


@dataclass
class _Limit:
    """A limit in force, and what restores the limits from before it."""

    number: int
    restore: Callable[[], None]


_turn = Lock()
_limits: list[_Limit] = []
"""Oldest first: those of nested contexts, and of runs in several threads, which share the pools of the process."""
_environment: dict[str, str] = {}
"""The variables from before the first limit."""


def _pools_limited_to(number: int) -> Callable[[], None]:
    """Limit all pools from here on; return what restores them."""
    os.environ.update(dict.fromkeys(POOLS, str(number)))
    if "numpy" not in sys.modules:  # a pool reads the environment once, when its library is loaded
        return lambda: None
    from threadpoolctl import threadpool_limits

    restore: Callable[[], None] = threadpool_limits(number).restore_original_limits
    return restore


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the context, for as long as any thread of the process is inside."""
    global _n_inside, _restore_blas
    if _limits and _limits[-1].number == 1:  # the limit in force
        yield
        return
    with _turn:
        if not _n_inside:
            _restore_blas = _pools().limit(limits=1, user_api="blas").restore_original_limits
        _n_inside += 1
    try:
        yield
    finally:
        with _turn:
            _n_inside -= 1
            if not _n_inside:
                _restore_blas()


_n_inside = 0
_restore_blas: Callable[[], None]
_found: dict[int, Any] = {}
"""Number of imported modules -> the thread pools of their libraries, which take milliseconds to find."""


def _pools() -> Any:
    from threadpoolctl import ThreadpoolController

    n = len(sys.modules)
    if n not in _found:
        _found.clear()
        _found[n] = ThreadpoolController()
    return _found[n]


def available() -> int:
    """Return how many threads may compute: OMP_NUM_THREADS if it is set, else all cores that this process may use."""
    return _number(os.environ.get("OMP_NUM_THREADS", ""))


def _number(text: str) -> int:
    return int(text) if text.isdigit() and int(text) > 0 else cores()


def cores() -> int:
    """Return how many cores this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1


def side_by_side(work: Callable[[S], T], pieces: Iterable[S]) -> list[T]:
    """Return the result of ``work`` for each piece, in order; see ``ahead``."""
    if isinstance(pieces, list) and len(pieces) == 1:
        return [work(pieces[0])]
    return list(ahead(work, pieces))


def ahead(work: Callable[[S], T], pieces: Iterable[S]) -> Iterator[T]:
    """Yield the result of ``work`` for each piece, in order, while as many threads as are available compute the next.

    What is called within ``work`` finds one thread available, so that nested work shares the cores. No more results
    are held than there are threads.

    Args:
        work: A function that releases Python's global lock while it computes, as NumPy and kernels do.
        pieces: The arguments, taken one after the other; the results never depend on the number of threads.
    """
    pieces = iter(pieces)
    first = list(islice(pieces, 2))
    workers = 1 if len(first) < 2 or _inside.get() else available()
    if workers < 2:
        yield from map(work, chain(first, pieces))
        return
    from concurrent.futures import Future, ThreadPoolExecutor

    with ThreadPoolExecutor(workers) as pool:
        coming: deque[Future[T]] = deque()
        try:
            for piece in chain(first, pieces):
                coming.append(pool.submit(copy_context().run, _alone, work, piece))
                if len(coming) > workers:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            for future in coming:
                future.cancel()


def _alone(work: Callable[[S], T], piece: S) -> T:
    """Work on a piece in the context of this thread alone."""
    _inside.set(True)
    return work(piece)


_inside: ContextVar[bool] = ContextVar("inside", default=False)
"""Whether this is one of several threads of ``ahead``."""
