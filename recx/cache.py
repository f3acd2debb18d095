"""The stage cache: what a stage made, kept under ``outputs/cache`` by a key of all that it was made from.

An entry is a folder ``<first 2 digits>/<key>`` with the outcome's files (see ``recx.stored``) and ``entry.json``: what
it is, and the size and checksum of every file. It is written under a temporary name and renamed, so it is whole or not
there; what was damaged later is noticed on reading and made anew.
"""

from __future__ import annotations

import json
import shutil
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from recx import fingerprint, stored
from recx.locks import turn
from recx.progress import say
from recx.source import code_of

T = TypeVar("T")
ENTRY = "entry.json"
PART = ".part"
"""What the name of an entry that is being written ends with."""

DAY = 86_400.0  # seconds after which nobody is still writing

EXACT = ("load", "split")
"""Stages whose outcome is the same to the bit with any number of threads."""

_current: ContextVar[Cache | None] = ContextVar("cache", default=None)
_sound: set[tuple[Any, ...]] = set()  # files that this process has checked already


def current() -> Cache | None:
    """Return the cache of the run that is going on, or None."""
    return _current.get()


@dataclass(frozen=True)
class Cache:
    """folder: where the entries lie. writes: whether new ones are kept (False: only read). threads: how many compute.

    passing: stages whose outcomes are not kept, since nothing else will ask for them. hits: stage -> entries that were
    used instead of computing. troubles: why something could not be kept; only the first is said.
    """

    folder: Path
    writes: bool = True
    threads: int = 1
    passing: Collection[str] = ()
    hits: Counter[str] = field(default_factory=Counter)
    troubles: list[OSError] = field(default_factory=list)

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
            of = fingerprint.key_of_part(part) if is_dataclass(part) else part
            return None if of is None else fingerprint.key_of(stage, of, threads, code_of(("recx.stored",)), *inputs)
        except fingerprint.NoKeyError:
            return None

    def place(self, key: str) -> Path:
        """Return the folder of an entry, whether it is there or not."""
        return self.folder / key[:2] / key

    def kept(
        self, stage: str, key: str | None, make: Callable[[], T], save: Callable[[T, Path], None] | None = None
    ) -> T:
        """Return what is kept under a key, or make it and keep it.

        Where several processes want it at once, one makes it. save: writes more files into the entry's folder.
        """
        if key is None:
            return make()
        found = self._read(stage, key)
        if found is None and self.writes and stage not in self.passing:
            with turn(self.place(key).with_suffix(".lock")):
                found = self._read(stage, key)
                if found is None:
                    found = [self._make(stage, key, make, save)]
        value: T = make() if found is None else found[0]
        fingerprint.know(value, key)
        return value

    def _make(self, stage: str, key: str, make: Callable[[], T], save: Callable[[T, Path], None] | None) -> T:
        started = time.perf_counter()
        value = make()
        if fingerprint.is_known(value):
            return value  # handed on as it came
        with suppress(stored.NotStorableError), self.writing(stage, key, started) as folder:
            stored.write(value, folder)
            if save is not None:
                save(value, folder)
        return value

    def _read(self, stage: str, key: str) -> list[Any] | None:
        """Return a list of the one value, or None where there is no sound entry."""
        folder = self.find(stage, key)
        if folder is None:
            return None
        try:
            value = stored.read(folder)
        except (OSError, ValueError, KeyError, TypeError) as error:
            self._damaged(stage, folder, type(error).__name__)
            return None
        self.hits[stage] += 1
        return [value]

    def find(self, stage: str, key: str) -> Path | None:
        """Return the folder of an entry whose every file is what it was, or None."""
        folder = self.place(key)
        if not folder.is_dir():
            return None
        try:
            files = json.loads((folder / ENTRY).read_text(encoding="utf-8"))["files"]
            wrong = [name for name, told in files.items() if not _is_sound(folder / name, told)]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            wrong = [ENTRY]
        if wrong:
            self._damaged(stage, folder, wrong[0])
            return None
        with suppress(OSError):
            (folder / ENTRY).touch()  # so that pruning knows what is in use
        return folder

    def _damaged(self, stage: str, folder: Path, what: str) -> None:
        if folder.is_dir():  # else it was pruned this moment
            say(f"  the cache's entry {folder.name} ({stage}) is damaged ({what}): it is computed again")
            if self.writes:
                remove(folder)

    @contextmanager
    def writing(self, stage: str, key: str, started: float) -> Iterator[Path]:
        """Give a folder to write an entry into; inside ``turn`` only. Where the disk fails, nothing is kept.

        started: ``time.perf_counter`` when the computing began.
        """
        place = self.place(key)
        part = place.with_suffix(PART)
        try:
            shutil.rmtree(part, ignore_errors=True)  # of a process that was killed
            part.mkdir(parents=True)
            yield part
            _describe(part, stage, time.perf_counter() - started)
            remove(place)
            part.rename(place)
        except OSError as error:
            if not self.troubles:
                say(f"  the cache keeps no {stage} ({error.strerror or error}): see to the disk, or choose cache=off")
            self.troubles.append(error)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def remove(place: Path) -> None:
    """Take an entry away at one stroke."""
    gone = place.with_suffix(".gone")
    with suppress(FileNotFoundError):
        place.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


