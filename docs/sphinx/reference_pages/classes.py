"""What the source of a class says about it: its docstring, and what each of its settings may be.

Classes of recx are imported. Those of plugins are read, because their modules import libraries that need not be there:
an annotation is evaluated with the names that its module gives, as far as they come from recx, typing and the like.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, get_origin

from recx.core.bounds import hints_of, type_text
from reference_pages.option_files import sources

SECTIONS = re.compile(r"^(Attributes|Args|Returns|Raises|Yields|Example|Examples):$", flags=re.MULTILINE)


@dataclass(frozen=True)
class Described:
    """A class as the reference shows it.

    Attributes:
        text: The paragraphs of its docstring, without the sections that follow them.
        about: Setting -> what the docstrings of the class and its bases say about it.
        allowed: Setting -> what it may be, in words.
    """

    text: tuple[str, ...]
    about: Mapping[str, str]
    allowed: Mapping[str, str]


@cache
def described(path: str) -> Described:
    """Return what the source says about a class, by its path ``module.Class``; nothing for one of another library."""
    module, _, name = path.rpartition(".")
    package = module.partition(".")[0]
    if package == "recx":
        return _of_class(vars(import_module(module))[name])
    if package in _packages():
        return _of_source(module, name)
    return Described((), {}, {})


def paragraphs(docstring: str) -> tuple[str, ...]:
    """Return the paragraphs of a docstring before its first section."""
    text = SECTIONS.split(inspect.cleandoc(docstring))[0]
    return tuple(part.rstrip() for part in text.split("\n\n") if part.strip())


def attributes(docstring: str) -> dict[str, str]:
    """Return what the section Attributes of a docstring says: name -> text."""
    _, _, section = inspect.cleandoc(docstring).partition("Attributes:\n")
    section = SECTIONS.split(section)[0]
    entries = re.split(r"^ {4}(\w+): ", section, flags=re.MULTILINE)[1:]
    return {name: " ".join(text.split()) for name, text in zip(entries[::2], entries[1::2], strict=True)}


def _of_class(kind: type) -> Described:
    hints = hints_of(kind)
    docs = [one.__doc__ or "" for one in reversed(kind.__mro__) if one.__module__.startswith("recx.")]
    about = {name: text for doc in docs for name, text in attributes(doc).items()}
    return Described(paragraphs(kind.__doc__ or ""), about, _texts(hints))


def _texts(hints: Mapping[str, Any]) -> dict[str, str]:
    return {name: type_text(hint) for name, hint in hints.items() if ClassVar not in (hint, get_origin(hint))}


def _of_source(module: str, name: str) -> Described:
    about: dict[str, str] = {}
    hints: dict[str, Any] = {}
    text: tuple[str, ...] = ()
    for names, node in reversed(list(_with_bases(module, name))):
        if isinstance(node, type):
            hints |= hints_of(node)
            about |= attributes(node.__doc__ or "")
            continue
        doc = ast.get_docstring(node) or ""
        text, about = paragraphs(doc), {**about, **attributes(doc)}
        for field in node.body:
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                hints[field.target.id] = names.value_of(field.annotation)
    return Described(text, about, _texts(hints))


def _with_bases(module: str, name: str) -> Iterator[tuple[_Names, ast.ClassDef | type]]:
    """Yield a class and its bases, each with the names of its module."""
    names = _names(module)
    found = names.place(name)
    if found is not None and found[0] != module:
        yield from _with_bases(*found)
        return
    node = names.defined.get(name)
    if not isinstance(node, ast.ClassDef):
        return
    yield names, node
    for base in node.bases:
        if isinstance(base, ast.Name):
            place = names.place(base.id)
            if place is not None and place[0].partition(".")[0] in _packages():
                yield from _with_bases(*place)
            elif place is not None and place[0].startswith("recx."):
                yield names, vars(import_module(place[0]))[place[1]]


class _Names(dict[str, Any]):
    """The names of a module that is read and not imported, for the evaluation of its annotations."""

    def __init__(self, module: str) -> None:
        super().__init__()
        self.module = module
        tree = ast.parse(_file_of(module).read_text(encoding="utf-8"))
        body = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
        self.imported = {
            alias.asname or alias.name: (node.module or "", alias.name) for node in body for alias in node.names
        }
        self.defined: dict[str, ast.AST] = {}
        for node in tree.body:
            if isinstance(node, ast.ClassDef):
                self.defined[node.name] = node
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                self.defined[node.targets[0].id] = node.value

    def place(self, name: str) -> tuple[str, str] | None:
        """Return the module and the name that a name stands for; None if it is not of this module."""
        return self.imported.get(name, (self.module, name) if name in self.defined else None)

    def value_of(self, node: ast.expr) -> Any:
        return eval(compile(ast.Expression(node), self.module, "eval"), {}, self)

    def __missing__(self, name: str) -> Any:
        place = self.place(name)
        if place is None:
            raise KeyError(name)
        module, original = place
        if module == self.module:
            node = self.defined[name]
            self[name] = self.value_of(node) if isinstance(node, ast.expr) else type(name, (), {})
        elif module.partition(".")[0] in _packages():
            self[name] = _names(module)[original]
        else:
            try:
                self[name] = vars(import_module(module))[original]
            except ImportError:
                self[name] = type(original, (), {})
        return self[name]


@cache
def _names(module: str) -> _Names:
    return _Names(module)


@cache
def _packages() -> dict[str, Path]:
    """Return the packages of plugins: import name -> folder."""
    return {source.package: source.conf.parent for name, source in sources().items() if name != "recx"}


def _file_of(module: str) -> Path:
    package, *inner = module.split(".")
    path = _packages()[package].joinpath(*inner)
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
