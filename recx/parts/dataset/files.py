"""Paths and text files of datasets: the path that is set, the folder or file it names, the text of a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from recx.core.errors import InputError, did_you_mean
from recx.core.types import Array
from recx.storage.readers.content import content, is_folder, readable
from recx.storage.readers.file_sets import FileSet, files_of
from recx.storage.readers.text_bytes import refuse_nul


def require_path(path: str | None, example: str) -> Path:
    """Return the path of a dataset that cannot do without one.

    Args:
        path: the setting ``dataset.path``.
        example: a typical value, for the error message.

    Raises:
        InputError: no path is set, or its home folder is unknown.
    """
    if not path:
        raise InputError(f"dataset.path is not set: name the file, such as dataset.path={example}")
    return expand_home(path)


def require_files(path: str | Sequence[str] | None, example: str) -> FileSet:
    """Return the files of a dataset that cannot do without one.

    Args:
        path: the setting ``dataset.path``: a path or pattern, or several.
        example: a typical value, for the error message.

    Raises:
        InputError: no path is set, or there is no such file.
    """
    if path is None or path == "":
        raise InputError(f"dataset.path is not set: name the file, such as dataset.path={example}")
    return files_of(path, "dataset.path")


def expand_home(path: str) -> Path:
    """Return the path with a leading ``~`` expanded.

    Raises:
        InputError: the system does not know that home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise InputError(f"dataset.path={path}: there is no such home folder: write the path in full") from error


def require_folder(folder: Path) -> Path:
    """Return the folder that ``dataset.path`` names.

    Raises:
        InputError: it is not a readable folder.
    """
    if is_folder(folder):
        return folder
    if folder.exists():
        raise InputError(f"dataset.path={folder} is a file: name the folder that holds it")
    with readable(folder.parent):
        near = did_you_mean(folder.name, (p.name for p in folder.parent.iterdir())) if folder.parent.is_dir() else ""
    raise InputError(f"dataset.path={folder}: no such folder; {near or 'correct the path'}")


def file_in(folder: Path, name: str) -> Path | None:
    """Return the file of this name in a folder, plain or gzipped (a broken link included), or None."""
    return next((path for path in (folder / name, folder / f"{name}.gz") if os.path.lexists(path)), None)


def read_text(path: Path) -> str:
    """Return the text of a plain or gzipped file, without a byte order mark.

    Raises:
        InputError: the file cannot be read, or is not UTF-8.
    """
    data = content(path)
    refuse_nul(path, data)
    try:
        return bytes(data).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not text in UTF-8 (byte {error.start + 1}): save it as UTF-8") from error


def refuse_first(bad: Array, message: Callable[[int], str]) -> None:
    """Raise an error about the first bad row, if there is one.

    Args:
        bad: which rows are bad [n].
        message: returns the error message for a row, counted from 0.

    Raises:
        InputError: a row is bad.
    """
    if bad.any():
        raise InputError(message(int(np.argmax(bad))))
