"""Keys of the stage cache: the hash of everything that a result depends on.

Settings, arrays, files and code are hashed by content, never by name or time.
"""

from __future__ import annotations

import glob
import hashlib
import os
import platform
import stat
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from fnmatch import fnmatchcase
from functools import cache, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from recx.core import project
from recx.core.entities import Entities
from recx.core.progress import say
from recx.core.types import Array, Fold, Interactions, RankedLists, Requests, Split
from recx.storage.cache.code_version import NoKeyError as NoKeyError
from recx.storage.cache.code_version import code_of

SIZE = 16  # bytes of a key
OUTPUTS = "outputs"
"""The output folder of runs; if it lies in a folder of data, it is not part of the data."""

PATIENCE = 2.0
"""Seconds after which it is said that files are being read."""
LARGE = 2**30
"""Bytes of a file from which this is said before."""

_DATA = (Interactions, RankedLists, Entities, Requests, Fold, Split)
_known: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


def key_of(*values: Any) -> str:
    """Return the key, 32 hex digits, of plain values, arrays, mappings, sequences, parts and what passes between them.

    Raises:
        NoKeyError: There is another kind of value, such as a function.
    """
    digest = hashlib.blake2b(digest_size=SIZE)
    _feed(digest, values)
    return digest.hexdigest()


def key_of_part(part: Any) -> str:
    """Return the key of a part's settings, of the files that they name and of all the code that it runs.

    A setting that is called ``path``, contains a slash or starts with ``~`` stands for the content of the file or
    folder, if it exists. Of a part from elsewhere than recx, every text does that names a file or folder, also by a
    pattern such as ``*.csv``, seen from the working directory, from the folders of its module and from those of the
    option files. A part may declare more by attributes, see ``recx.core.protocols``.

    Raises:
        NoKeyError: A setting is a function or the like, a part in it is not cacheable, or the code has changed.
    """
    parts = list(parts_of(part))
    if not all(getattr(inner, "cacheable", True) for inner in parts):
        raise NoKeyError(f"{type(part).__name__} is not cacheable")
    digest = hashlib.blake2b(digest_size=SIZE)
    _feed(digest, part)
    for inner in parts:
        for name in ("named_parts", "depends_on"):
            _feed(digest, getattr(inner, name, ()), _bases(type(inner).__module__))
    _feed(digest, code_of_part(part))
    return digest.hexdigest()


def code_of_part(part: Any) -> str:
    """Return the version of the code of a part and of all parts in it (raises like ``key_of_part``)."""
    return code_of(tuple(sorted({type(inner).__module__ for inner in parts_of(part)})))


@cache
def machine() -> str:
    """Return a key of what affects rounding: the kind of processor, and how NumPy and its BLAS use it."""
    from threadpoolctl import threadpool_info

    kinds = {str(pool["architecture"]) for pool in threadpool_info() if pool.get("prefix") == "libscipy_openblas"}
    found: Any = np.show_config(mode="dicts")
    return key_of(platform.machine(), sorted(kinds), found["SIMD Extensions"]["found"])


def know(value: Any, key: str) -> None:
    """Remember the key of a stage's result, and of the data within it, for as long as they live."""
    if isinstance(value, _DATA):
        _known.setdefault(value, key)
        for field in fields(value):
            know(vars(value).get(field.name), f"{key}.{field.name}")  # not a history that nobody has put together


def is_known(value: Any) -> bool:
    """Return whether a value has a key already: what a part passes on need not be kept twice."""
    return isinstance(value, _DATA) and value in _known


def update(digest: hashlib.blake2b, array: Array | None) -> None:
    """Hash an array's kind, shape and values; of texts also where each one ends."""
    if array is None:
        digest.update(b"none")
        return
    digest.update(f"{array.dtype.kind}{array.shape}".encode())
    if array.dtype.kind in "OUST":
        import pyarrow as pa

        # Arrow stores texts in one buffer and their borders in another, so that ["ab", "c"] and ["a", "bc"] differ.
        for buffer in pa.array(array.tolist(), pa.large_string()).buffers():
            digest.update(b"" if buffer is None else buffer)
    else:
        digest.update(np.ascontiguousarray(array).data)


