"""The features: the sets of the group ``feature``, and the classes that they are made of."""

from __future__ import annotations

import pkgutil
from collections.abc import Mapping
from dataclasses import MISSING, Field, fields
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any

from repository import ROOT

from recx.parts import feature as package
from reference_pages.classes import described, paragraphs
from reference_pages.markdown import code, docstring, prose, table
from reference_pages.mentions import pages_with
from reference_pages.option_files import Option, options

PAGE = "features"
INTRO = (
    "A feature gives each candidate of a request a number, which a ranker such as `ranker=linear` weighs. "
    "`feature=SET` chooses a set, `feature.NAME.SETTING=VALUE` changes a setting of a feature, and `~feature.NAME` "
    "leaves one out. Where the data has times, no event at or after a request is known to its features; what else "
    "they know stands with their module."
)


def pages() -> dict[str, str]:
    """Return the page."""
    sets = feature_sets()
    rows = [(f"[`{one.name}`](#{one.name})", prose(one.description), one.package) for one in sets]
    parts = ["# Features\n", f"{INTRO}\n", "## Sets\n", table(("set", "is", "package"), rows), *map(_set, sets)]
    for module in modules():
        parts += [f"## Module {_short(module.__name__)}\n", *map(docstring, paragraphs(module.__doc__ or ""))]
        parts += [_class(kind) for kind in classes_of(module)]
    return {PAGE: "\n".join(parts)}


def feature_sets() -> list[Option]:
    """Return the options of the group ``feature``."""
    return [one for one in options().values() if one.group == "feature"]


@cache
def modules() -> tuple[ModuleType, ...]:
    """Return the modules that define features."""
    found = [import_module(f"{package.__name__}.{one.name}") for one in pkgutil.iter_modules(package.__path__)]
    return tuple(module for module in found if classes_of(module))


def classes_of(module: ModuleType) -> list[type]:
    """Return the features that a module defines, in its order: its public dataclasses with ``fit``."""
    return [
        kind
        for name, kind in vars(module).items()
        if isinstance(kind, type)
        and kind.__module__ == module.__name__
        and not name.startswith("_")
        and hasattr(kind, "fit")
    ]


def title_of(path: str) -> str:
    """Return the title of a class's section, such as ``coclick.CoClicks``."""
    module, _, name = path.rpartition(".")
    return f"{_short(module)}.{name}"


def written(value: Any) -> str:
    """Return a setting, that of a part in it too, as it is called: ``popularity.Clicks(window=1h)``."""
    if isinstance(value, Mapping) and "_target_" in value:
        return f"{title_of(value['_target_'])}({_settings(value)})"
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    return str(value)


def _settings(content: Mapping[str, Any]) -> str:
    return ", ".join(f"{key}={written(value)}" for key, value in content.items() if key != "_target_")


def _short(module: str) -> str:
    return module.rpartition(".")[2]


def _link(path: str) -> str:
    title = title_of(path)
    return f"[`{title}`](#{title.replace('.', '').lower()})"


def _set(option: Option) -> str:
    rows = [
        (code(name), _link(content["_target_"]), code(_settings(content)))
        for name, content in option.content.items()
        if name != "defaults"
    ]
    of_plugin = (
        "" if option.package == "recx" else f" Needs the plugin [{option.package}](../plugins/{option.package}.md)."
    )
    parts = [f"### {option.name}\n", f"{prose(option.description[:1].upper() + option.description[1:])}.\n"]
    parts.append(f"File {code(option.file.relative_to(ROOT).as_posix())}.{of_plugin}\n")
    parts += [f"It has all features of [`{base}`](#{base}), and these:\n" for base in option.bases]
    parts.append(table(("feature", "class", "settings"), rows))
    found = pages_with("feature", option.name, f"reference/{PAGE}.md")
    return "\n".join([*parts, *([f"Shown in: {', '.join(found)}.\n"] if found else [])])


def _class(kind: type) -> str:
    path = f"{kind.__module__}.{kind.__qualname__}"
    about = described(path)
    parts = [f"### {title_of(path)}\n", *map(docstring, about.text)]
    used = [f"[`{one.name}`](#{one.name})" for one in feature_sets() if path in one.file.read_text(encoding="utf-8")]
    parts.append(f"Class {code(path)}, in {', '.join(used) if used else 'no set'}.\n")
    rows = [
        (
            code(field.name),
            code(_default(field)),
            prose(about.allowed[field.name]),
            prose(about.about.get(field.name, "")),
        )
        for field in fields(kind)
    ]
    return "\n".join([*parts, *([table(("setting", "default", "may be", "meaning"), rows)] if rows else [])])


def _default(field: Field[Any]) -> str:
    return "" if field.default is MISSING else written(field.default)
