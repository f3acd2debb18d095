"""Allowed values of settings, declared once in their annotations, and the check of a part against them.

Bounds are the markers of the package ``annotated-types`` (``Ge``, ``Gt``, ``Le``, ``Lt``, ``Interval``, ``Predicate``),
choices are a ``Literal``. A ``doc("...")`` next to a ``Predicate`` says what the setting must be.

    @dataclass(frozen=True)
    class Ease:
        l2: PositiveFloat = 100.0
        neighbours: Annotated[int, Ge(2)] = 20

        def __post_init__(self) -> None:
            check(self, "retriever")
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from functools import cache
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import DocInfo, Ge, Gt, Interval, Predicate

from recx.core.errors import InputError, did_you_mean

Kind = TypeVar("Kind", bound=type)

PositiveInt = Annotated[int, Ge(1)]
"""A whole number from 1 up."""
NonNegativeInt = Annotated[int, Ge(0)]
"""A whole number from 0 up."""
PositiveFloat = Annotated[float, Gt(0)]
"""A number above 0."""
NonNegativeFloat = Annotated[float, Ge(0)]
"""A number from 0 up."""
Share = Annotated[float, Interval(gt=0, lt=1)]
"""A number between 0 and 1, without these."""
Decay = Annotated[float, Interval(gt=0, le=1)]
"""The weight of each element relative to the one before it; 1: equal weights."""
Unit = Annotated[float, Interval(ge=0, le=1)]
"""A number from 0 to 1."""
Seed = Annotated[int, Interval(ge=0, le=2**32 - 1)]
"""A seed that every library accepts."""

_NAMES = {bool: "true or false", int: "a whole number", float: "a number", str: "text", Path: "text", NoneType: "null"}
_LIMITS = {
    "gt": (operator.gt, "above {}"),
    "ge": (operator.ge, "{} or more"),
    "lt": (operator.lt, "below {}"),
    "le": (operator.le, "at most {}"),
}


def check(part: Any, stage: str = "") -> None:
    """Convert every setting of a part, a frozen dataclass, to its declared type, and check its bounds.

    Args:
        part: The instance; call this first in its ``__post_init__``.
        stage: The kind of part, such as ``ranker``, which precedes the setting's name in messages.

    Raises:
        InputError: A setting has the wrong type, is out of its bounds, or is not among its choices.
    """
    hints = hints_of(part.__class__)
    for field in fields(part):
        key = f"{stage}.{field.name}" if stage else field.name
        object.__setattr__(part, field.name, coerce(getattr(part, field.name), hints[field.name], key))


def checked(stage: str) -> Callable[[Kind], Kind]:
    """Give a class a ``__post_init__`` that calls ``check`` and nothing else: a decorator below ``@dataclass``.

    Args:
        stage: The kind of part, which begins the name of a setting in an error: ``retriever``.
    """

    def with_check(kind: Kind) -> Kind:
        setattr(kind, "__post_init__", lambda part: check(part, stage))  # noqa: B010  # mypy knows no such method
        return kind

    return with_check


@cache
def hints_of(kind: type) -> dict[str, Any]:
    """Return the annotations of a class's settings, including bounds."""
    return get_type_hints(kind, include_extras=True)


def coerce(value: Any, hint: Any, key: str) -> Any:
    """Return a value in its annotated type: a list becomes a tuple and an integer a float, if the annotation says so.

    Nothing is guessed: true is not a number and "3" is text. NumPy numbers become Python numbers; NaN and infinity are
    rejected.

    Args:
        value: The value of a setting.
        hint: The annotation of the setting.
        key: The key of the setting, for errors.

    Raises:
        InputError: The value has the wrong type or is out of its bounds.
    """
    origin, args = get_origin(hint) or hint, get_args(hint)
    if hint is Any or isinstance(hint, TypeVar):
        return value
    if origin is Annotated:
        converted, marks = coerce(value, args[0], key), args[1:]
        if _is_within(converted, marks):
            return converted
        raise InputError(f"{key}={_value_text(value)}: it must be {_bounds_text(marks)}")
    if origin in (Union, UnionType):
        others = [option for option in args if option is not NoneType]
        if value is not None and len(others) == 1:
            return coerce(value, others[0], key)
        for option in args:
            with suppress(InputError):
                return coerce(value, option, key)
    elif origin is Literal:
        if any(value == known and type(value) is type(known) for known in args):
            return value
        if isinstance(value, str):
            raise InputError(f"{key}={value}: {did_you_mean(value, map(str, args))}")
    elif origin is int:
        if isinstance(value, Integral) and not isinstance(value, bool):
            return int(value)
    elif origin is float:
        with suppress(OverflowError):  # an integer may be larger than any float
            if isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value):
                return float(value)
    elif origin in _NAMES:
        if isinstance(value, (str, Path) if origin is Path else origin):
            return Path(value) if origin is Path else value
    elif origin in (tuple, list, Sequence):
        if isinstance(value, list | tuple):
            options = args if _is_fixed(origin, args) else (args[0] if args else Any,) * len(value)
            if len(options) == len(value):
                keys = (f"{key}.{number}" for number in range(len(value)))
                return (list if origin is list else tuple)(map(coerce, value, options, keys))
    elif origin in (dict, Mapping):
        if isinstance(value, Mapping):
            option = args[1] if args else Any
            return {name: coerce(element, option, f"{key}.{name}") for name, element in value.items()}
    elif not isinstance(value, bool | int | float | str | list | dict | NoneType):
        return value  # another part; a protocol is not checked before it is used
    quoted = f""": write "{key}='{value}'\"""" if hint in (str, Path) and type(value) in (int, float) else ""
    raise InputError(f"{key}={_value_text(value)}: it must be {type_text(hint)}{quoted}")


def _is_within(value: Any, marks: Sequence[Any]) -> bool:
    tests = [mark.func for mark in marks if isinstance(mark, Predicate)]
    return all(test(value) for test in tests) and all(_LIMITS[name][0](value, limit) for name, limit in _limits(marks))


def _limits(marks: Sequence[Any]) -> list[tuple[str, Any]]:
    found = [(name, getattr(mark, name, None)) for mark in marks for name in _LIMITS]
    return [(name, limit) for name, limit in found if limit is not None]


def _bounds_text(marks: Sequence[Any]) -> str:
    texts = [mark.documentation for mark in marks if isinstance(mark, DocInfo)]
    return " and ".join(texts or [_LIMITS[name][1].format(limit) for name, limit in _limits(marks)])


def _is_fixed(origin: Any, args: tuple[Any, ...]) -> bool:
    """Return whether the annotation fixes the length of a list."""
    return origin is tuple and bool(args) and args[-1] is not Ellipsis


def _value_text(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def type_text(hint: Any) -> str:
    """Return what an annotation allows, in words: ``a whole number (1 or more) or null``."""
    if hint is Any:
        return "any value"
    origin, args = get_origin(hint) or hint, get_args(hint)
    if origin is Annotated:
        return f"{type_text(args[0])} ({_bounds_text(args[1:])})"
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(type_text(option) for option in args))
    if origin is Literal:
        return f"one of {', '.join(str(known) for known in args)}"
    if _is_fixed(origin, args):
        return f"a list of {len(args)}: {', '.join(type_text(option) for option in args)}"
    if origin in (tuple, list, Sequence):
        return f"a list (each of it {type_text(args[0])})" if args else "a list"
    if origin in (dict, Mapping):
        return f"a mapping of names (each to {type_text(args[1])})" if args else "a mapping"
    return _NAMES.get(origin, "a part with its _target_")
