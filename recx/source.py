"""The version of the code that a part runs: its modules, those that they import, and the libraries beneath.

Read from the source, so that editing one ranker changes the version of that ranker and of nothing else.
"""

from __future__ import annotations

import ast
import hashlib
import platform
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

DISTRIBUTIONS = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "yaml": "PyYAML"}
"""Import name -> the name that a library is installed by, where they differ."""


@cache
def code_of(modules: tuple[str, ...]) -> str:
    """Return the hash of these modules' sources, of all that they import from their own packages and from recx, and of
    the versions of Python and of every other library that those import.
    """
    ours = {"recx", *(name.partition(".")[0] for name in modules)}
    pending, seen, libraries = list(modules), set[str](), set[str]()
    digest = hashlib.blake2b(platform.python_version().encode(), digest_size=16)
    sources: dict[str, bytes] = {}
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        file = _file_of(name)
        if file is None:
            continue
        sources[name] = file.read_bytes()
        for other in _imports(name, file):
            top = other.partition(".")[0]
            (pending.append if top in ours else libraries.add)(other if top in ours else top)
    for name, source in sorted(sources.items()):
        digest.update(f"{name} {len(source)} ".encode() + source)
    for library in sorted(libraries - sys.stdlib_module_names):
        digest.update(f"{library}={_version(library)} ".encode())
    return digest.hexdigest()


@cache
def _file_of(name: str) -> Path | None:
    """Return the source of a module of a package that is loaded; None if there is no such module."""
    top, *rest = name.split(".")
    home = getattr(sys.modules.get(top), "__file__", None)
    if home is None:
        return None
    if not Path(home).name.startswith("__init__"):
        return Path(home) if not rest else None
    path = Path(home).parent.joinpath(*rest)
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


@cache
def _imports(name: str, file: Path) -> tuple[str, ...]:
    """Return what a module imports, late ones too, but for those that type checkers alone read."""
    found: dict[str, None] = {}
    pending: list[ast.AST] = [ast.parse(file.read_bytes())]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            found.update(dict.fromkeys(_imported_from(node, name, file)))
        elif not (isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")):
            pending.extend(ast.iter_child_nodes(node))
    return tuple(found)


def _imported_from(node: ast.ImportFrom, name: str, file: Path) -> Iterator[str]:
    parents = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
    above = parents[: len(parents) - node.level + 1] if node.level else []
    package = ".".join([*above, *([node.module] if node.module else [])])
    for alias in node.names:
        inner = f"{package}.{alias.name}"
        yield inner if _file_of(inner) else package  # a module, or a name that the package itself defines


@cache
def _version(library: str) -> str:
    try:
        return metadata.version(DISTRIBUTIONS.get(library, library))
    except metadata.PackageNotFoundError:
        return str(getattr(sys.modules.get(library), "__version__", "unknown"))
