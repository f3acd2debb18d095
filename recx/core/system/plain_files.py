"""Files that somebody else may have made: only plain ones of a bounded size are read.

A link would have another file read in its place, a pipe would wait for ever, a device may have no end.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path

from recx.core.errors import InputError

MIB = 2**20
LARGEST = 64 * MIB
"""Size of a text that recx reads back, where nothing else is said."""
_KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
    stat.S_IFDIR: "a folder",
}


def check_plain(path: Path, largest: int | None = None, *, own: bool = False) -> os.stat_result:
    """Return the state of a plain file.

    Args:
        path: The file.
        largest: Its greatest size in bytes; None: any.
        own: Whether it must belong to this user or to root.

    Raises:
        InputError: It is something else, too large, or another user's.
        OSError: There is no such file.
    """
    state = path.lstat()
    if not stat.S_ISREG(state.st_mode):
        kind = _KINDS.get(stat.S_IFMT(state.st_mode), "no file")
        raise InputError(f"{path} is {kind}, and recx reads only plain files here: put the file itself in its place")
    if largest is not None and state.st_size > largest:
        raise InputError(f"{path} has {state.st_size:,} bytes, and at most {largest:,} are read: it is not recx's own")
    if own and not is_own(state):
        raise InputError(f"{path} belongs to another user: copy it, so that it is yours")
    return state


def read_text(path: Path, largest: int = LARGEST, *, own: bool = False) -> str:
    """Return the text of a plain file; the arguments and errors are those of ``check_plain``.

    Args:
        path: The file.
        largest: The size in bytes that is still read.
        own: Whether it must be a file of this user, or of root.

    Raises:
        InputError: It is no plain file, too large, or not UTF-8.
    """
    check_plain(path, largest, own=own)
    return path.read_text(encoding="utf-8")


def is_folder(path: Path) -> bool:
    """Return whether a path is a folder itself, not a link to one, that belongs to this user or to root."""
    try:
        state = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(state.st_mode) and is_own(state)


def is_own(state: os.stat_result) -> bool:
    """Return whether a file belongs to this user or to root; True on systems without such owners."""
    return not hasattr(os, "geteuid") or state.st_uid in (0, os.geteuid())
