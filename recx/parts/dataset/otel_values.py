"""Values of OpenTelemetry's JSON: attributes as objects or as OTLP's keys and values, moments, keys in either case."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any

from recx.core.errors import InputError
from recx.storage.readers.json import entry, shown


def either(record: Mapping[str, Any], *keys: str) -> Any:
    """Return the value of the first of some keys that a record has, in camelCase or snake_case; None: it has none."""
    for key in keys:
        snake = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in key)
        for name in (key, snake):
            if record.get(name) is not None:
                return record[name]
    return None


def moment_of(value: Any, where: str) -> int:
    """Return nanoseconds since 1970, from a number of them or from a date; 0 if there is neither.

    Raises:
        InputError: It is something else.
    """
    if value is None:
        return 0
    with suppress(ValueError):
        if isinstance(value, int | str) and not isinstance(value, bool):
            number = int(value)
            if 0 <= number < 2**63:
                return number
    with suppress(ValueError, TypeError):
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return round(moment.timestamp() * 1_000_000) * 1_000
    raise InputError(f"{where}: its start {shown(value)} is neither nanoseconds since 1970 nor a date with a zone")


def attributes_of(given: Any, where: str) -> dict[str, Any]:
    """Return attributes as plain values, from an object or from OTLP's list of keys and values.

    Raises:
        InputError: They are neither.
    """
    if given is None:
        return {}
    if isinstance(given, dict):
        return given
    if not isinstance(given, list):
        raise InputError(f"{where}: 'attributes' must be an object, or a list of keys and values: correct it")
    return {entry(pair, "key", str, f"{where}, attributes"): value_of(pair.get("value")) for pair in given}


def value_of(value: Any) -> Any:
    """Return the plain value of one of OTLP's, such as {"stringValue": "x"}."""
    if not isinstance(value, dict):
        return value
    for kind in ("stringValue", "boolValue", "doubleValue", "bytesValue"):
        if (found := either(value, kind)) is not None:
            return found
    if (whole := either(value, "intValue")) is not None:
        with suppress(ValueError, TypeError):
            return int(whole)
        return whole
    if (inner := either(value, "arrayValue")) is not None:
        return [value_of(one) for one in _values(inner)]
    if (inner := either(value, "kvlistValue")) is not None:
        pairs = [pair for pair in _values(inner) if isinstance(pair, dict)]
        return {str(pair.get("key", "")): value_of(pair.get("value")) for pair in pairs}
    return value


def _values(inner: Any) -> list[Any]:
    found = inner.get("values") if isinstance(inner, dict) else None
    return found if isinstance(found, list) else []
