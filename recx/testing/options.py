"""Configurations and parts from overrides, as on the command line, for tests of option files."""

from __future__ import annotations

from typing import Any

from recx.config.compose import compose, plain
from recx.config.factory import build


def config_of(*overrides: str) -> dict[str, Any]:
    """Return the configuration of ``python -m recx OVERRIDES``, every interpolation resolved.

    Args:
        *overrides: Words of the command line, such as ``retriever=ease``.

    Raises:
        InputError: An override, an option or a key does not exist.
    """
    return plain(compose(overrides))


def part_of(option: str, **settings: Any) -> Any:
    """Build the part of an option file.

    Args:
        option: Such as ``retriever/item_knn``.
        **settings: Settings that replace those of the file.

    Raises:
        InputError: There is no such option or setting, or a setting is out of range.
    """
    group, _, name = option.partition("/")
    config = config_of(f"{group}={name}")[group]
    return build({**config, **settings}, group)
