"""Remembers the result of a function for as long as its input lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


def once_per_input(make: Callable[..., T]) -> Callable[..., T]:
    """Remember what ``make(first, *rest)`` returned for as long as its first argument (a history, a list) lives.

    Args:
        make: The function; its result must not refer to its first argument. Further arguments may be settings, compared
            by value, or types of ``recx.core.types``, compared by identity.
    """
    kept: WeakKeyDictionary[Any, dict[Any, T]] = WeakKeyDictionary()

    @wraps(make)
    def remembered(first: Any, *rest: Any) -> T:
        made = kept.setdefault(first, {})
        if rest not in made:
            made[rest] = make(first, *rest)
        return made[rest]

    return remembered
