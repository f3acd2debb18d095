"""The entries of the stage cache on disk: each whole or not there, checked, counted and taken away.

An entry is a folder ``<first 2 digits>/<key>`` with an outcome's files and ``entry.json``: what it is, and the size and
checksum of every other file. While it is made, files of the same name with an ending of their own lie beside it.
"""

from __future__ import annotations

import json
import re
import shutil
import time
import zlib
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from recx.core.system.locks import turn

ENTRY = "entry.json"
PART, GONE, LOCK = ".part", ".gone", ".lock"
"""What stands beside an entry: one that is being written, one that is being taken away, and whose turn it is."""
DAMAGED = "(damaged)"
_KEY = re.compile("[0-9a-f]{32}")

_sound: set[tuple[Any, ...]] = set()  # files that this process has checked already


@dataclass(frozen=True)
class Entry:
    """One entry: the stage it is of, its bytes, and when it was last used (unix seconds)."""

    place: Path
    stage: str
    bytes: int
    used: float


def describe(folder: Path, stage: str, seconds: float) -> None:
    """Write what an entry is; its folder holds every other file by now. seconds: that computing it took."""
    files = {path.relative_to(folder).as_posix(): _checksum(path) for path in _files(folder)}
    facts = {
        "stage": stage,
        "made": time.time(),
        "seconds": seconds,
        "bytes": sum(size for size, _ in files.values()),
        "files": files,
    }
    (folder / ENTRY).write_text(json.dumps(facts), encoding="utf-8")
    _sound.update(_state(folder / name, told) for name, told in files.items())


def wrong_in(folder: Path) -> str | None:
    """Return the name of a file of an entry that is not what it was; None: it is sound.

    Raises:
        FileNotFoundError: there is no such entry.
    """
    folder.stat()
    name = ENTRY
    try:
        for name, told in json.loads((folder / ENTRY).read_text(encoding="utf-8"))["files"].items():
            if not _is_sound(folder / name, told):
                return str(name)
    except Exception:  # whatever comes of reading what is damaged
        return name
    return None


def remove(place: Path) -> None:
    """Take an entry away at one stroke; where it cannot be, it stays."""
    gone = place.with_suffix(GONE)
    clear(gone)
    with suppress(OSError):
        place.rename(gone)
    clear(gone)


def clear(path: Path) -> None:
    """Take away whatever is there, as far as it can be."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


def entries(folder: Path) -> list[Entry]:
    """Return what a cache holds, the longest unused first; one that does not say what it is, as ``DAMAGED``."""
    found = []
    for place in _inside(folder):
        with suppress(OSError):  # taken away this moment
            if not place.suffix and place.is_dir():
                found.append(_entry(place))
    return sorted(found, key=lambda entry: entry.used)


def _inside(folder: Path) -> list[Path]:
    """Return all that lies in a cache and is called as its entries are: nothing else is ever taken away."""
    found: list[Path] = []
    with suppress(OSError):
        for two in folder.iterdir():
            with suppress(OSError):
                found.extend(path for path in two.iterdir() if path.stem[:2] == two.name and _KEY.fullmatch(path.stem))
    return found


def _entry(place: Path) -> Entry:
    try:
        facts = json.loads((place / ENTRY).read_text(encoding="utf-8"))
        return Entry(place, str(facts["stage"]), int(facts["bytes"]), (place / ENTRY).stat().st_mtime)
    except Exception:  # whatever comes of reading what is damaged
        size = sum(path.stat().st_size for path in _files(place))
        return Entry(place, DAMAGED, size, place.stat().st_mtime)


def prune(folder: Path, keep: int | None, older: float | None) -> list[Entry]:
    """Take entries away, the longest unused first, and return them; what killed processes left goes too.

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
    for left in _inside(folder):
        if left.suffix:
            with suppress(OSError), turn(left.with_suffix(LOCK), wait=False):  # or it is being made this moment
                if left.suffix != LOCK:
                    clear(left)
    return gone


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _is_sound(path: Path, told: Any) -> bool:
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
