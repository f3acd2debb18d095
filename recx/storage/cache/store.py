"""The stage cache: what a stage made, kept under ``outputs/cache`` by a key of all that it was made from.

An entry is written under a temporary name and renamed, so it is whole or not there; what was damaged later is noticed
on reading and made anew (see ``recx.storage.cache.entries``). Whatever the disk refuses costs time, never a run.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from recx.core.progress import say
from recx.core.system.locks import turn
from recx.storage.cache import keys, values
from recx.storage.cache.code_version import code_of
from recx.storage.cache.entries import ENTRY, LOCK, PART, clear, describe, remove, wrong_in

T = TypeVar("T")
CACHE = "outputs/cache"
"""Where the stage cache lies, from the working directory."""
EXACT = ("load", "split")
"""Stages whose outcome is the same to the bit with any number of threads."""

CODE = ("recx.experiment.caching", "recx.parts.shared.design_matrix", "recx.storage.cache.values")
"""Modules that every outcome goes through on its way to an entry and back."""

_current: ContextVar[Cache | None] = ContextVar("cache", default=None)


def current() -> Cache | None:
    """Return the cache of the run that is going on, or None."""
    return _current.get()


def kept(stage: str, part: Any, make: Callable[[], T], *inputs: Any) -> T:
    """Return what the cache of the run that is going on keeps of a stage, or make it (see ``Cache``)."""
    cache = current()
    return make() if cache is None else cache.kept(stage, lambda: cache.key(stage, part, *inputs), make)


@dataclass(frozen=True)
class Cache:
    """folder: where the entries lie. writes: whether new ones are kept (False: only read). threads: how many compute.

    passing: stages whose outcomes are not kept, since nothing else will ask for them. hits: stage -> entries that were
    used instead of computing. troubles: why something could not be kept; only the first is said. damaged: keys of
    entries that were told of.
    """

    folder: Path
    writes: bool = True
    threads: int = 1
    passing: Collection[str] = ()
    hits: Counter[str] = field(default_factory=Counter)
    troubles: list[Exception] = field(default_factory=list)
    damaged: set[str] = field(default_factory=set)

    @contextmanager
    def used(self) -> Iterator[None]:
        """Let whatever runs inside find this cache by ``current``."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def key(self, stage: str, part: Any, *inputs: Any) -> str | None:
        """Return the key of what a stage makes, or None where it cannot be told by content (see ``fingerprint``).

        part: what works there; or, for what a fitted part does, the key of its fit (None: it has none).
        """
        threads = None if stage in EXACT else self.threads
        try:
            of = keys.key_of_part(part) if is_dataclass(part) else part
            by = (code_of(CODE), keys.machine(), threads)
            return None if of is None else keys.key_of(stage, of, by, *inputs)
        except keys.NoKeyError:
            return None

    def place(self, key: str) -> Path:
        """Return the folder of an entry, whether it is there or not."""
        return self.folder / key[:2] / key

    def kept(
        self,
        stage: str,
        key: Callable[[], str | None],
        make: Callable[[], T],
        save: Callable[[T, Path], None] | None = None,
    ) -> T:
        """Return what is kept under a key, or make it and keep it.

        Where several processes want it at once, one makes it. key: asked once more after the making; if it is another
        by then, since a file was written to meanwhile, nobody can tell what the outcome is of, and it is not kept.
        save: writes more files into the entry's folder.
        """
        name = key()
        if name is None:
            return make()
        found = self._read(stage, name)
        if found is None and self.writes and stage not in self.passing:
            with self.alone(stage, name) as held:
                if held:
                    found = self._read(stage, name) or [self._make(stage, key, name, make, save)]
        value: T = make() if found is None else found[0]
        if key() == name:
            keys.know(value, name)
        return value

    def _make(
        self,
        stage: str,
        key: Callable[[], str | None],
        name: str,
        make: Callable[[], T],
        save: Callable[[T, Path], None] | None,
    ) -> T:
        started = time.perf_counter()
        value = make()
        if keys.is_known(value) or key() != name:
            return value  # handed on as it came, or nobody knows of what it is

        def fill(folder: Path) -> None:
            values.write(value, folder)
            if save is not None:
                save(value, folder)

        self.write(stage, name, started, fill)
        return value

    def _read(self, stage: str, key: str) -> list[Any] | None:
        """Return a list of the one value, or None where there is no sound entry."""
        folder = self.find(stage, key)
        if folder is None:
            return None
        try:
            value = values.read(folder)
        except Exception as error:  # pruned this moment, or written by who knows whom
            self._damaged(stage, folder, type(error).__name__)
            return None
        self.hits[stage] += 1
        return [value]

    def take_back(self, stage: str) -> None:
        """Count one hit less."""
        self.hits[stage] -= 1
        if not self.hits[stage]:
            del self.hits[stage]

    def find(self, stage: str, key: str) -> Path | None:
        """Return the folder of an entry whose every file is what it was, or None."""
        folder = self.place(key)
        try:
            wrong = wrong_in(folder)
        except OSError:
            return None
        if wrong is not None:
            self._damaged(stage, folder, wrong)
            return None
        with suppress(OSError):
            (folder / ENTRY).touch()  # so that pruning knows what is in use
        return folder

    def _damaged(self, stage: str, folder: Path, what: str) -> None:
        with suppress(OSError):
            folder.stat()  # else it was pruned this moment
            if folder.name not in self.damaged:
                say(f"  the cache's entry {folder.name} ({stage}) is damaged ({what}): it is computed again")
            self.damaged.add(folder.name)
            if self.writes:
                remove(folder)

    @contextmanager
    def alone(self, stage: str, key: str) -> Iterator[bool]:
        """Let one process at a time inside with a key; give whether the disk lets anybody keep anything."""
        with ExitStack() as stack:
            try:
                stack.enter_context(self._turn(stage, key))
                held = True
            except OSError as error:
                self.cannot_keep(stage, error)
                held = False
            yield held

    @contextmanager
    def _turn(self, stage: str, key: str) -> Iterator[None]:
        path = self.place(key).with_suffix(LOCK)
        with ExitStack() as stack:
            try:
                stack.enter_context(turn(path, wait=False))
            except BlockingIOError:
                say(f"  another process computes the same ({stage}): its outcome is waited for")
                stack.enter_context(turn(path))
            yield

    def write(self, stage: str, key: str, started: float, fill: Callable[[Path], None]) -> None:
        """Let ``fill`` write into the folder of a new entry; inside ``alone`` only. What fails is not kept.

        started: ``time.perf_counter`` when the computing began.
        """
        place = self.place(key)
        part = place.with_suffix(PART)
        try:
            clear(part)  # of a process that was killed
            part.mkdir(parents=True)
            fill(part)
            describe(part, stage, time.perf_counter() - started)
            remove(place)
            part.rename(place)
        except values.NotStorableError:
            pass
        except Exception as error:  # of the disk, under whatever name a library tells it
            self.cannot_keep(stage, error)
        finally:
            clear(part)

    def cannot_keep(self, stage: str, error: Exception) -> None:
        """Say, the first time, why the outcomes of this run are not kept."""
        if not self.troubles:
            reason = " ".join(str(getattr(error, "strerror", None) or error).split())
            say(f"  the cache keeps no {stage} ({reason}): see to the disk, or choose cache=off")
        self.troubles.append(error)
