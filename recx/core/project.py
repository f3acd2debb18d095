"""A person's own project: folders of option files, and the code that lies beside them.

The roots of a project are the parents of the folders that ``--config-dir`` on this command line, or ``config_dir=``,
names. Nothing else adds a root: no search path, no option file, no configuration of a saved run. A class or an object
of a project is imported only if this command line or an option file of those folders names it, if its top-level module
lies in one root and nowhere else, and if nobody else can write there.
"""

from __future__ import annotations

import importlib
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from recx.core.errors import InputError

INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, which may lie in a root, as part of a virtual environment."""
CONFIG_NAME = "config"
"""Name of recx's own primary configuration."""
_KEY = re.compile(r"\b(?:_target_|object)[\"']?\s*[:=]")
_NAME = re.compile(r"[^\W\d][\w.]*(?::\w+)?")

_current: ContextVar[Project | None] = ContextVar("project", default=None)


@dataclass(frozen=True)
class Project:
    """What this command line, or this call from Python, adds to recx and its plugins.

    Attributes:
        folders: The folders of option files, resolved.
        overrides: The overrides, as typed.
        config_name: Name of the primary configuration.
        written: The classes (``module.Class``) and objects (``module:name``) that the option files in the folders name.
    """

    folders: tuple[Path, ...] = ()
    overrides: tuple[str, ...] = ()
    config_name: str = CONFIG_NAME
    written: frozenset[str] = frozenset()

    @classmethod
    def of(
        cls, folders: Iterable[str | Path], overrides: Sequence[str] = (), config_name: str = CONFIG_NAME
    ) -> Project:
        """Return the project of a command line.

        Raises:
            InputError: A folder does not exist.
        """
        resolved = tuple(dict.fromkeys(Path(folder).expanduser().resolve() for folder in folders))
        for folder in resolved:
            if not folder.is_dir():
                raise InputError(f"--config-dir={folder}: there is no such folder: name one that holds option files")
        texts = (file.read_text(encoding="utf-8", errors="replace") for folder in resolved for file in _options(folder))
        written = frozenset(name for text in texts for name in _named(text))
        return cls(resolved, tuple(overrides), config_name, written)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Project:
        """Return the project that ``as_json`` described."""
        folders, overrides = tuple(map(Path, values["folders"])), tuple(values["overrides"])
        return cls(folders, overrides, values["config_name"], frozenset(values["written"]))

    def as_json(self) -> dict[str, Any]:
        """Return the project as plain values, for another process."""
        return {**asdict(self), "folders": [str(folder) for folder in self.folders], "written": sorted(self.written)}

    @property
    def typed(self) -> frozenset[str]:
        """The classes and objects that the overrides name."""
        return frozenset(name for override in self.overrides for name in _named(override))

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders whose modules may be imported."""
        return tuple(dict.fromkeys(folder.parent for folder in self.folders))

    def check(self, name: str) -> Path:
        """Return where the top-level module of a class or object lies if it may be imported.

        Args:
            name: ``module.Class`` or ``module:name``.

        Raises:
            InputError: It may not; the message is the reason alone.
        """
        top = re.split(r"[.:]", name)[0]
        specs = [PathFinder.find_spec(top, [str(root)]) for root in self.roots]
        own = {place for spec in specs for place in _places(spec)}
        found = sorted(own | self._elsewhere(top, any(spec is not None and spec.origin for spec in specs)))
        inside = [place for place in found if self._is_inside(place)]
        beside = " or ".join(map(str, self.roots))
        if not inside:
            installed = f"; {top} is at {found[0]}" if found else ""
            raise InputError(f"there is no module {top!r} in {beside}{installed}: correct the name, or --config-dir")
        if len(found) > 1:
            raise InputError(
                f"the module {top!r} exists twice, as {inside[0]} and as "
                f"{next(place for place in found if place != inside[0])}: rename yours"
            )
        if not {name} & (self.typed | self.written):
            raise InputError(
                f"neither this command line nor an option file in {' or '.join(map(str, self.folders))} names it: name "
                "it in one of them if you trust it"
            )
        _check_private(next(root for root in self.roots if inside[0].is_relative_to(root)), inside[0])
        return inside[0]

    def _elsewhere(self, top: str, has_code: bool) -> set[Path]:
        """Return where Python finds a top-level module without the roots: in its library, installed, or imported.

        A folder without code of its own, such as that of the project, gives way to a package of its name that has some.
        """
        path = [entry for entry in sys.path if Path(entry).resolve() not in self.roots]
        specs: list[ModuleSpec | None] = [PathFinder.find_spec(top, path)]
        others = (finder for finder in sys.meta_path if finder is not PathFinder)
        specs += [finder.find_spec(top, None) for finder in others if hasattr(finder, "find_spec")]
        if has_code:
            specs = [spec for spec in specs if spec is not None and spec.origin]
        specs.append(getattr(sys.modules.get(top), "__spec__", None))
        places = {place for spec in specs for place in _places(spec)}
        return places or ({Path(f"<Python's own module {top}>")} if top in sys.stdlib_module_names else set())

    def _is_inside(self, place: Path) -> bool:
        """Return whether a place is in a root and does not belong to an installed package."""
        parts = [place.relative_to(root).parts for root in self.roots if place.is_relative_to(root)]
        return any(not {*INSTALLED}.intersection(inner) for inner in parts)


def current() -> Project:
    """Return the project of this command line or call; without one, nothing is added to recx and its plugins."""
    return _current.get() or Project()


@contextmanager
def entered(project: Project) -> Iterator[Project]:
    """Use a project inside the context; its roots become the last entries of ``sys.path``, and stay there."""
    for root in map(str, project.roots):
        if root not in sys.path:
            sys.path.append(root)
            importlib.invalidate_caches()
    token = _current.set(project)
    try:
        yield project
    finally:
        _current.reset(token)


def check_object(name: str) -> None:
    """Raise InputError, with the reason alone, if an object that a setting names must not be imported.

    A name that was typed may come from anywhere on ``sys.path``, one in an option file from a root only. A part that
    was made in Python, without any configuration, may name what it likes.
    """
    project = _current.get()
    if project is None or name in project.typed:
        return
    if name not in project.written:
        raise InputError(
            "neither this command line nor an option file under its --config-dir names this object, so it is not "
            "imported: type it here, or give the --config-dir of its project"
        )
    project.check(name)


def _options(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.yaml"))


def _named(text: str) -> set[str]:
    """Return the dotted names that follow ``_target_`` or ``object`` on a line."""
    lines = [line[match.end() :] for line in text.splitlines() for match in _KEY.finditer(line)]
    return {name for line in lines for name in _NAME.findall(line) if "." in name or ":" in name}


def _places(spec: ModuleSpec | None) -> set[Path]:
    """Return the file of a module, or the folders of a package, resolved."""
    if spec is None:
        return set()
    if spec.submodule_search_locations is not None:
        return {Path(folder).resolve() for folder in spec.submodule_search_locations}
    return {Path(spec.origin).resolve()} if spec.has_location and spec.origin else set()


def _check_private(root: Path, place: Path) -> None:
    """Raise InputError if somebody else could write a module of a root, or replace a folder above it."""
    code = [path for path in place.rglob("*") if path.is_dir() or path.suffix == ".py"] if place.is_dir() else []
    for path in (root, place, *code):
        state = path.stat()
        if _is_open(state) or (hasattr(os, "getuid") and state.st_uid not in (0, os.getuid())):
            raise InputError(f"others may write to {path}, so its code is not imported: chmod go-w, chown or move it")
    for path in root.parents:
        state = path.stat()
        if _is_open(state) and not state.st_mode & stat.S_ISVTX:  # in a sticky folder, only owners rename
            raise InputError(f"others may write to {path}, so code below it is not imported: chmod go-w it, or move it")


def _is_open(state: os.stat_result) -> bool:
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
