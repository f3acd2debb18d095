"""The version of the code that a part runs: its modules, the modules that they import, and the libraries they use.

It is read from the sources, so that editing one ranker changes the version of that ranker and of nothing else.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock

from recx.core.version import STARTED
from recx.storage.cache.libraries import distributions_of, fingerprint, locations, own_packages, required

NO_CODE = ("__pycache__", "conf", "outputs")
"""Folders of a package that no result depends on: option files matter only through the settings that they give."""

STATEMENTS = (ast.stmt, ast.excepthandler, ast.match_case)
"""Nodes that an import may be in; expressions, which are most of a tree, contain none."""
DOOR = "recx.plugin"
"""Only re-exports: what a part imports from here counts as the modules behind the names."""
_turn = Lock()
"""For runs in several threads: ``ast.parse`` of Python 3.11 fails now and then if two threads parse at a time."""
IMPORTS_BY_NAME = re.compile(rb"import_module|__import__")
READS_ENVIRONMENT = re.compile(rb"environ|getenv")


class NoKeyError(TypeError):
    """What a result depends on cannot be hashed by content."""


def code_of(modules: tuple[str, ...]) -> str:
    """Return the hash of all code that modules run.

    This covers their sources, the sources that they import from their own packages, from recx and from anything else
    that is not installed or was installed from a folder, with the other files of such packages, the version of Python,
    and the files of every library that those import. Where such a source looks into the environment, it also covers
    the variables that it names.

    Raises:
        NoKeyError: A module has no file, or a file has changed since this process first read it.
    """
    version, variables = _unedited(modules)
    values = {name: os.environ.get(name, default) for name, default in variables.items()}
    known = sorted((name, value) for name, value in values.items() if value is not None)
    return hashlib.blake2b(f"{version} {known}".encode(), digest_size=16).hexdigest() if known else version


def version_of(modules: tuple[str, ...]) -> str:
    """Return the same hash whatever the environment, to compare machines with; raises as ``code_of`` does."""
    return _unedited(modules)[0]


def _unedited(modules: tuple[str, ...]) -> tuple[str, Mapping[str, str | None]]:
    with _turn:
        version, files, variables = _walked(modules)
    for file in files:
        if not _is_unchanged(file):
            raise NoKeyError(f"{file} was edited, so the version that runs is unknown")
    return version, variables


@cache
def _walked(modules: tuple[str, ...]) -> tuple[str, tuple[Path, ...], Mapping[str, str | None]]:
    """Return the version, the files that it covers, and variables of the environment with their defaults."""
    pending, seen, libraries = list(modules), set[str](), set[str]()
    sources: dict[str, Path] = {}
    variables: dict[str, str | None] = {}
    for name in modules:
        if _file_of(name) is None:
            raise NoKeyError(f"the module {name} has no file")
    ours = {"recx", *(name.partition(".")[0] for name in modules)}
    while pending:
        name = pending.pop()
        top = name.partition(".")[0]
        if name in seen or top in sys.stdlib_module_names:
            continue
        seen.add(name)
        if top not in ours and (needed := required(distributions_of(top))):
            own = {package for distribution in needed for package in own_packages(distribution)}
            ours |= own
            libraries.update(distribution for distribution in needed if not own_packages(distribution))
            pending.extend(module for package in sorted(own) for module in _modules_of(package))
            if top not in ours:
                continue
        file = _file_of(name)
        if file is not None:
            sources[name] = file
            pending.extend(_imports(name, file))
            if top != "recx":
                pending.append(name.rpartition(".")[0] or name)  # its package's own module runs first
                sources.update(_others_of(top))
                pending.extend(_imports_by_name(top, file))
                variables |= _variables(file)
    digest = hashlib.blake2b(platform.python_version().encode(), digest_size=16)
    for name, file in sorted(sources.items()):
        content = _first_read(file)[0]
        digest.update(f"{name} {len(content)} ".encode() + content)
    for library in sorted(libraries):
        digest.update(f"{library}={fingerprint(library)} ".encode())
    return digest.hexdigest(), tuple(sources.values()), variables


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
def _file_of(name: str) -> Path | None:
    """Return the source of a module; None if there is no such module."""
    top, *rest = name.split(".")
    folders, file = locations(top)
    if not rest and file is not None:
        return file
    paths = [folder.joinpath(*rest) for folder in folders]
    modules = [path.with_suffix(".py") for path in paths] if rest else []
    found = [*modules, *(path / "__init__.py" for path in paths)]
    return next((file for file in found if file.is_file()), None)


@cache
def _modules_of(package: str) -> list[str]:
    """Return the names of all modules of a package, or its own if it is a single module."""
    if locations(package)[1] is not None:
        return [package]
    files = [file.relative_to(folder) for folder in locations(package)[0] for file in folder.rglob("*.py")]
    inner = [".".join(file.with_suffix("").parts).removesuffix("__init__").rstrip(".") for file in files]
    return [f"{package}.{name}" if name else package for name in inner]


@cache
def _others_of(package: str) -> dict[str, Path]:
    """Return the files of a package other than Python sources, such as word lists and compiled modules, by name."""
    return {
        f"{package}/{file.relative_to(folder).as_posix()}": file
        for folder in locations(package)[0]
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".py" and not any(map(_is_no_code, file.relative_to(folder).parts))
    }


def _is_no_code(part: str) -> bool:
    return part in NO_CODE or part.startswith(".")


@cache
def _imports(name: str, file: Path) -> tuple[str, ...]:
    """Return what a module imports, also inside functions, except under ``TYPE_CHECKING``.

    Raises:
        NoKeyError: The module cannot be parsed.
    """
    found: dict[str, None] = {}
    pending: list[ast.AST] = [_tree(file)]
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


def _imports_by_name(package: str, file: Path) -> list[str]:
    """Return what a module may import by name: all of its own package, and every module that a text in it names."""
    if not IMPORTS_BY_NAME.search(_first_read(file)[0]):
        return []
    named = [text for text in _texts(file) if re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*", text)]
    return [*_modules_of(package), *(text for text in named if _file_of(text) is not None)]


@cache
def _variables(file: Path) -> Mapping[str, str | None]:
    """Return the names in a module that looks into the environment, with the defaults that it sets itself."""
    if not READS_ENVIRONMENT.search(_first_read(file)[0]):
        return {}
    calls = (node for node in ast.walk(_tree(file)) if isinstance(node, ast.Call))
    defaults = {}
    for call in calls:
        match call:
            case ast.Call(
                func=ast.Attribute(attr="setdefault"), args=[ast.Constant(str(name)), ast.Constant(str(value))]
            ):
                defaults[name] = value
    return {**{text: None for text in _texts(file) if text.isidentifier()}, **defaults}


def _texts(file: Path) -> list[str]:
    constants = (node.value for node in ast.walk(_tree(file)) if isinstance(node, ast.Constant))
    return sorted({value for value in constants if isinstance(value, str)})


def _tree(file: Path) -> ast.Module:
    try:
        return ast.parse(_first_read(file)[0])
    except (SyntaxError, ValueError) as error:
        raise NoKeyError(f"{file} cannot be parsed") from error
