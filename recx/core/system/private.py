"""Files and folders that nobody but this user, or root, can write to."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def is_open(path: Path) -> bool:
    """Return whether somebody else may write to a file or folder, or owns it; links are followed."""
    state = path.stat()
    return _is_writable(state) or (hasattr(os, "getuid") and state.st_uid not in (0, os.getuid()))


def is_replaceable(folder: Path) -> bool:
    """Return whether somebody else may put another folder in the place of one in this folder."""
    state = folder.stat()
    return _is_writable(state) and not state.st_mode & stat.S_ISVTX  # in a sticky folder, only owners rename


def _is_writable(state: os.stat_result) -> bool:
    if not hasattr(os, "getuid"):
        return False  # Windows has no such bits
    return bool(state.st_mode & (stat.S_IWOTH | (0 if _is_private(state.st_gid) else stat.S_IWGRP)))


def _is_private(gid: int) -> bool:
    """Return whether a group is the one of this user alone, as most Linux systems create it with the user."""
    import grp
    import pwd

    try:
        group, user = grp.getgrgid(gid), pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return False
    return group.gr_name == user and not set(group.gr_mem) - {user}
