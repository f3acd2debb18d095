"""Loops over stored entries, compiled by Numba where an array expression would need requests × items numbers.

A kernel is a plain function of arrays and numbers under ``@compiled``. Numba is imported at the first call of any. The
compiled code is kept in a folder that belongs to the user alone, since Numba keeps it as pickle, which runs what it
reads: where there is no such folder, nothing is kept and every process compiles anew.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from recx.core.progress import say

P = ParamSpec("P")
R = TypeVar("R")
UNUSED = 30 * 86_400  # seconds after which compiled code that no process has loaded is removed
_turn = RLock()  # Numba's setting of the folder is one for the process


def compiled(*writes: str) -> Callable[[Callable[P, R]], Kernel[P, R]]:
    """Return a decorator that compiles a function at its first call; it then runs without Python's global lock.

    Kernels may call one another. They take arrays, numbers and named tuples of them, by position, and see every array
    as contiguous and, apart from those that they write into, as read-only, so that one compilation serves arrays in
    memory and in mapped files.

    Args:
        *writes: The names of the arguments that are written into.
    """
    return lambda function: Kernel(function, writes)


class Kernel(Generic[P, R]):
    """A function that is compiled at its first call.

    Attributes:
        function: The function itself.
        writes: The names of the arguments that it writes into.
    """

    def __init__(self, function: Callable[P, R], writes: tuple[str, ...]) -> None:
        self.function, self.writes = function, writes
        self.__doc__ = function.__doc__

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = self.dispatcher(*map(_prepared, args, self._written), **kwargs)
        return result

    @cached_property
    def _written(self) -> list[bool]:
        names = inspect.signature(self.function).parameters
        return [name in self.writes for name in names]

    @cached_property
    def dispatcher(self) -> Any:
        """Numba's compiled function."""
        with _turn:
            import numba

            folder = _folder(self._sources())
            config: Any = numba.config
            before, config.CACHE_DIR = config.CACHE_DIR, folder or ""
            try:
                ready: Any = numba.njit(nogil=True, cache=folder is not None, error_model="numpy")(self._linked())
                # By itself, Numba compiles what another kernel calls once more for each constant that it is given.
                of_call = ready.get_call_template
                ready.get_call_template = lambda args, kws: of_call(tuple(map(numba.types.unliteral, args)), kws)
                return ready
            finally:
                config.CACHE_DIR = before

    def _called(self) -> dict[str, Kernel[Any, Any]]:
        """Return the kernels that the function calls, by name."""
        assert isinstance(self.function, FunctionType)
        known = ((name, self.function.__globals__.get(name)) for name in self.function.__code__.co_names)
        return {name: value for name, value in known if isinstance(value, Kernel)}

    def _linked(self) -> FunctionType:
        """Return the function with compiled kernels in the place of those that it calls."""
        assert isinstance(self.function, FunctionType)
        names = {**self.function.__globals__, **{name: other.dispatcher for name, other in self._called().items()}}
        linked = FunctionType(self.function.__code__, names, self.function.__name__, self.function.__defaults__)
        linked.__module__, linked.__qualname__ = self.function.__module__, self.function.__qualname__
        return linked

    def _sources(self) -> Iterator[bytes]:
        """Yield the source of the function's module and of those of the kernels that it calls.

        Numba itself compares only the first: it would keep what was compiled with an older version of another.
        """
        yield Path(inspect.getfile(self.function)).read_bytes()
        for other in self._called().values():
            yield from other._sources()


def _prepared(value: Any, written: bool) -> Any:
    if isinstance(value, np.ndarray):
        if written:
            return value
        if type(value) is not np.ndarray or not value.ndim or not value.flags.c_contiguous:
            value = np.ascontiguousarray(value).view(np.ndarray)
        if value.flags.writeable:
            value = value[:]
            value.flags.writeable = False
        return value
    if isinstance(value, tuple):
        return type(value)(*[_prepared(part, written) for part in value])
    return value


def _folder(sources: Iterator[bytes]) -> str | None:
    """Return the folder of what is compiled from these sources, or None if nothing can be kept."""
    home = _private_home()
    if home is None:
        _announce("compiling for this process (about 10 s; nothing can be kept)")
        return None
    digest = hashlib.blake2b(b"\0".join(sources), digest_size=8).hexdigest()
    folder = home / digest
    try:
        if not folder.exists():
            _announce("compiling for this machine, once (about 10 s)")
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)
    except OSError:
        return None
    return str(folder)


@cache
def _announce(text: str) -> None:
    say(text)


@cache
def _private_home() -> Path | None:
    """Return the folder of all compiled code, if it belongs to this user alone, or None."""
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "recx" / "compiled"
    try:
        home.parent.mkdir(parents=True, exist_ok=True)
        home.mkdir(mode=0o700, exist_ok=True)
        found = home.lstat()
        own = not hasattr(os, "geteuid") or found.st_uid == os.geteuid()
        if not stat.S_ISDIR(found.st_mode) or stat.S_IMODE(found.st_mode) & 0o077 or not own:
            return None
        for folder in home.iterdir():
            if time.time() - folder.stat().st_mtime > UNUSED:
                shutil.rmtree(folder, ignore_errors=True)
    except (OSError, RuntimeError):  # no home, or one that cannot be written to
        return None
    return home
