"""Remembers the result of a function for as long as its input lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
_NOTHING: Any = object()
_remembered: dict[str, WeakKeyDictionary[Any, dict[Any, Any]]] = {}
"""Function, as ``module.name`` -> what it returned for each first argument."""


def once_per_input(make: Callable[..., T]) -> Callable[..., T]:
    """Remember what ``make(first, *rest)`` returned for as long as its first argument (a history, a list) lives.

    Args:
        make: The function; its result must not refer to its first argument. Further arguments may be settings, compared
            by value, or what cannot be hashed or is compared by identity, such as types of ``recx.core.types``.
    """
    kept: WeakKeyDictionary[Any, dict[Any, T]] = WeakKeyDictionary()
    _remembered[f"{make.__module__}.{make.__qualname__}"] = kept

    @wraps(make)
    def remembered(first: Any, *rest: Any) -> T:
        made = kept.get(first)
        if made is None:
            made = kept.setdefault(first, {})
        key = rest
        try:
            found = made.get(key, _NOTHING)
        except TypeError:  # something in it cannot be hashed
            key = tuple(map(_key, rest))
            found = made.get(key, _NOTHING)
        if found is _NOTHING:
            found = made[key] = make(first, *rest)
        return found  # type: ignore[no-any-return]

    return remembered


@dataclass(frozen=True, eq=False)
class Made:
    """What a function returned for an input that is not named.

    Attributes:
        function: The function, as ``module.name``.
        arguments: Its further arguments.
        value: What it returned.
    """

    function: str
    arguments: tuple[Any, ...]
    value: Any


def made_of(first: Any) -> list[Made]:
    """Return all that is remembered of an input, so that it can be kept and need not be made again."""
    return [
        Made(function, tuple(one.value if isinstance(one, _Itself) else one for one in key), value)
        for function, kept in _remembered.items()
        for key, value in kept.get(first, {}).items()
    ]


def remember(first: Any, made: Iterable[Made]) -> None:
    """Remember what ``made_of`` returned of an equal input; functions of modules that are not imported are left out."""
    for one in made:
        kept = _remembered.get(one.function)
        if kept is not None:
            kept.setdefault(first, {})[tuple(map(_key, one.arguments))] = one.value


def _key(value: Any) -> Hashable:
    try:
        hash(value)
    except TypeError:
        return _Itself(value)
    return value  # type: ignore[no-any-return]


@dataclass(frozen=True, eq=False)
class _Itself:
    """A value that cannot be hashed, such as a part with a list among its settings: equal to nothing but itself."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Itself) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)
