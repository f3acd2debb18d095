"""Keys of the stage cache: what an outcome depends on, as one hash.

Settings, arrays, files and code all count by their content, never by their names or times.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from recx.source import code_of
from recx.types import Array, Entities, Fold, Interactions, RankedLists, Requests, Split

SIZE = 16  # bytes of a key

_DATA = (Interactions, RankedLists, Entities, Requests, Fold, Split)
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


class NoKeyError(TypeError):
    """What an outcome depends on cannot be told by its content."""


def key_of(*values: Any) -> str:
    """Return 32 hex digits that stand for values: plain ones, arrays, mappings, sequences, parts and what passes
    between them.

    Raises:
        NoKeyError: there is something else among them, such as a function.
    """
    digest = hashlib.blake2b(digest_size=SIZE)
    _feed(digest, values)
    return digest.hexdigest()


def key_of_part(part: Any) -> str:
    """Return the key of a part's settings, of the files that they name and of all the code that it runs.

    A part whose settings name other parts by a word has these as ``named_parts``.

    Raises:
        NoKeyError: a setting is a function or the like, or a part in it says ``cacheable = False``.
    """
    parts = list(_parts_of(part))
    if not all(getattr(inner, "cacheable", True) for inner in parts):
        raise NoKeyError(f"{type(part).__name__} cannot be kept")
    named = [getattr(inner, "named_parts", ()) for inner in parts]
    return key_of(part, named, code_of(tuple(sorted({type(inner).__module__ for inner in parts}))))


def know(value: Any, key: str) -> None:
    """Remember the key of a stage's outcome, and of the data within it, for as long as they live."""
    if isinstance(value, _DATA):
        _known.setdefault(value, key)
        for field in fields(value):
            know(getattr(value, field.name), f"{key}.{field.name}")


def is_known(value: Any) -> bool:
    """Whether a value has a key already: what a part hands on need not be kept twice."""
    return isinstance(value, _DATA) and value in _known


def update(digest: hashlib.blake2b, array: Array | None) -> None:
    """Hash an array's kind, shape and values; texts are told apart wherever one ends and the next begins."""
    if array is None:
        digest.update(b"none")
        return
    digest.update(f"{array.dtype.kind}{array.shape}".encode())
    if array.dtype.kind in "OUST":
        import pyarrow as pa

        # Arrow keeps texts in one buffer beside their borders, so that ["ab", "c"] and ["a", "bc"] differ.
        for buffer in pa.array(array.tolist(), pa.large_string()).buffers():
            digest.update(b"" if buffer is None else buffer)
    else:
        digest.update(np.ascontiguousarray(array).data)


def _feed(digest: hashlib.blake2b, value: Any) -> None:
    if isinstance(value, _DATA):
        if value not in _known:
            inner = hashlib.blake2b(digest_size=SIZE)
            _feed_fields(inner, value)
            _known[value] = inner.hexdigest()
        digest.update(f"<{_known[value]}>".encode())
    elif is_dataclass(value) and not isinstance(value, type):
        _feed_fields(digest, value)
    elif isinstance(value, np.ndarray):
        digest.update(value.dtype.str.encode())
        try:
            update(digest, value)
        except (TypeError, ValueError) as error:  # an array of objects that are no texts
            raise NoKeyError(str(error)) from error
    elif isinstance(value, Mapping):
        digest.update(f"{{{len(value)}".encode())
        for name, inner in value.items():
            _feed(digest, name)
            _feed(digest, inner)
    elif isinstance(value, list | tuple):
        digest.update(f"[{len(value)}".encode())
        for inner in value:
            _feed(digest, inner)
    elif value is None or isinstance(value, bool | int | float | str | Path | np.generic):
        text = repr(value).encode()
        digest.update(f"{type(value).__name__}{len(text)}:".encode() + text)
    else:
        raise NoKeyError(f"a {type(value).__name__} has no key")


def _feed_fields(digest: hashlib.blake2b, value: Any) -> None:
    kind = type(value)
    digest.update(f"({kind.__module__}.{kind.__qualname__}".encode())
    for field in fields(value):
        digest.update(f" {field.name}=".encode())
        setting = getattr(value, field.name)
        _feed(digest, _key_of_path(Path(setting)) if _is_path(field.name, setting) else setting)


def _is_path(name: str, setting: Any) -> bool:
    """Whether a setting names a file or folder that is there: it is called a path, or its text looks like one."""
    if not isinstance(setting, str | Path) or not (name == "path" or os.sep in str(setting)):
        return False
    return os.path.exists(setting)  # noqa: PTH110  Path.exists raises where a text is too long for a name


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield a part and all parts that its settings hold or name."""
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        settings = [getattr(value, field.name) for field in fields(value)]
        value = [*settings, *getattr(value, "named_parts", ())]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from _parts_of(one)


def _key_of_path(path: Path) -> str:
    """Return the key of what a file, or every file of a folder, is called and holds, wherever it lies."""
    whole = path.is_dir()
    files = sorted(file for file in path.rglob("*") if file.is_file()) if whole else [path]
    return key_of(
        [(str(file.relative_to(path if whole else path.parent)), _key_of_file(file, _state(file))) for file in files]
    )


def _state(file: Path) -> tuple[int, ...]:
    """Return what changes whenever a file is written to; it saves hashing a file twice in one process."""
    told = file.stat()
    return told.st_dev, told.st_ino, told.st_size, told.st_mtime_ns, told.st_ctime_ns


@lru_cache(maxsize=10_000)
def _key_of_file(file: Path, state: tuple[int, ...]) -> str:
    with file.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=SIZE)).hexdigest()