def _feed(digest: hashlib.blake2b, value: Any, bases: tuple[str, ...] = ()) -> None:
    """Hash a value; ``bases``: where a text in it may name a file, besides one that looks like a path."""
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
        except (TypeError, ValueError) as error:  # an array of objects other than texts
            raise NoKeyError(str(error)) from error
    elif isinstance(value, Mapping | list | tuple):
        digest.update(f"{'{' if isinstance(value, Mapping) else '['}{len(value)}".encode())
        for inner in chain.from_iterable(value.items()) if isinstance(value, Mapping) else value:
            _feed(digest, inner, bases)
    elif isinstance(value, str | Path) and (paths := _paths_of(value, bases)):
        digest.update("".join(f"|{_key_of_path(path)}" for path in paths).encode())
    elif value is None or isinstance(value, bool | int | float | str | Path | np.generic):
        _feed_text(digest, value)
    else:
        raise NoKeyError(f"a {type(value).__name__} has no key")


def _feed_text(digest: hashlib.blake2b, value: Any) -> None:
    text = repr(value).encode()
    digest.update(f"{type(value).__name__}{len(text)}:".encode() + text)


def _feed_fields(digest: hashlib.blake2b, value: Any) -> None:
    kind, bases = type(value), _bases(type(value).__module__)
    digest.update(f"({kind.__module__}.{kind.__qualname__}".encode())
    names = {field.name for field in fields(value)}
    hidden = [name for name in getattr(value, "__dict__", ()) if name not in names and not hasattr(kind, name)]
    if hidden:
        raise NoKeyError(f"{kind.__name__} has the attribute {hidden[0]}, which is not a setting")
    for field in fields(value):
        digest.update(f" {field.name}=".encode())
        setting = getattr(value, field.name)
        if field.name in getattr(value, "written", ()):
            _feed_text(digest, setting)
        elif (
            field.name == "path"
            and (only := getattr(kind, "reads", None))
            and os.path.isdir(  # noqa: PTH112
                folder := os.path.expanduser(setting or "")  # noqa: PTH111  keeps the path of an unknown user
            )
        ):
            digest.update(f"|{_key_of_path(Path(folder), only)}".encode())
        elif field.name in getattr(kind, "files", ()):
            _feed_files(digest, setting)
        else:
            is_path = field.name == "path" and isinstance(setting, str) and setting
            _feed(digest, Path(setting) if is_path else setting, bases)


def _feed_files(digest: hashlib.blake2b, setting: Any) -> None:
    """Hash the files and folders that a setting names: a path, a pattern, or several.

    Raises:
        NoKeyError: One is an address, whose content may change.
    """
    for name in (setting,) if isinstance(setting, str) else setting or ():
        if "://" in name:
            raise NoKeyError(f"{name} may change")
        text = os.path.expanduser(name)  # noqa: PTH111  keeps the path of an unknown user
        found = [text] if os.path.exists(text) else sorted(glob.glob(text, recursive=True))  # noqa: PTH110, PTH207
        digest.update("".join(f"|{_key_of_path(Path(path))}" for path in found).encode())
        if not found:
            _feed_text(digest, name)


def _paths_of(setting: str | Path, bases: tuple[str, ...]) -> list[Path]:
    """Return the files and folders that a setting may name: a path in the working directory, and all at the bases."""
    text = os.path.expanduser(os.path.expandvars(setting))  # noqa: PTH111  keeps the path of an unknown user
    looks = isinstance(setting, Path) or setting.startswith("~") or "/" in text or os.sep in text
    if not any(map(str.isalnum, str(setting))):  # a single slash may be a delimiter; "." is the working directory alone
        return [Path(text)] if isinstance(setting, Path) and os.path.exists(text) else []  # noqa: PTH110
    found = [text] if looks and os.path.exists(text) else []  # noqa: PTH110  a text may be too long for Path.exists
    is_pattern = glob.has_magic(text) and text.isprintable()
    for base in bases:
        there = os.path.join(base, text)  # noqa: PTH118
        if os.path.exists(there):  # noqa: PTH110
            found.append(there)
        elif is_pattern:
            found += sorted(glob.glob(os.path.join(glob.escape(base), text), recursive=True))  # noqa: PTH118, PTH207
    return [Path(path) for path in {os.path.realpath(path): path for path in found}.values()]


