"""Holds one setting against its annotation: the value in the right type, or one sentence that names the key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from recx.errors import InputError

_WORDS = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "text", NoneType: "null"}


def fit_to_type(value: Any, hint: Any, key: str) -> Any:
    """Return the value as the annotation asks: a list becomes a tuple, a whole number a float, where one is asked for.

    Raises:
        InputError: it is of another type. Nothing is guessed: true is no number and "3" is text.
    """
    try:
        return _fit(value, hint)
    except TypeError:
        shown = str(value).lower() if value is None or isinstance(value, bool) else str(value)
        shown = "null" if value is None else shown
        quoted = f""": write "{key}='{shown}'\"""" if hint in (str, Path) and isinstance(value, int | float) else ""
        raise InputError(f"{key}={shown}: it must be {_said(hint)}{quoted}") from None


def _fit(value: Any, hint: Any) -> Any:
    origin, args = get_origin(hint) or hint, get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return value
    if origin in (Union, UnionType):
        for option in args:
            with suppress(TypeError):
                return _fit(value, option)
    elif origin is Literal:
        if any(value == known and type(value) is type(known) for known in args):
            return value
    elif origin is float and type(value) in (int, float):
        return float(value)
    elif origin is Path and isinstance(value, str):
        return Path(value)
    elif origin in _WORDS:
        if type(value) is origin:
            return value
    elif origin in (tuple, list, Sequence):
        if isinstance(value, list | tuple):
            return _fit_list(value, origin, args)
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping):
            return {name: _fit(element, args[1] if args else Any) for name, element in value.items()}
    elif not isinstance(value, bool | int | float | str | list | dict | NoneType):
        return value  # another part; what it must be able to do shows when it is used
    raise TypeError


def _fit_list(value: Sequence[Any], origin: Any, args: tuple[Any, ...]) -> Any:
    """Return a sequence with its elements fitted; a tuple unless a list is asked for."""
    if origin is tuple and args and args[-1] is not Ellipsis:
        if len(value) != len(args):
            raise TypeError
        return tuple(_fit(element, hint) for element, hint in zip(value, args, strict=True))
    elements = [_fit(element, args[0] if args else Any) for element in value]
    return elements if origin is list else tuple(elements)


def _said(hint: Any) -> str:
    origin, args = get_origin(hint) or hint, get_args(hint)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_said(option) for option in args))
    if origin is Literal:
        return f"one of {', '.join(str(known) for known in args)}"
    if origin is tuple and args and args[-1] is not Ellipsis:
        return f"a list of {len(args)}: {', '.join(_said(option) for option in args)}"
    if origin in (tuple, list, Sequence):
        return f"a list (each of it {_said(args[0])})" if args else "a list"
    if origin in (dict, Mapping):
        return f"a mapping of names (each to {_said(args[1])})" if args else "a mapping"
    return _WORDS.get(origin, "a part with its _target_")