@dataclass(frozen=True)
class Entry:
    """One entry: the stage it is of, its bytes, and when it was last used (unix seconds)."""

    place: Path
    stage: str
    bytes: int
    used: float


def entries(folder: Path) -> list[Entry]:
    """Return what a cache holds, the longest unused first."""
    found = []
    for path in folder.glob(f"??/*/{ENTRY}"):
        with suppress(OSError, ValueError, KeyError):  # damaged, or taken away this moment
            facts = json.loads(path.read_text(encoding="utf-8"))
            if path.parent.suffix != PART:
                found.append(Entry(path.parent, str(facts["stage"]), int(facts["bytes"]), path.stat().st_mtime))
    return sorted(found, key=lambda entry: entry.used)


def prune(folder: Path, keep: int | None, older: float | None) -> list[Entry]:
    """Take entries away, the longest unused first, and return them.

    keep: until the others have at most so many bytes. older: those not used for so many seconds.
    """
    found = entries(folder)
    size, oldest = sum(entry.bytes for entry in found), 0.0 if older is None else time.time() - older
    gone = []
    for entry in found:
        if entry.used < oldest or (keep is not None and size > keep):
            remove(entry.place)
            size -= entry.bytes
            gone.append(entry)
    for left in folder.glob("??/*.*"):  # by processes that were killed
        with suppress(OSError):
            if left.stat().st_mtime < time.time() - DAY:
                shutil.rmtree(left) if left.is_dir() else left.unlink()
    return gone


def _describe(folder: Path, stage: str, seconds: float) -> None:
    """Write what an entry is; its folder holds every other file by now."""
    files = {str(path.relative_to(folder)): _checksum(path) for path in sorted(folder.rglob("*")) if path.is_file()}
    facts = {
        "stage": stage,
        "made": time.time(),
        "seconds": seconds,
        "bytes": sum(size for size, _ in files.values()),
        "files": files,
    }
    (folder / ENTRY).write_text(json.dumps(facts), encoding="utf-8")
    _sound.update(_state(folder / name, told) for name, told in files.items())


def _is_sound(path: Path, told: list[int]) -> bool:
    """Whether a file is still what it was; each is read once a process and change."""
    state = _state(path, told)
    if state not in _sound and list(_checksum(path)) == told:
        _sound.add(state)
    return state in _sound


def _state(path: Path, told: Any) -> tuple[Any, ...]:
    stat = path.stat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, *told


def _checksum(path: Path) -> tuple[int, int]:
    """Return a file's size and CRC-32, which finds every flipped byte and run of 4 bytes, at the speed of the disk."""
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return size, crc
