"""Reads YAML files of moderate size: aliases, which may stand for billions of values, are counted first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from recx.core.errors import InputError

LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Ten times as fast in C, if available."""
MOST = 100_000
"""Values that the aliases of a file may stand for."""


def parse_yaml(path: Path, text: str) -> Any:
    """Return the document of a file with this content.

    Raises:
        InputError: Its aliases stand for too many values.
        yaml.YAMLError: It is not YAML.
    """
    refuse_bomb(path, text)
    return yaml.load(text, LOADER)


def parse_unique(path: Path, text: str) -> Any:
    """Return the same, unless a mapping has a key twice, of which YAML keeps the last.

    Raises:
        InputError: A key is there twice, or as ``parse_yaml``.
        yaml.YAMLError: It is not YAML.
    """
    content = parse_yaml(path, text)
    nodes, seen = [yaml.compose(text, LOADER)], set[int]()
    while nodes:
        node = nodes.pop()
        if id(node) in seen or not isinstance(node, yaml.CollectionNode):
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            nodes += node.value
            continue
        keys = set[str]()
        for key, value in node.value:
            if key.value in keys:
                line = key.start_mark.line + 1
                raise InputError(
                    f"{path}, line {line}: the key {key.value} is there twice: leave one out, or rename it"
                )
            keys.add(key.value)
            nodes.append(value)
    return content


def refuse_bomb(path: Path, text: str) -> None:
    """Check that the aliases of a YAML text stand for a moderate number of values (raises as ``parse_yaml`` does).

    Args:
        path: Its file, for the error.
        text: Its content.
    """
    if "*" not in text or "&" not in text:
        return
    with suppress(yaml.YAMLError):  # whoever reads the values says where
        for total, anchor in _sizes(text):
            if total > MOST:
                raise InputError(
                    f"{path}: its aliases, such as *{anchor}, stand for more than {MOST:,} values: write out what they "
                    "stand for"
                )


def _sizes(text: str) -> Iterator[tuple[int, str]]:
    """Yield, after each alias of a YAML text, how many values there are so far, and its name."""
    total, sizes = 0, dict[str | None, int]()
    nested: list[tuple[str | None, int]] = []  # of each collection that is open, its anchor and the number before it
    for event in yaml.parse(text, LOADER):
        if isinstance(event, yaml.AliasEvent):
            total += sizes.get(event.anchor, MOST + 1)  # one that is still open contains itself
            yield total, str(event.anchor)
        elif isinstance(event, yaml.CollectionStartEvent):
            nested.append((event.anchor, total))
            sizes.pop(event.anchor, None)
            total += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before = nested.pop()
            sizes[anchor] = total - before
        elif isinstance(event, yaml.ScalarEvent):
            total += 1
            sizes[event.anchor] = 1
