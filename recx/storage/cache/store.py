"""The stage cache: results of stages, kept under ``outputs/cache`` by a key of everything that they depend on.

An entry is written under a temporary name and renamed, so it is never incomplete; later damage is noticed on reading,
and the result is computed again (see ``recx.storage.cache.entries``). A disk error costs time, but never a run.
"""

from __future__ import annotations

import errno
import shutil
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from recx.core.progress import say
from recx.core.system.locks import turn
from recx.core.system.plain_files import is_folder
from recx.core.system.sizes import readable
from recx.storage import values
from recx.storage.cache import keys
from recx.storage.cache.code_version import code_of
from recx.storage.cache.entries import ENTRY, LOCK, PART, Entry, clear, describe, remove, wrong_in
from recx.storage.cache.limit import room

T = TypeVar("T")
CACHE = "outputs/cache"
"""The folder of the stage cache, relative to the working directory."""
EXACT = ("load", "filter", "split")
"""Stages whose result is the same, bit for bit, with any number of threads."""

CODE = ("recx.experiment.caching", "recx.parts.shared.design_matrix", "recx.storage.values")
"""Modules that write and read every result."""

ROOM = 64 * 2**20
"""Bytes of its disk that the cache leaves free, for the files of runs."""

_current: ContextVar[Cache | None] = ContextVar("cache", default=None)


def current() -> Cache | None:
    """Return the cache of the current run, or None."""
    return _current.get()


def kept(stage: str, part: Any, make: Callable[[], T], *inputs: Any) -> T:
    """Return the result of a stage from the cache of the current run, or compute it (see ``Cache``)."""
    cache = current()
    return make() if cache is None else cache.kept(stage, lambda: cache.key(stage, part, *inputs), make)


