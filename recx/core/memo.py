"""Keeps what a function made of an input for as long as that input lives."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")


def once_per_input(make: Callable[..., T]) -> Callable[..., T]:
    """Keep what ``make(first, *rest)`` returned for as long as its first argument (a history, a list) lives.

    ``rest`` may hold further arrays and types besides settings: they are told apart by identity.
    """
    kept: WeakKeyDictionary[Any, dict[Any, T]] = WeakKeyDictionary()

    @wraps(make)
    def remembered(first: Any, *rest: Any) -> T:
        made = kept.setdefault(first, {})
        if rest not in made:
            made[rest] = make(first, *rest)
        return made[rest]

    return remembered
