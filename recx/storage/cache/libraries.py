"""What is installed: the distributions behind a library, and a fingerprint of each that changes with its code.

The version alone does not tell: a library of one's own is installed again and again under the same one, and a file of
any library can be edited where it lies. An installer records the hash of every file, so that only files that differ
from the record, by size or by a later time, are read.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import json
import os
import re
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from sys import modules

DISTRIBUTIONS = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "yaml": "PyYAML"}
"""Import name -> name of the distribution, where they differ; looking it up takes long."""
INSTALLED = ("site-packages", "dist-packages")
RECX = "recx-lab"
COMPILED = (".pyc", ".pyo")


@cache
def locations(top: str) -> tuple[tuple[Path, ...], Path | None]:
    """Return the folders of a package, or the file of a single module."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        return tuple(map(Path, spec.submodule_search_locations)), None
    file = getattr(modules.get(top), "__file__", None) if spec is None else spec.origin
    return (), Path(file) if file and Path(file).is_file() else None


@cache
def distributions_of(library: str) -> tuple[str, ...]:
    """Return the distributions of a library; none for a module elsewhere, such as next to a notebook."""
    folders, file = locations(library)
    places = [*folders, *([file] if file else [])]
    if not any(part in INSTALLED for place in places for part in place.parts):
        return ()
    name = DISTRIBUTIONS.get(library, library)
    if _found(name) is None:
        return tuple(metadata.packages_distributions().get(library, ()))
    return (_normal(name),)


def required(distributions: Iterable[str]) -> dict[str, metadata.Distribution]:
    """Return distributions and everything that they require, by name, without extras."""
    found: dict[str, metadata.Distribution] = {}
    pending = list(distributions)
    while pending:
        name = pending.pop()
        one = _found(name)  # None: required on other systems only
        if one is not None and name not in found:
            found[name] = one
            pending.extend(_needs(name))
    return found


@cache
def own_packages(distribution: str) -> tuple[str, ...]:
    """Return the packages and modules of a distribution that was installed from a folder, editable or not.

    It is somebody's own, changes at one version, and may import what lies elsewhere, as no released library does.
    """
    one = _found(distribution)
    if one is None or _normal(distribution) == RECX:
        return ()
    try:
        from_a_folder = "dir_info" in json.loads(one.read_text("direct_url.json") or "{}")
    except ValueError:
        return ()
    named = (one.read_text("top_level.txt") or "").split()
    recorded = [Path(row[0]) for row in _rows(one)]
    named += [path.parts[0].partition(".")[0] for path in recorded if path.suffix == ".py" and path.parts[0] != ".."]
    named += [_normal(distribution).replace("-", "_")]  # an editable one may record nothing but a path
    known = (name for name in dict.fromkeys(named) if locations(name) != ((), None))
    return tuple(known) if from_a_folder else ()


@cache
def fingerprint(distribution: str) -> str:
    """Return the version of a distribution with a hash of its files: equal wherever the same files are installed."""
    one = _found(distribution)
    if one is None:
        return ""
    rows = _rows(one)
    files = _as_recorded(one, rows) if any(row[1] for row in rows) else _as_they_are(one)
    digest = hashlib.blake2b(digest_size=16)
    for name, content in sorted(files):
        digest.update(f"{name} {content} ".encode())
    return f"{one.version} {digest.hexdigest()}"


def _as_recorded(one: metadata.Distribution, rows: list[list[str]]) -> list[tuple[str, str]]:
    """Return the name and hash of every file of the packages, of changed ones as they are now."""
    root, found = str(one.locate_file("")), []
    recorded = [Path(root, name) for name, *_ in rows if name.endswith(".dist-info/RECORD")]
    written = max((file.stat().st_mtime_ns for file in recorded if file.is_file()), default=0)
    for name, kept, size in rows:
        if not kept or name.startswith("../") or ".dist-info/" in name:
            continue  # compiled by Python, or scripts and notes, which hold where they are installed
        try:
            now = os.stat(f"{root}/{name}")  # noqa: PTH116  for thousands of files, a path object takes longest
            changed = str(now.st_size) != size or now.st_mtime_ns > written
            found.append((name, _hash(Path(root, name), kept.partition("=")[0]) if changed else kept))
        except (OSError, ValueError):
            found.append((name, "gone"))
    return found


def _as_they_are(one: metadata.Distribution) -> list[tuple[str, str]]:
    """Return the name and hash of every file of packages that nobody recorded."""
    found = []
    for top in (one.read_text("top_level.txt") or _normal(one.metadata["Name"]).replace("-", "_")).split():
        folders, file = locations(top)
        files = [(path, folder.parent) for folder in folders for path in folder.rglob("*") if path.is_file()]
        files += [(file, file.parent)] if file else []
        found += [
            (path.relative_to(above).as_posix(), _hash(path, "sha256"))
            for path, above in files
            if path.suffix not in COMPILED
        ]
    return found


def _rows(one: metadata.Distribution) -> list[list[str]]:
    """Return path, hash and size of every recorded file."""
    rows = csv.reader((one.read_text("RECORD") or "").splitlines())
    return [row for row in rows if len(row) == 3]


def _hash(file: Path, kind: str) -> str:
    """Return the hash of a file as installers record it."""
    with file.open("rb") as content:
        value = hashlib.file_digest(content, kind).digest()
    return f"{kind}={base64.urlsafe_b64encode(value).decode().rstrip('=')}"


@cache
def _found(distribution: str) -> metadata.Distribution | None:
    """Return a distribution; None if it is not installed, or only inside another library.

    Ray puts a folder with its own psutil and colorama first on the path of its processes.
    """
    return next((one for one in metadata.distributions(name=distribution) if not _is_brought(one)), None)


def _is_brought(one: metadata.Distribution) -> bool:
    """Return whether a distribution lies in a folder of another library."""
    place = Path(str(one.locate_file("")))
    return any(parent.name in INSTALLED for parent in place.parents)


@cache
def _needs(distribution: str) -> tuple[str, ...]:
    """Return the distributions that one requires, without extras."""
    one = _found(distribution)
    wanted = [text for text in (one.requires if one else None) or () if "extra ==" not in text]
    names = [re.match(r"[\w.-]+", text) for text in wanted]
    return tuple(_normal(name[0]) for name in names if name)


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