def _require_room(folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < ROOM:
        raise OSError(errno.ENOSPC, f"only {free // 2**20} MB of its disk are free")


@dataclass(frozen=True)
class Cache:
    """The stage cache of a run.

    Attributes:
        folder: The folder of the entries.
        writes: Whether new results are kept (False: entries are only read).
        threads: The number of threads that compute.
        passing: Stages whose results are not kept, because nothing else will need them.
        limit: The most bytes that all entries may have (see ``recx.storage.cache.limit``); None: no limit.
        hits: Stage -> number of entries that were used instead of computing.
        troubles: Why results could not be kept; only the first is printed.
        damaged: Keys of damaged entries that were reported.
        written: Keys of the entries that this run has written.
        removed: Entries that were removed because of the limit.
        too_large: Stages whose results have more bytes than the limit; only the first is printed.
    """

    folder: Path
    writes: bool = True
    threads: int = 1
    passing: Collection[str] = ()
    limit: int | None = None
    hits: Counter[str] = field(default_factory=Counter)
    troubles: list[Exception] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    removed: list[Entry] = field(default_factory=list)
    too_large: list[str] = field(default_factory=list)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Make this the ``current`` cache inside the context, and say afterwards what its limit removed."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)
            if self.removed:
                what = f"{len(self.removed)} entries ({readable(sum(entry.bytes for entry in self.removed))})"
                limit = readable(self.limit or 0)
                say(f"  the stage cache reached cache.limit ({limit}): {what}, the least recently used, were removed")

    def key(self, stage: str, part: Any, *inputs: Any) -> str | None:
        """Return the key of a stage's result, or None if its content cannot be hashed.

        Args:
            stage: The stage.
            part: The part; or, for the work of a fitted part, the key of its fit (None: it has none).
            inputs: The data that the stage gets.
        """
        threads = None if stage in EXACT else self.threads
        try:
            of = keys.key_of_part(part) if is_dataclass(part) else part
            by = (code_of(CODE), keys.machine(), threads)
            return None if of is None else keys.key_of(stage, of, by, *inputs)
        except keys.NoKeyError:
            return None

    def place(self, key: str) -> Path:
        """Return the folder of an entry, which need not exist."""
        return self.folder / key[:2] / key

    def kept(
        self,
        stage: str,
        key: Callable[[], str | None],
        make: Callable[[], T],
        save: Callable[[T, Path], object] = lambda value, folder: None,
    ) -> T:
        """Return the result that is kept under a key, or compute and keep it.

        If several processes need it at once, only one computes it.

        Args:
            stage: The stage.
            key: Returns the key. It is called again afterwards: a result whose inputs have changed is not kept.
            make: Computes the result.
            save: Writes further files of the result into the entry's folder.
        """
        name = key()
        if name is None:
            return make()
        found = self._read(stage, name)
        if found is None and self.writes and stage not in self.passing:
            with self.alone(stage, name) as locked:
                found = self._read(stage, name) if locked else None
                if locked and found is None:
                    started = time.perf_counter()
                    value = make()
                    found = [value]
                    if not keys.is_known(value) and key() == name:  # else it was handed on, or its inputs have changed
                        self.write(stage, name, started, partial(values.write, value), partial(save, value))
        result: T = make() if found is None else found[0]
        if key() == name:
            keys.know(result, name)
        return result

    def _read(self, stage: str, key: str) -> list[Any] | None:
        found = self.read(stage, key)
        if found is not None:
            self.hits[stage] += 1
        return found

    def read(self, stage: str, key: str, inner: str = "", locate: values.Locate = values.no_parts) -> list[Any] | None:
        """Return a list of the one value of an entry, or None if there is none that is undamaged.

        Args:
            stage: The stage.
            key: The key of the result.
            inner: The folder in the entry that holds the value; "": the entry itself.
            locate: Finds the classes of parts (see ``recx.storage.values.read``).
        """
        folder = self.find(stage, key)
        if folder is None:
            return None
        try:
            value = values.read(folder / inner, locate)
        except Exception as error:  # pruned just now, or written by something else
            self._damaged(stage, folder, type(error).__name__)
            return None
        return [value]

    def take_back(self, stage: str) -> None:
        """Undo one hit."""
        self.hits[stage] -= 1
        if not self.hits[stage]:
            del self.hits[stage]

    def find(self, stage: str, key: str) -> Path | None:
        """Return the folder of an undamaged entry, or None."""
        folder = self.place(key)
        if not is_folder(folder.parent):
            return None
        try:
            wrong = wrong_in(folder)
        except OSError:
            return None
        if wrong is not None:
            self._damaged(stage, folder, wrong)
            return None
        with suppress(OSError):
            (folder / ENTRY).touch()  # so that pruning knows that it is in use
        return folder

    def _damaged(self, stage: str, folder: Path, what: str) -> None:
        with suppress(OSError):
            folder.lstat()  # raises if it was pruned just now
            if folder.name not in self.damaged:
                say(f"  the cache's entry {folder.name} ({stage}) is damaged ({what}): computing it again")
            self.damaged.add(folder.name)
            if self.writes:
                remove(folder)

    @contextmanager
    def alone(self, stage: str, key: str) -> Iterator[bool]:
        """Admit one process at a time per key, and yield whether the lock could be created: otherwise keep nothing."""
        path = self.place(key).with_suffix(LOCK)
        with ExitStack() as stack:
            locked = True
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                if not is_folder(path.parent):
                    raise OSError(f"{path.parent} is a link or another user's")
                try:
                    stack.enter_context(turn(path, wait=False))
                except BlockingIOError:
                    say(f"  another process computes the same ({stage}): waiting for its result")
                    stack.enter_context(turn(path))
                _require_room(path.parent)
            except OSError as error:
                self.cannot_keep(stage, error)
                locked = False
            yield locked

    def write(self, stage: str, key: str, started: float, *fill: Callable[[Path], object]) -> None:
        """Write a new entry, only inside ``alone``; if that fails, nothing is kept.

        Args:
            stage: The stage.
            key: The key of the result.
            started: ``time.perf_counter`` at the start of the computation.
            fill: Functions that write the files of the result into a folder.
        """
        place = self.place(key)
        part = place.with_suffix(PART)
        try:
            clear(part)  # left by a process that was killed
            part.mkdir(parents=True)
            for write in fill:
                write(part)
            size = describe(part, stage, time.perf_counter() - started)
            _require_room(part)
            if self.limit is not None and size > self.limit:
                self._say_too_large(stage, size, self.limit)
                return
            with room(self.folder, size, self.limit, self.written) as gone:
                self.removed.extend(gone)
                remove(place)
                part.rename(place)
            self.written.add(key)
        except values.NotStorableError:
            pass
        except Exception as error:  # a disk error, which libraries report under various names
            self.cannot_keep(stage, error)
        finally:
            clear(part)

    def _say_too_large(self, stage: str, size: int, limit: int) -> None:
        if not self.too_large:
            say(f"  the cache keeps no {stage}: its {readable(size)} are more than cache.limit ({readable(limit)})")
        self.too_large.append(stage)

    def cannot_keep(self, stage: str, error: Exception) -> None:
        """Record why a result is not kept, and print the first reason."""
        if not self.troubles:
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            say(f"  the cache keeps no {stage} ({reason}): check the disk, or choose cache=off")
        self.troubles.append(error)
