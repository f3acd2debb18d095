"""Option files as the reference shows them: every setting with its value and the comment that stands with it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml
from repository import ROOT

from recx.config.option_sources import CONF, Source, description

PRESETS = ("experiment", "reproduction", "study", "sweep")
"""Groups whose options are no part: they choose parts and settings, or say what a command does."""


@dataclass(frozen=True)
class Setting:
    """One key of an option file.

    Attributes:
        key: Its path in the file, such as ``budget.p95_ms``.
        value: The default as it is written there.
        behind: The comment behind the value; "": none.
        above: The comment in the lines right above the key, which may be about several keys; "": none.
    """

    key: str
    value: str
    behind: str
    above: str


@dataclass(frozen=True)
class Option:
    """An option file.

    Attributes:
        group: Its group, such as ``retriever`` or ``hydra/sweeper``.
        name: Its name in the group.
        package: The package that it belongs to: ``recx``, or a plugin's distribution, such as ``recx-text``.
        file: The file.
        content: What it holds.
    """

    group: str
    name: str
    package: str
    file: Path
    content: Mapping[str, Any]

    @property
    def description(self) -> str:
        """What it is, in a phrase."""
        return description(self.file)

    @cached_property
    def target(self) -> str:
        """The class of the part, its own or that of the option that it starts from; "": it is no part."""
        inner = self.content.get(self.name) if self.group == "filter" else None
        own = (inner or self.content).get("_target_")
        return str(own or next((options()[f"{self.group}/{base}"].target for base in self.bases), ""))

    @cached_property
    def meanings(self) -> dict[str, str]:
        """Setting, those of its bases too -> what a file says about it."""
        found = {one.key: one.above for one in self.settings if one.above}
        for base in self.bases:
            found |= options()[f"{self.group}/{base}"].meanings
        return found | {one.key: one.behind for one in self.settings if one.behind}

    @cached_property
    def bases(self) -> tuple[str, ...]:
        """The options of its own group that it starts from."""
        return tuple(
            entry for entry in self._defaults if isinstance(entry, str) and entry != "_self_" and "@" not in entry
        )

    @cached_property
    def inherited(self) -> list[str]:
        """The settings of its bases that it does not give itself."""
        of_bases = [options()[f"{self.group}/{base}"] for base in self.bases]
        known = [key for base in of_bases for key in (*base.inherited, *(one.key for one in base.settings))]
        own = {one.key for one in self.settings}
        return [key for key in dict.fromkeys(known) if key not in own]

    @property
    def others(self) -> dict[str, str]:
        """Key -> the option ``GROUP/NAME`` whose settings stand under it."""
        found = {}
        for entry in self._defaults:
            if isinstance(entry, dict):
                [(place, name)] = entry.items()
                group, _, key = place.removeprefix("optional ").lstrip("/").partition("@")
                found[key] = f"{group}/{name}"
            elif "@" in entry:
                name, _, key = entry.partition("@")
                found[key] = f"{self.group}/{name}"
        return found if self.group not in PRESETS else {}

    @property
    def prefix(self) -> str:
        """What precedes its keys on the command line, such as ``retriever``."""
        return f"filter.{self.name}" if self.group == "filter" else self.group.replace("/", ".")

    @cached_property
    def settings(self) -> list[Setting]:
        """The settings that the file itself gives, in its order."""
        found = settings_of(self.file.read_text(encoding="utf-8"))
        cut = f"{self.name}." if self.group == "filter" else ""
        return [
            replace(one, key=one.key.removeprefix(cut))
            for one in found
            if one.key.partition(".")[0] != "defaults" and one.key.removeprefix(cut) != "_target_"
        ]

    @property
    def _defaults(self) -> list[Any]:
        return list(self.content.get("defaults") or ())


@cache
def options() -> Mapping[str, Option]:
    """Return ``GROUP/NAME`` -> option, of recx and of all plugins in its repository, installed or not."""
    found = {}
    for package, source in sources().items():
        for path, file in source.options().items():
            group, slash, name = path.rpartition("/")
            if slash:
                content = yaml.load(file.read_text(encoding="utf-8"), yaml.CSafeLoader) or {}
                found[path] = Option(group, name, package, file, content)
    return found


def sources() -> dict[str, Source]:
    """Return the packages with option files: distribution -> where they are; the template of plugins is none."""
    plugins = sorted((ROOT / "plugins").glob("recx-*/recx_*/conf"))
    return {
        "recx": Source("recx", CONF),
        **{conf.parts[-3]: Source(conf.parts[-2], conf) for conf in plugins if conf.parts[-3] != "recx-template"},
    }


def groups() -> dict[str, list[Option]]:
    """Return group -> its options, those of recx first, each by name."""
    found: dict[str, list[Option]] = {}
    for option in options().values():
        found.setdefault(option.group, []).append(option)
    return dict(sorted(found.items()))


def settings_of(text: str) -> list[Setting]:
    """Return all settings of a YAML file in its order, those of mappings by their path."""
    lines = text.splitlines()
    root = yaml.compose(text, yaml.CSafeLoader)
    return list(_walk(root, lines, "")) if isinstance(root, yaml.MappingNode) else []


def _walk(node: yaml.MappingNode, lines: list[str], within: str) -> Iterator[Setting]:
    for key, value in node.value:
        path = f"{within}{key.value}"
        if isinstance(value, yaml.MappingNode) and not value.flow_style and value.value:
            yield from _walk(value, lines, f"{path}.")
            continue
        start, end = value.start_mark, value.end_mark
        behind = lines[end.line][end.column :] if end.line < len(lines) and end.line == key.end_mark.line else ""
        if start.line == end.line:
            written = lines[start.line][start.column : end.column]
        else:
            written = " ".join(yaml.safe_dump(_plain(value), default_flow_style=True, width=10**6).split())
        comment = behind.partition("#")[2].strip()
        yield Setting(path, written.strip() or "null", comment, _above(lines, key.start_mark.line))


def _above(lines: list[str], line: int) -> str:
    """Return the comment in the lines right above one."""
    found: list[str] = []
    while line > 0 and lines[line - 1].lstrip().startswith("#"):
        line -= 1
        found.insert(0, lines[line].strip().lstrip("# "))
    return " ".join(found) if line > 0 else ""  # the first comment of the file is about all of it


def _plain(node: yaml.Node) -> Any:
    return yaml.safe_load(yaml.serialize(node))