def _bases(module: str) -> tuple[str, ...]:
    """Return the folders from which a part of a module may see a file: none for recx, which sees paths only."""
    if module.partition(".")[0] == "recx":
        return ()
    folders = project.current().folders
    inner = (Path(where) for folder in folders for where, _, _ in os.walk(folder))
    named = [Path.cwd(), *_folders_of(module), *inner, *(folder.parent for folder in folders)]
    return tuple(dict.fromkeys(map(str, named)))


@cache
def _folders_of(module: str) -> tuple[Path, ...]:
    """Return the folder of a module, and those above it up to the one that holds its package."""
    file = getattr(sys.modules.get(module), "__file__", None)
    return tuple(Path(file).resolve().parents)[: module.count(".") + 1 + file.endswith("__init__.py")] if file else ()


def parts_of(value: Any) -> Iterator[Any]:
    """Yield a part and all parts that its settings contain or refer to."""
    if is_dataclass(value) and not isinstance(value, type):
        yield value
        settings = [getattr(value, field.name) for field in fields(value)]
        value = [*settings, *getattr(value, "named_parts", ())]
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    for one in inner:
        yield from parts_of(one)


def _key_of_path(path: Path, only: Collection[str] = ()) -> str:
    """Return the key of the name and content of a file, or of the files in a folder, independent of its location.

    Args:
        path: The file or folder.
        only: Patterns of the names of the files directly in the folder that count; (): all in it and below.
    """
    whole, digest, patience = path.is_dir(), hashlib.blake2b(digest_size=SIZE), time.monotonic() + PATIENCE
    for file in (_chosen(path, only) if only else _files_of(path)) if whole else [path]:
        try:
            now = file.stat()
            state = now.st_dev, now.st_ino, now.st_size, now.st_mtime_ns, now.st_ctime_ns  # differs after every write
            content = _key_of_file(file, state) if stat.S_ISREG(now.st_mode) else None
        except OSError:  # a broken link, or a file without permission to read
            content = None
        if content is None and not whole:
            raise NoKeyError(f"{path} cannot be read twice")
        _feed_text(digest, file.relative_to(path if whole else path.parent).as_posix())
        _feed_text(digest, content)
        if time.monotonic() > patience:
            say(f"  the cache compares the files in {path} with those of earlier runs (cache=off does without)")
            patience = float("inf")
    return digest.hexdigest()


def _chosen(folder: Path, patterns: Collection[str]) -> list[Path]:
    """Return the files directly in a folder whose names, in lower case and without .gz, match a pattern."""
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208
    except OSError:
        return []
    plain = {name: name.lower().removesuffix(".gz") for name in names}
    return [folder / name for name in names if any(fnmatchcase(plain[name], one.lower()) for one in patterns)]


def _files_of(folder: Path) -> Iterator[Path]:
    """Yield all files in a folder, also behind links, except for the output of runs and what lies above the folder."""
    here, top = Path(os.path.realpath(folder)), str(folder)
    seen = {os.path.realpath(OUTPUTS), *map(str, here.parents)} - {str(here)}
    for where, folders, files in os.walk(top, followlinks=True):
        real = os.path.realpath(where)
        folders[:] = sorted(name for name in folders if name != "__pycache__")  # which running the code beside writes
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        yield from (Path(where, name) for name in sorted(files))


@lru_cache(maxsize=10_000)
def _key_of_file(file: Path, state: tuple[int, ...]) -> str:
    if state[2] > LARGE:
        say(f"  the cache reads {file}, {state[2] / 1e9:.1f} GB, to know it again (cache=off does without)")
    with file.open("rb") as content:
        return hashlib.file_digest(content, lambda: hashlib.blake2b(digest_size=SIZE)).hexdigest()
