"""A person's own project: folders of option files, and the code that lies beside them.

The roots of a project are the parents of the folders that ``--config-dir`` on this command line, or ``config_dir=``,
names. Nothing else adds a root: no search path, no option file, no configuration of a saved run. A class or an object
of a project is imported only if this command line or an option file of those folders names it, if its top-level module
lies in one root and nowhere else, and if nobody else can write there. Only then the roots become the last entries of
``sys.path``, since anything on it may be imported.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import asdict, dataclass
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

from recx.core.errors import InputError
from recx.core.named import addresses_in, command_name, commands_in, commands_of, names_in, urls_of
from recx.core.secrets import hidden
from recx.core.system.private import is_open, is_replaceable

INSTALLED = ("site-packages", "dist-packages")
"""Folders of installed packages, which may lie in a root, as part of a virtual environment."""
CONFIG_NAME = "config"
"""Name of recx's own primary configuration."""
RUNS = "outputs"
"""Folder of runs, whose saved configurations are no option files."""
_MODULES = (".py", ".pyc", ".so", ".pyd")
"""Suffixes of files that Python imports."""

_current: ContextVar[Project | None] = ContextVar("project", default=None)
_active: list[Project] = []
"""The projects in use, in any thread."""
_appended: set[Path] = set()
"""The roots that this module appended to ``sys.path``."""
_former: set[Path] = set()
"""All roots from which this process may have imported modules."""


@dataclass(frozen=True)
class Project:
    """What this command line, or this call from Python, adds to recx and its plugins.

    Attributes:
        folders: The folders of option files, resolved.
        overrides: The overrides, as typed.
        config_name: Name of the primary configuration.
        typed: The classes (``module.Class``), objects (``module:name``), addresses (``s3://…``) and commands
            (``["program", "argument"]``) that the command line names; a trial of a sweep, whose overrides are others,
            names no more.
        written: Those that the option files in the folders name; of addresses, those of servers (``url``).
    """

    folders: tuple[Path, ...] = ()
    overrides: tuple[str, ...] = ()
    config_name: str = CONFIG_NAME
    typed: frozenset[str] = frozenset()
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
        files = [file for folder in resolved for file in option_files(folder)]
        texts = {file: file.read_text(encoding="utf-8", errors="replace") for file in files}
        typed = names_in(overrides) | addresses_in(overrides) | commands_in(overrides)
        written = names_in(texts.values()) | commands_of(texts) | urls_of(texts)
        return cls(resolved, tuple(overrides), config_name, typed, written)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Project:
        """Return the project that ``as_json`` described."""
        folders, overrides = tuple(map(Path, values["folders"])), tuple(values["overrides"])
        names = (frozenset(values[name]) for name in ("typed", "written"))
        return cls(folders, overrides, values["config_name"], *names)

    def as_json(self) -> dict[str, Any]:
        """Return the project as plain values, for another process."""
        names = {"typed": sorted(self.typed), "written": sorted(self.written)}
        return {**asdict(self), "folders": [str(folder) for folder in self.folders], **names}

    @property
    def roots(self) -> tuple[Path, ...]:
        """The folders whose modules may be imported."""
        return tuple(dict.fromkeys(folder.parent for folder in self.folders))

    def check(self, name: str) -> Path:
        """Return where the top-level module of a class or object lies if it may be imported, which is possible then.

        Args:
            name: ``module.Class`` or ``module:name``.

        Raises:
            InputError: It may not; the message is the reason alone.
        """
        top = _top(name)
        self._leave_former()
        has_code = any(spec.origin for spec in self._specs(top))
        found = sorted(self.places(top) | self._elsewhere(top, has_code))
        inside = [place for place in found if _is_inside(place, self.roots)]
        if not inside:
            installed = f"; {top} is at {found[0]}" if found else ""
            beside = " or ".join(map(str, self.roots))
            raise InputError(f"there is no module {top!r} in {beside}{installed}: correct the name, or --config-dir")
        if len(found) > 1:
            other = next(place for place in found if place != inside[0])
            raise InputError(f"the module {top!r} exists twice, as {inside[0]} and as {other}: rename yours")
        if name not in self.typed | self.written:
            raise InputError(
                f"neither this command line nor an option file in {' or '.join(map(str, self.folders))} names it: name "
                "it in one of them if you trust it"
            )
        for root in self.roots:
            _check_private(root, inside[0])
        self._append_roots()
        return inside[0]

    def places(self, top: str) -> set[Path]:
        """Return where a top-level module lies in the roots."""
        return {place for spec in self._specs(top) for place in _places(spec)}

    def _specs(self, top: str) -> list[ModuleSpec]:
        specs = (PathFinder.find_spec(top, [str(root)]) for root in self.roots)
        return [spec for spec in specs if spec is not None]

    def _leave_former(self) -> None:
        """Take the roots of projects that are over from ``sys.path``.

        Raises:
            InputError: Python would take a module that was imported from one of them for one of this project.
        """
        for root in [root for root in _appended if not any(root in project.roots for project in (self, *_active))]:
            _appended.remove(root)
            with suppress(ValueError):
                sys.path.remove(str(root))
        others = _former.difference(self.roots)
        for name, module in list(sys.modules.items()) if others else ():
            file = Path(getattr(module, "__file__", None) or "/")
            if _is_inside(file, others) and not _is_inside(file, self.roots) and self.places(_top(name)):
                raise InputError(
                    f"the module {name!r} was imported from another project before, {file}, and {self.roots[0]} has "
                    "one of that name: restart Python, or rename yours"
                )

    def _append_roots(self) -> None:
        for root in self.roots:
            if str(root) not in sys.path:
                _appended.add(root)
                sys.path.append(str(root))
                importlib.invalidate_caches()
        _former.update(self.roots)

    def _elsewhere(self, top: str, has_code: bool) -> set[Path]:
        """Return where Python finds a top-level module without the roots: in its library, installed, or imported.

        A folder without code of its own, such as that of the project, gives way to a package of its name that has some.
        """
        if not top.isidentifier():
            return set()  # other finders may not expect such a name
        path = [entry for entry in sys.path if Path(entry).resolve() not in self.roots]
        specs: list[ModuleSpec | None] = [PathFinder.find_spec(top, path)]
        others = (finder for finder in sys.meta_path if finder is not PathFinder)
        specs += [finder.find_spec(top, None) for finder in others if hasattr(finder, "find_spec")]
        if has_code:
            specs = [spec for spec in specs if spec is not None and spec.origin]
        specs.append(getattr(sys.modules.get(top), "__spec__", None))
        places = {place for spec in specs for place in _places(spec)}
        return places or ({Path(f"<Python's own module {top}>")} if top in sys.stdlib_module_names else set())


