"""The pages of Python names have every public name, and its docstring says what it takes, gives and raises."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from reference_pages import python_names
from reference_pages.python_names import MODULES, anchor_of, elsewhere, kind_of, members, public, text_of

NAMES = [
    (module, name)
    for module in MODULES
    for name, value in public(module).items()
    if kind_of(value) != "module" and elsewhere(module, name) is None
]
RAISES = re.compile(r"\braise (\w*Error)\b")


@cache
def pages() -> dict[str, str]:
    return python_names.pages()


def functions(module: str, name: str) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Yield the function, or the methods and properties that a class itself defines."""
    value: Any = public(module)[name]
    if kind_of(value) == "function":
        yield name, inspect.unwrap(value)
    elif inspect.isclass(value):
        for word, member in members(value).items():
            if word in vars(value):
                function = getattr(member, "fget", None) or getattr(member, "func", None) or member
                yield f"{name}.{word}", getattr(function, "__func__", function)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_is_in_the_table_and_has_a_section(module: str) -> None:
    for name, value in public(module).items():
        other = elsewhere(module, name)
        page = f"{module}.{name}.md" if kind_of(value) == "module" else f"{other}.md" if other else ""
        target = page if kind_of(value) == "module" else f"{page}#{anchor_of(other or module, name)}"
        assert f"| [`{name}`]({target}) | {kind_of(value)} | " in pages()[module]
        if kind_of(value) != "module":
            assert f"\n## {name}\n" in pages()[other or module]


@pytest.mark.parametrize("module", MODULES)
def test_headings_of_one_anchor_are_numbered(module: str) -> None:
    headings = re.findall(r"^## (.+)$", pages()[module], flags=re.MULTILINE)
    assert len({anchor_of(module, heading) for heading in headings}) == len(headings)


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda word: word)
def test_a_public_name_says_what_it_is(module: str, name: str) -> None:
    of_arrays = (
        kind_of(public(module)[name]) == "value" and "NDArray" in pages()[module].partition(f"\n## {name}\n")[2][:80]
    )
    assert text_of(module, name) or of_arrays  # whose type says it


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda word: word)
def test_what_is_called_says_what_it_takes_and_raises(module: str, name: str) -> None:
    for word, function in functions(module, name):
        text = function.__doc__ or ""
        assert text, word
        taken = [one for one in inspect.signature(function).parameters if one not in ("self", "cls") and one[0] != "_"]
        assert [one for one in taken if not re.search(rf"\b{one}\b", text)] == [], word
        raised = RAISES.findall(inspect.getsource(function))
        assert not raised or re.search(r"\w*Error\b|[Rr]aise", text), (word, raised)


@pytest.mark.parametrize(("module", "name"), NAMES, ids=lambda word: word)
def test_a_class_says_what_its_fields_are(module: str, name: str) -> None:
    value = public(module)[name]
    if inspect.isclass(value) and dataclasses.is_dataclass(value):
        text = " ".join(base.__doc__ or "" for base in value.__mro__[:-1])
        fields = [one.name for one in dataclasses.fields(value) if one.init and not one.name.startswith("_")]
        assert [one for one in fields if not re.search(rf"\b{one}\b", text)] == []


def test_sections_of_a_docstring_become_lists() -> None:
    text = (
        "Do it.\n\nArgs:\n    a: The first [n],\n        and more.\n    b, c: Others.\n\nRaises:\n    OSError: Never."
    )
    arguments = "**Arguments**\n\n- `a`: The first \\[n\\], and more.\n- `b, c`: Others.\n"
    shown = f"Do it.\n\n{arguments}\n**Raises**\n\n- `OSError`: Never.\n"
    assert python_names.formatted(text) == shown


def test_a_page_is_the_same_in_every_build() -> None:
    """A default that is a function would be shown by its address."""
    assert [module for module, text in pages().items() if " at 0x" in text] == []


def test_a_long_signature_has_a_line_for_each_parameter() -> None:
    section = pages()["recx"].partition("\n## run\n")[2].partition("\n## ")[0]
    assert "recx.run(\n    overrides: str | Sequence[str] = (),\n    *,\n    data: Frame | None = None,\n" in section
    assert ") -> Result" in section
    assert "**Raises**" in section
    assert "Source: `recx/jobs/from_python.py`" in section
