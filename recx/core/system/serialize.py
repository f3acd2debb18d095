"""Settings and figures as plain values, which JSON, YAML and MLflow can store."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from recx.core.secrets import hidden_in


def plain(value: Any) -> Any:
    """Return the value as dicts, lists, strings, numbers, booleans and None.

    A number that is not finite becomes None, since JSON cannot represent it.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(inner) for inner in value]
    if hasattr(type(value), "tolist"):  # a NumPy array or number, without importing NumPy
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return settings(value) if is_dataclass(value) else str(value)


def settings(part: Any) -> dict[str, Any]:
    """Return a part's class and its settings, including those of nested parts, without passwords and keys."""
    kind = type(part)
    named = {field.name: plain(getattr(part, field.name)) for field in fields(part)} if is_dataclass(part) else {}
    return {"part": f"{kind.__module__}.{kind.__qualname__}", **hidden_in(named)}


def flat(nested: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Return dotted names -> texts: strings unchanged, all other values as JSON."""
    named: dict[str, str] = {}
    for key, value in nested.items():
        if isinstance(value, Mapping) and value:
            named.update(flat(value, f"{prefix}{key}."))
        else:
            named[f"{prefix}{key}"] = value if isinstance(value, str) else json.dumps(plain(value))
    return named


def as_json(values: Any) -> str:
    """Return plain values as an indented JSON document."""
    return json.dumps(plain(values), indent=2, ensure_ascii=False) + "\n"
