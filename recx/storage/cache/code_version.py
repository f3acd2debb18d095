"""The version of the code that a part runs: its modules, the modules that they import, and the libraries they use.

It is read from the sources, so that editing one ranker changes the version of that ranker and of nothing else.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from threading import Lock

from recx.core.version import STARTED

DISTRIBUTIONS = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "yaml": "PyYAML"}
"""Import name -> name of the distribution, where they differ; looking it up takes long."""
INSTALLED = ("site-packages", "dist-packages")
NO_CODE = ("__pycache__", "conf")
"""Folders of a package that no result depends on: option files matter only through the settings that they give."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""Nodes that an import may be in; expressions, which are most of a tree, contain none."""
DOOR = "recx.plugin"
"""Only re-exports: what a part imports from here counts as the modules behind the names."""
_turn = Lock()
"""For runs in several threads: ``ast.parse`` of Python 3.11 fails now and then if two threads parse at a time."""
IMPORTS_BY_NAME = re.compile(rb"import_module|__import__")


class NoKeyError(TypeError):
    """What a result depends on cannot be hashed by content."""


def code_of(modules: tuple[str, ...]) -> str:
    """Return the hash of all code that modules run.

    This covers their sources, the sources that they import from their own packages, from recx and from anything else
    that is not installed, and the versions of Python and of every library that those import. Of a plugin's package, all
    other files count too.

    Raises:
        NoKeyError: A module has no file, or a file has changed since this process first read it.
    """
    with _turn:
        version, files = _walked(modules)
    for file in files:
        if not _is_unchanged(file):
            raise NoKeyError(f"{file} was edited, so the version that runs is unknown")
    return version


@cache
def _walked(modules: tuple[str, ...]) -> tuple[str, tuple[Path, ...]]:
    """Return the version and the files that it covers."""
    pending, seen, libraries = list(modules), set[str](), set[str]()
    sources: dict[str, Path] = {}
    for name in modules:
        if _file_of(name) is None:
            raise NoKeyError(f"the module {name} has no file")
        package = name.partition(".")[0]
        if package != "recx":
            sources.update(_others_of(package))
    ours = {"recx", *(name.partition(".")[0] for name in modules)}
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in seen or top in sys.stdlib_module_names:
            continue
        seen.add(name)
        if top not in ours and _distributions(top):
            libraries.update(_distributions(top))
            continue
        file = _file_of(name)
        if file is not None:
            sources[name] = file
            pending.extend(_imports(name, file))
            if top != "recx":
                pending.append(name.rpartition(".")[0] or name)  # its package's own module runs first
                if IMPORTS_BY_NAME.search(_first_read(file)[0]):
                    pending.extend(_modules_of(top))
    digest = hashlib.blake2b(platform.python_version().encode(), digest_size=16)
    for name, file in sorted(sources.items()):
        content = _first_read(file)[0]
        digest.update(f"{name} {len(content)} ".encode() + content)
    for library, version in sorted(_versions(sorted(libraries)).items()):
        digest.update(f"{library}={version} ".encode())
    return digest.hexdigest(), tuple(sources.values())


@cache
def _first_read(file: Path) -> tuple[bytes, tuple[int, int]]:
    """Return the content of a file when it was first read, and its state, which changes when it is written to."""
    return file.read_bytes(), _state(file)


def _state(file: Path) -> tuple[int, int]:
    now = file.stat()
    return now.st_size, now.st_mtime_ns


def _is_unchanged(file: Path) -> bool:
    content, state = _first_read(file)
    if state[1] > STARTED:
        return False  # written to after recx was imported, so the imported code may be older
    try:
        return _state(file) == state or file.read_bytes() == content
    except OSError:
        return False


@cache
def _locations(top: str) -> tuple[tuple[Path, ...], Path | None]:
    """Return the folders of a package, or the file of a single module."""
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        spec = None
    if spec is not None and spec.submodule_search_locations is not None:
        return tuple(map(Path, spec.submodule_search_locations)), None
    file = getattr(sys.modules.get(top), "__file__", None) if spec is None else spec.origin
    return (), Path(file) if file and Path(file).is_file() else None


