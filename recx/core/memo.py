"""Remembers the result of a function for as long as its input lives."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


def once_per_input(make: Callable[..., T]) -> Callable[..., T]:
    """Remember what ``make(first, *rest)`` returned for as long as its first argument (a history, a list) lives.

    Args:
        make: The function; its result must not refer to its first argument. Further arguments may be settings, compared
            by value, or what cannot be hashed or is compared by identity, such as types of ``recx.core.types``.
    """
    kept: WeakKeyDictionary[Any, dict[Any, T]] = WeakKeyDictionary()

    @wraps(make)
    def remembered(first: Any, *rest: Any) -> T:
        made, key = kept.setdefault(first, {}), tuple(map(_key, rest))
        if key not in made:
            made[key] = make(first, *rest)
        return made[key]

    return remembered


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
