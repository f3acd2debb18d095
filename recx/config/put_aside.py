"""Passwords and keys are put aside before Hydra sees them, since it writes what it composes into files.

A variable of the environment of this process, and of those that it starts, holds each; the setting names the variable.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import Any

from omegaconf import DictConfig, OmegaConf, open_dict, read_write

from recx.core.errors import InputError
from recx.core.secrets import is_secret, override_replaced, replaced

VARIABLE = "RECX_SECRET_"
"""The variables' names begin like this; the key follows."""


def put_aside(overrides: Sequence[str]) -> list[str]:
    """Return overrides that name variables instead of passwords and keys.

    Raises:
        InputError: A password has signs that Hydra would read as its own.
    """
    return [override_replaced(one, _Aside(one.lstrip("+~").partition("=")[0], typed=True)) for one in overrides]


def typed(overrides: Any) -> list[str]:
    """Return the overrides in a configuration with interpolations resolved, except for what was put aside."""
    written: Any = OmegaConf.to_container(overrides, resolve=False)
    return [raw if VARIABLE in raw else found for raw, found in zip(written, overrides, strict=True)]


def put_aside_in(config: DictConfig) -> None:
    """Have a composed configuration name variables instead of passwords and keys."""
    with open_dict(config), read_write(config):
        _in_node(config, OmegaConf.to_container(config, resolve=False), "")


def _in_node(node: Any, written: Any, key: str) -> None:
    for name, value in written.items() if isinstance(written, dict) else enumerate(written):
        inner = f"{key}.{name}" if key else str(name)
        if isinstance(value, dict | list):
            if not OmegaConf.is_interpolation(node, name):
                _in_node(node[name], value, inner)
        elif isinstance(value, str) and value:
            aside = _Aside(inner)
            whole = is_secret(inner) and "${" not in value and value != "???"
            instead = aside(value) if whole else replaced(value, aside)
            if instead != value:
                node[name] = instead


class _Aside:
    """Puts the secrets of one setting into variables."""

    def __init__(self, key: str, *, typed: bool = False) -> None:
        self.name = VARIABLE + re.sub(r"\W", "_", key).upper()
        self.key, self.typed, self.n = key, typed, 0

    def __call__(self, secret: str) -> str:
        if self.typed and re.search(r"['\"\\,$]", secret):
            raise InputError(
                f"{self.key}: its password has quotes, commas, dollars or backslashes: write them like %27, or put it "
                f"into an environment variable: {self.key}='…${{oc.env:NAME}}…'"
            )
        self.n += 1
        variable = self.name if self.n == 1 else f"{self.name}_{self.n}"
        os.environ[variable] = secret
        return f"${{oc.env:{variable}}}"