@cache
def _file_of(name: str) -> Path | None:
    """Return the source of a module; None if there is no such module."""
    top, *rest = name.split(".")
    folders, file = _locations(top)
    if not rest and file is not None:
        return file
    paths = [folder.joinpath(*rest) for folder in folders]
    modules = [path.with_suffix(".py") for path in paths] if rest else []
    found = [*modules, *(path / "__init__.py" for path in paths)]
    return next((file for file in found if file.is_file()), None)


def _modules_of(package: str) -> list[str]:
    """Return the names of all modules of a package."""
    files = [file.relative_to(folder) for folder in _locations(package)[0] for file in folder.rglob("*.py")]
    inner = [".".join(file.with_suffix("").parts).removesuffix("__init__").rstrip(".") for file in files]
    return [f"{package}.{name}" if name else package for name in inner]


def _others_of(package: str) -> dict[str, Path]:
    """Return the files of a package other than Python sources, such as word lists and compiled modules, by name."""
    return {
        f"{package}/{file.relative_to(folder).as_posix()}": file
        for folder in _locations(package)[0]
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".py" and not {*NO_CODE}.intersection(file.relative_to(folder).parts)
    }


@cache
def _imports(name: str, file: Path) -> tuple[str, ...]:
    """Return what a module imports, also inside functions, except under ``TYPE_CHECKING``.

    Raises:
        NoKeyError: The module cannot be parsed.
    """
    found: dict[str, None] = {}
    try:
        pending: list[ast.AST] = [ast.parse(_first_read(file)[0])]
    except (SyntaxError, ValueError) as error:
        raise NoKeyError(f"{file} cannot be parsed") from error
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            found.update(dict.fromkeys(_imported_from(node, name, file)))
        elif isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            pending.extend(node.orelse)
        else:
            pending.extend(child for child in ast.iter_child_nodes(node) if isinstance(child, STATEMENTS))
    return tuple(found)


def _imported_from(node: ast.ImportFrom, name: str, file: Path) -> Iterator[str]:
    parents = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    above = parents[: len(parents) - node.level + 1] if node.level else []
    package = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{package}.{alias.name}"
        if package == DOOR:
            yield _behind_the_door().get(alias.name, DOOR)
        else:
            yield inner if _file_of(inner) else package  # a module, or a name that the package itself defines


@cache
def _behind_the_door() -> Mapping[str, str]:
    """Return the module that each name of ``recx.plugin`` comes from."""
    file = _file_of(DOOR)
    tree = ast.parse(b"" if file is None else _first_read(file)[0])
    nodes = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: node.module for node in nodes if node.module for alias in node.names}


def _versions(distributions: list[str]) -> dict[str, str]:
    """Return the versions of distributions and of everything that they require."""
    found: dict[str, str] = {}
    pending = list(distributions)
    while pending:
        name = pending.pop()
        version = _version(name)
        if version is not None and name not in found:
            found[name] = version
            pending.extend(_needs(name))
    return found


@cache
def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None  # required on other systems only


@cache
def _needs(distribution: str) -> tuple[str, ...]:
    """Return the distributions that one requires, without extras."""
    wanted = [text for text in metadata.requires(distribution) or () if "extra ==" not in text]
    names = [re.match(r"[\w.-]+", text) for text in wanted]
    return tuple(re.sub(r"[-_.]+", "-", name[0]).lower() for name in names if name)


@cache
def _distributions(library: str) -> tuple[str, ...]:
    """Return the distributions of a library; none for a module elsewhere, such as next to a notebook."""
    folders, file = _locations(library)
    places = [*folders, *([file] if file else [])]
    if not any(part in INSTALLED for place in places for part in place.parts):
        return ()
    name = DISTRIBUTIONS.get(library, library)
    if _version(name) is None:
        return tuple(metadata.packages_distributions().get(library, ()))
    return (re.sub(r"[-_.]+", "-", name).lower(),)
