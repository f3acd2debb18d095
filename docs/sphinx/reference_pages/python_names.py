"""The names of Python: every public name of ``recx``, ``recx.plugin`` and others, by its signature and docstring."""

from __future__ import annotations

import ast
import inspect
import re
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from types import ModuleType

from repository import ROOT

from reference_pages.markdown import code, docstring, fenced, prose, table

MODULES = {
    "recx": "What users call.",
    "recx.results": "Finished runs and studies, read back.",
    "recx.clicks": "Click models.",
    "recx.plugin": "What authors of parts import.",
    "recx.testing": "Checks for authors of parts.",
}
"""Module -> what it is for."""
SECTIONS = {
    "Args": "Arguments",
    "Attributes": "Attributes",
    "Returns": "Returns",
    "Yields": "Yields",
    "Raises": "Raises",
}
"""A section of a docstring -> its name on the page."""
SECTION = re.compile(rf"^({'|'.join(SECTIONS)}):\n((?:[ ]+.*\n?|\n(?=[ ]))+)", flags=re.MULTILINE)
ENTRY = re.compile(r"^(\*{0,2}\w[\w.]*(?:, \*{0,2}\w+)*): ", flags=re.MULTILINE)
WIDE = 100
"""The longest signature in one line."""


@dataclass(frozen=True)
class _As:
    """An annotation that is shown without quotes."""

    text: str

    def __repr__(self) -> str:
        return self.text

    @classmethod
    def it_is(cls, annotation: object) -> object:
        return cls(annotation) if isinstance(annotation, str) else annotation


def pages() -> dict[str, str]:
    """Return a page for each module."""
    return {name: _page(name) for name in MODULES}


def public(module: str) -> dict[str, object]:
    """Return the public names of a module and what they mean."""
    loaded = import_module(module)
    return {name: getattr(loaded, name) for name in loaded.__all__}


def kind_of(value: object) -> str:
    """Return what a public name is: module, class, function or value."""
    if inspect.ismodule(value):
        return "module"
    if inspect.isclass(value):
        return "class"
    return "function" if inspect.isroutine(value) or hasattr(value, "__wrapped__") else "value"


def members(of: type) -> dict[str, object]:
    """Return the public methods and properties of a class that recx defines, those of its bases too."""
    found: dict[str, object] = {}
    for base in of.__mro__:
        if base.__module__.split(".")[0] == "recx":
            found = {**found, **{name: vars(base)[name] for name in vars(base) if name not in found}}
    found = {name: value for name, value in found.items() if name not in getattr(of, "__dataclass_fields__", ())}
    return {name: value for name, value in found.items() if not name.startswith("_") and _function(value) is not None}


def text_of(module: str, name: str) -> str:
    """Return what is written on a name: its docstring, or for a value the text below its assignment; ""."""
    value = public(module)[name]
    return _assignment(_home(module, name), name)[1] if kind_of(value) == "value" else inspect.getdoc(value) or ""


def signature_of(name: str, value: object) -> str:
    """Return how something is called, over several lines where one would be long."""
    found = inspect.signature(value)  # type: ignore[arg-type]
    after = found.empty if isinstance(value, type) else _As.it_is(found.return_annotation)
    named = [
        one.replace(
            annotation=_As.it_is(one.annotation),
            default=_As("...") if inspect.isfunction(one.default) else one.default,  # it would be an address
        )
        for one in found.parameters.values()
    ]
    found = found.replace(parameters=named, return_annotation=after)
    line = f"{name}{found}"
    if len(line) <= WIDE:
        return line
    parts, star = [], False
    for one in found.parameters.values():
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
        star = star or one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        parts.append(str(one))
    end = str(found.replace(parameters=[])).removeprefix("()")
    return "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){end}"])


def formatted(text: str) -> str:
    """Return a docstring as Markdown: sections become lists of what they name."""
    parts, last = [], 0
    for found in SECTION.finditer(f"{text}\n"):
        parts += [_paragraphs(text[last : found.start()]), f"**{SECTIONS[found[1]]}**\n", _entries(found[2])]
        last = found.end()
    return "\n".join(filter(None, [*parts, _paragraphs(text[last:])]))


def _page(module: str) -> str:
    loaded, names = import_module(module), public(module)
    rows = [
        (_link(module, name), kind_of(names[name]), prose(_first(text_of(module, name))))
        for name in sorted(names, key=str.lower)
    ]
    parts = [
        f"# Python: {module}\n",
        formatted(inspect.getdoc(loaded) or ""),
        table(("name", "is", "what it does"), rows),
    ]
    for name, value in names.items():
        if elsewhere(module, name) is None and kind_of(value) != "module":
            parts.append(_described(module, name, value))
    return "\n".join(parts)