def current() -> Project:
    """Return the project of this command line or call; without one, nothing is added to recx and its plugins."""
    return _current.get() or Project()


def described() -> dict[str, Any] | None:
    """Return the current project as plain values, for another process; None where Python code set none."""
    project = _current.get()
    return None if project is None else project.as_json()


@contextmanager
def entered(project: Project) -> Iterator[Project]:
    """Use a project inside the context."""
    token = _current.set(project)
    _active.append(project)
    try:
        yield project
    finally:
        _active.remove(project)
        _current.reset(token)


def is_typed(address: str) -> bool:
    """Return whether this command line names an address; Python code without one is trusted."""
    project = _current.get()
    return project is None or hidden(address) in project.typed


def check_object(name: str) -> None:
    """Raise InputError, with the reason alone, if an object that a setting names must not be imported.

    A name that was typed may also come from elsewhere on ``sys.path``, one in an option file from a root only. A part
    that was made in Python, without any configuration, may name what it likes.
    """
    project = _current.get()
    if project is None or (name in project.typed and not project.places(_top(name))):
        return
    if name not in project.typed | project.written:
        raise InputError(
            "neither this command line nor an option file under its --config-dir names this object, so it is not "
            "imported: type it here, or give the --config-dir of its project"
        )
    project.check(name)


def check_command(command: Sequence[str]) -> None:
    """Raise InputError, with the reason alone, if a command of a setting must not be run: see ``_check_named``."""
    _check_named(command_name(command), "has this command, word for word, so it is not run", "no command in it is run")


def check_address(address: str) -> None:
    """Do the same for the address of a server that a setting holds, in an option file under ``url``."""
    _check_named(hidden(address), "names this address, so nothing is sent there", "nothing is sent where it says")


def _check_named(name: str, why: str, so: str) -> None:
    """Apply the rule of ``check_object``: typed, or in an option file of a root that only this user can write to."""
    project = _current.get()
    if project is None or name in project.typed:
        return
    if name not in project.written:
        raise InputError(
            f"neither this command line nor an option file under its --config-dir {why}: type it here, or give the "
            "--config-dir of its project"
        )
    for folder in project.folders:
        _refuse_open((folder.parent, folder, *option_files(folder)), folder.parent, so)


def option_files(folder: Path) -> list[Path]:
    """Return the option files below a folder, sorted; no links that lead nowhere, as an editor's lock does."""
    found = (file for file in folder.rglob("*.yaml") if RUNS not in file.relative_to(folder).parts)
    return sorted(file for file in found if file.is_file())


def _top(name: str) -> str:
    return re.split(r"[.:]", name)[0]


def _places(spec: ModuleSpec | None) -> set[Path]:
    """Return the file of a module, or the folders of a package, resolved."""
    if spec is None:
        return set()
    if spec.submodule_search_locations is not None:
        return {Path(folder).resolve() for folder in spec.submodule_search_locations}
    return {Path(spec.origin).resolve()} if spec.has_location and spec.origin else set()


def _is_inside(place: Path, roots: Iterable[Path]) -> bool:
    """Return whether a place is in a root and does not belong to an installed package."""
    parts = [place.relative_to(root).parts for root in roots if place.is_relative_to(root)]
    return any(not {*INSTALLED}.intersection(inner) for inner in parts)


def _check_private(root: Path, place: Path) -> None:
    """Raise InputError if somebody else could write a module of a root, or replace a folder above it."""
    beside = {*root.glob("*.py"), *(file.parent for file in root.glob("[!.]*/*.py"))}  # which the place may import
    code = [path for top in {place, *beside} for path in (top, *top.rglob("*"))]
    folders = [path for path in place.parents if path.is_relative_to(root)]
    _refuse_open((root, *folders, *filter(_is_code, code)), root, "its code is not imported")


def _refuse_open(paths: Iterable[Path], root: Path, so: str) -> None:
    """Raise InputError if somebody else could write to a path, or replace a folder above a root."""
    for path in paths:
        if is_open(path):
            raise InputError(f"others may write to {path}, so {so}: chmod go-w, chown or move it")
    for path in root.parents:
        if is_replaceable(path):
            raise InputError(f"others may write to {path}, and so replace what is below it: chmod go-w it, or move it")


def _is_code(path: Path) -> bool:
    return path.is_dir() or (path.suffix in _MODULES and path.is_file())
