"""The entries of the stage cache on disk: written as a whole, verified, listed and removed.

An entry is a folder ``<first 2 digits>/<key>`` with the files of a result and ``entry.json``: a description, and the
size and checksum of every other file. Its temporary files have the same name with another suffix.

Somebody else may have written into a cache. So of an entry only the files that it lists are read, and only if they are
plain files of this user in folders of this user: no links, no pipes.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import zlib
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.system.locks import turn
from recx.core.system.plain_files import check_plain, is_folder, read_text

ENTRY = "entry.json"
PART, GONE, LOCK, VALUES = ".part", ".gone", ".lock", ".values"
"""Suffixes of temporary files of an entry: being written, being removed, its lock, and values of a feature so far."""
DAMAGED = "(damaged)"
_KEY = re.compile("[0-9a-f]{32}")
_STAGE = re.compile(r"\w{1,40}", re.ASCII)

_sound: set[tuple[Any, ...]] = set()  # files that this process has verified already


@dataclass(frozen=True)
class Entry:
    """One entry.

    Attributes:
        place: Its folder.
        stage: The stage that made it.
        bytes: Its size.
        used: When it was last used (unix seconds).
    """

    place: Path
    stage: str
    bytes: int
    used: float


def describe(folder: Path, stage: str, seconds: float) -> int:
    """Write the description of an entry, and return its size (bytes).

    Args:
        folder: The entry's folder, which already holds all other files.
        stage: The stage that made it.
        seconds: How long computing it took.
    """
    files = {path.relative_to(folder).as_posix(): _checksum(path) for path in _files(folder)}
    size = sum(size for size, _ in files.values())
    facts = {"stage": stage, "made": time.time(), "seconds": seconds, "bytes": size, "files": files}
    (folder / ENTRY).write_text(json.dumps(facts), encoding="utf-8")
    _sound.update(_state(folder / name, recorded) for name, recorded in files.items())
    return size


def wrong_in(folder: Path) -> str | None:
    """Return the name of a damaged file of an entry, or None.

    Raises:
        FileNotFoundError: There is no such entry.
    """
    folder.lstat()
    name = ENTRY
    try:
        if not is_folder(folder):
            return name
        for name, recorded in _facts(folder)["files"].items():
            if not _is_inside(folder, name) or not _is_sound(folder / name, recorded):
                return str(name)
    except Exception:  # a damaged file may raise anything
        return name
    return None


def _facts(folder: Path) -> dict[str, Any]:
    return dict(json.loads(read_text(folder / ENTRY, own=True)))


def _is_inside(folder: Path, name: str) -> bool:
    """Return whether a listed file lies in the entry, and so do the folders above it."""
    path = Path(name)
    if path.is_absolute() or path.drive or ".." in path.parts:
        return False
    return all(is_folder(folder / above) for above in path.parents)


def remove(place: Path) -> None:
    """Remove an entry at once, by renaming it; if that is impossible, keep it."""
    gone = place.with_suffix(GONE)
    clear(gone)
    with suppress(OSError):
        place.rename(gone)
    clear(gone)


def clear(path: Path) -> None:
    """Remove a file or folder as far as possible."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def entries(folder: Path) -> list[Entry]:
    """Return the entries of a cache, the least recently used first; unreadable ones have the stage ``DAMAGED``."""
    found = []
    for place in _inside(folder):
        with suppress(OSError):  # removed by another process
            if not place.suffix and is_folder(place):
                found.append(_entry(place))
    return sorted(found, key=lambda entry: entry.used)


def _inside(folder: Path) -> list[Path]:
    """Return all paths in a cache that are named like its entries: nothing else is ever removed."""
    found: list[Path] = []
    with suppress(OSError):
        for two in filter(is_folder, folder.iterdir()):
            with suppress(OSError):
                found.extend(path for path in two.iterdir() if path.stem[:2] == two.name and _is_ours(path))
    return found


def _is_ours(path: Path) -> bool:
    """Return whether a path is named like an entry or a temporary file of one, and a folder has its description."""
    if not _KEY.fullmatch(path.stem) or path.suffix not in ("", PART, GONE, LOCK, VALUES):
        return False
    return bool(path.suffix) or os.path.lexists(path / ENTRY) or not any(path.iterdir())


def _entry(place: Path) -> Entry:
    try:
        facts, used = _facts(place), (place / ENTRY).lstat().st_mtime
        stage = facts["stage"] if _STAGE.fullmatch(facts["stage"]) else DAMAGED
        return Entry(place, stage, max(0, int(facts["bytes"])), used)
    except Exception:  # a damaged file may raise anything
        size = sum(path.lstat().st_size for path in _files(place))
        return Entry(place, DAMAGED, size, place.stat().st_mtime)


def prune(folder: Path, keep: int | None, older: float | None, spared: Collection[str] = ()) -> list[Entry]:
    """Remove entries, the least recently used first, and what killed processes left behind.

    Args:
        folder: The cache.
        keep: Remove entries until the others have at most this many bytes; None: no limit.
        older: Remove entries that have not been used for this many seconds; None: none.
        spared: Keys of entries that are removed only after all others.

    Returns:
        The entries that were removed.
    """
    found = sorted(entries(folder), key=lambda entry: entry.place.name in spared)
    size, oldest = sum(entry.bytes for entry in found), 0.0 if older is None else time.time() - older
    gone = []
    for entry in found:
        if entry.used < oldest or (keep is not None and size > keep):
            remove(entry.place)
            size -= entry.bytes
            gone.append(entry)
    for left in _inside(folder):
        if left.suffix:
            with suppress(OSError), turn(left.with_suffix(LOCK), wait=False):  # raises if it is being written
                if left.suffix != LOCK:
                    clear(left)
    return gone


def free(folder: Path, size: int) -> int:
    """Remove the least recently used entries of this many bytes in all, or all there are; return how many."""
    total = sum(entry.bytes for entry in entries(folder))
    return len(prune(folder, max(0, total - size) if total > size else -1, None))


def _files(folder: Path) -> Iterator[Path]:
    found = sorted(Path(top, name) for top, _, names in os.walk(folder) for name in names)
    return (path for path in found if path.is_file() and not path.is_symlink())


def _is_sound(path: Path, recorded: Any) -> bool:
    """Return whether a file is unchanged; it is read once per process and change."""
    state, [size, _] = _state(path, recorded), recorded
    if state not in _sound and check_plain(path, size, own=True) and list(_checksum(path)) == recorded:
        _sound.add(state)
    return state in _sound


def _state(path: Path, recorded: Any) -> tuple[Any, ...]:
    stat = path.lstat()
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns, *recorded


def _checksum(path: Path) -> tuple[int, int]:
    """Return a file's size and CRC-32, which detects every flipped byte and every changed run of 4 bytes."""
    size = crc = 0
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            size, crc = size + len(block), zlib.crc32(block, crc)
    return size, crc
