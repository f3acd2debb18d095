"""The files that a setting names: one, a list of them, a pattern, or a folder of parts."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from recx.core.errors import InputError
from recx.storage.readers.content import is_folder, readable, require_file
from recx.storage.readers.in_memory import held_frame
from recx.storage.readers.remote import fetched, is_address

UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".inprogress", ".download", ".filepart")
"""Endings of files that are still being written."""
BESIDE = ("_SUCCESS", "_metadata", "_common_metadata", "_committed_", "_started_")
"""Beginnings of the names of what Spark and the like write beside the parts of a table."""


@dataclass(frozen=True)
class FileSet:
    """Files of one table.

    Attributes:
        paths: The files; those of a folder or pattern in the order of their names, part-2 before part-10.
        skipped: How many hidden files and marks such as ``_SUCCESS`` were passed over.
    """

    paths: tuple[Path, ...]
    skipped: int = 0

    @property
    def name(self) -> Path:
        """What names them in a message."""
        first, *more = self.paths
        return Path(f"{first} … {more[-1].name} ({len(self.paths)} files)") if more else first


def files_of(names: str | Sequence[str], key: str) -> FileSet:
    """Return the files that a setting names.

    Args:
        names: A path or pattern, or several; or the name of a frame in memory.
        key: The setting, for errors.

    Raises:
        InputError: There is no such file, a file is named twice, or a folder holds more than parts of one table.
    """
    found: list[Path] = []
    skipped = 0
    for name in (names,) if isinstance(names, str) else names:
        some = _files_of(name, key)
        found, skipped = [*found, *some.paths], skipped + some.skipped
    if not found:
        raise InputError(f"{key}=[]: the list names no file: name one")
    seen: dict[str, Path] = {}
    for path in found:
        other = seen.setdefault(os.path.realpath(path), path)
        if other is not path:
            raise InputError(f"{key} names the file {path} twice: its rows would count twice, so name it once")
    return FileSet(tuple(found), skipped)


def _files_of(name: str, key: str) -> FileSet:
    if held_frame(name) is not None:
        return FileSet((Path(name),))
    if is_address(name):
        copies = fetched(name, key)
        return _parts(copies[0].parent, copies, key) if len(copies) > 1 else FileSet(tuple(copies))
    try:
        path = Path(name).expanduser()
    except RuntimeError as error:
        raise InputError(f"{key}={name}: there is no such home folder: write the path in full") from error
    if is_folder(path):
        with readable(path):
            inside = sorted(path.iterdir(), key=_in_order)
        return _parts(path, inside, key)
    if glob.has_magic(str(path)) and not os.path.lexists(path):
        inside = sorted(map(Path, glob.glob(str(path), recursive=True)), key=_in_order)  # noqa: PTH207  of any root
        if not inside:
            raise InputError(f"{key}={name}: no file matches the pattern: correct it")
        return _parts(path, [one for one in inside if not one.is_dir()], key)
    require_file(path)
    return FileSet((path,))


def _parts(path: Path, inside: Sequence[Path], key: str) -> FileSet:
    """Return the parts of a table among files and folders."""
    shown = [one for one in inside if not one.name.startswith((".", *BESIDE))]
    for one in shown:
        if one.name.startswith("_temporary") or one.suffix.lower() in UNFINISHED:
            raise InputError(
                f"{path} holds {one.name}, as where a file is still being written: wait until it is complete, or "
                "remove it"
            )
    folders = [one for one in shown if one.is_dir()]
    if folders:
        raise InputError(
            f"{path} holds the folder {folders[0].name}: name the files by a pattern, such as {key}='{path}/**/*.csv', "
            "or the folder that holds them"
        )
    if not shown:
        raise InputError(f"{path} holds no file of a table: name the file, or the folder of its parts")
    for one in shown:
        require_file(one)
    return FileSet(tuple(shown), len(inside) - len(shown))


def _in_order(path: Path) -> list[tuple[int, int, str]]:
    """Return a key that sorts part-2 before part-10."""
    pieces = re.split(r"(\d+)", str(path))
    return [(1, int(piece), piece) if piece.isdecimal() else (0, 0, piece) for piece in pieces]