def elsewhere(module: str, name: str) -> str | None:
    """Return the module on whose page a name stands that two modules have; None: on that of this one."""
    value = public(module)[name]
    before = list(MODULES)[: list(MODULES).index(module)]
    same = (one for one in before if name in public(one) and public(one)[name] is value)
    return None if kind_of(value) == "value" else next(same, None)


def _link(module: str, name: str) -> str:
    value, other = public(module)[name], elsewhere(module, name)
    page = f"{value.__name__}.md" if isinstance(value, ModuleType) else f"{other}.md" if other else ""
    anchor = "" if isinstance(value, ModuleType) else f"#{anchor_of(other or module, name)}"
    return f"[{code(name)}]({page}{anchor})"


def anchor_of(module: str, name: str) -> str:
    """Return the anchor of a name's heading: a second one that differs in its capitals only is numbered."""
    names = list(public(module))
    same = sum(one.lower() == name.lower() for one in names[: names.index(name)])
    return name.lower() + (f"-{same}" if same else "")


def _described(module: str, name: str, value: object) -> str:
    parts = [
        f"## {name}\n",
        fenced(_called(module, name, value), "python"),
    ]
    parts += [formatted(text_of(module, name)), f"Source: {code(str(_source(module, name)))}\n"]
    if isinstance(value, type):
        for word, member in members(value).items():
            function = _function(member)
            shown = f"{name}.{word}" if _is_property(member) else signature_of(f"{name}.{word}", function)
            parts += [f"### {name}.{word}\n", fenced(shown, "python"), formatted(inspect.getdoc(function) or "")]
    return "\n".join(parts)


def _called(module: str, name: str, value: object) -> str:
    full = f"{module}.{name}"
    if kind_of(value) == "value":
        return _assignment(_home(module, name), name)[0]
    bare = getattr(value, "_is_protocol", False) or (isinstance(value, type) and issubclass(value, Exception))
    return full if bare else signature_of(full, value)


def _is_property(value: object) -> bool:
    return isinstance(value, (property, cached_property))


def _function(value: object) -> object | None:
    """Return the function in a member of a class; None where it has none."""
    if isinstance(value, property):
        return value.fget
    if isinstance(value, cached_property):
        return value.func
    if isinstance(value, (classmethod, staticmethod)):
        return value.__func__
    return value if inspect.isroutine(value) or hasattr(value, "__wrapped__") else None


def _home(module: str, name: str) -> str:
    """Return the module that defines a name which another one imports."""
    other, there = _imported(module).get(name, (module, name))
    return module if other == module else _home(other, there)


@cache
def _imported(module: str) -> dict[str, tuple[str, str]]:
    """Return name that a module imports -> the module that it comes from, and its name there."""
    tree, _ = _parsed(module)
    nodes = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    return {one.asname or one.name: (str(node.module), one.name) for node in nodes for one in node.names}


@cache
def _parsed(module: str) -> tuple[ast.Module, str]:
    """Return the syntax tree of a module, and its text."""
    text = Path(inspect.getfile(import_module(module))).read_text(encoding="utf-8")
    return ast.parse(text), text


def _assignment(module: str, name: str) -> tuple[str, str]:
    """Return the assignment of a name, and the text below it ("" without one)."""
    tree, text = _parsed(module)
    for node, after in zip(tree.body, [*tree.body[1:], ast.Pass()], strict=True):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if name in {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}:
            said = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            return ast.get_source_segment(text, node) or "", inspect.cleandoc(str(said))
    raise LookupError(f"{module} assigns no {name}")


def _source(module: str, name: str) -> Path:
    """Return the file that defines a name, as seen from the repository."""
    return Path(inspect.getfile(import_module(_home(module, name)))).relative_to(ROOT)


def _first(text: str) -> str:
    """Return the first sentence."""
    return " ".join(text.split("\n\n")[0].split())


def _paragraphs(text: str) -> str:
    blocks = re.split(r"\n\s*\n", text.strip("\n"))
    return "\n".join(docstring(block) for block in blocks if block.strip())


def _entries(text: str) -> str:
    """Return the entries of a section as a list; a text without names stays one."""
    body = inspect.cleandoc(f"\n{text}")
    pieces = ENTRY.split(body)
    if len(pieces) == 1:
        return f"{prose(body)}\n"
    names, texts = pieces[1::2], pieces[2::2]
    return "".join(f"- {code(name)}: {prose(text)}\n" for name, text in zip(names, texts, strict=True))
