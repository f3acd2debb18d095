"""What is made of a history, for the users of another one.

A history of one user's events, served by a chain that knows millions of others, must not make the counts of all events
anew. What is counted over all events, and what describes items, stays what it is; what tells users apart is made of
the other history.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Protocol, Self, TypeVar, runtime_checkable

import numpy as np

from recx.core.types import Interactions

T = TypeVar("T")
OWN = "recx."
"""Where classes stand whose arrays are known to describe items, or all events, but no users."""


@runtime_checkable
class PerUser(Protocol):
    """Something that can answer for the users of another history of the same items.

    Of that history, a fitted retriever or ranker reads the events and the table of the users who ask, and whatever a
    function under ``once_per_input`` makes of it, but never all its events.
    """

    def for_users(self, history: Interactions) -> Self:
        """Return the same for the users of this history; what is counted over all events stays what it is.

        Raises:
            NotPerUserError: Something in it cannot.
        """


class NotPerUserError(TypeError):
    """Something made of a history does not say what in it describes users."""


def for_users(part: T, history: Interactions) -> T:
    """Return a fitted retriever or ranker for the users of another history; raises NotPerUserError if it cannot."""
    if not isinstance(part, PerUser):
        raise NotPerUserError(f"{type(part).__module__}.{type(part).__qualname__} has no method for_users")
    return part.for_users(history)


@dataclass(frozen=True)
class ForUsers:
    """Gives things made of one history for the users of another; what was one object stays one.

    Attributes:
        history: The other history.
        given: What was given already, by the identity of what it was made from, which is kept alive.
    """

    history: Interactions
    given: dict[int, tuple[Any, Any]] = field(default_factory=dict)

    def __call__(self, value: Any) -> Any:
        """Return a value for the other users: itself if it says nothing of users.

        Raises:
            NotPerUserError: It contains something of a class of which this is not known.
        """
        if value is None or isinstance(value, str | int | float | np.generic | np.ndarray):
            return value
        if id(value) not in self.given:
            self.given[id(value)] = (value, self._made(value))
        return self.given[id(value)][1]

    def _made(self, value: Any) -> Any:
        kind = type(value)
        if hasattr(kind, "for_users"):  # checking the protocol itself takes 20 times as long
            return value.for_users(self.history)
        if hasattr(kind, "encode") or kind.__module__.startswith("scipy.sparse"):
            return value  # an encoder knows texts only, and arrays in recx's own classes are of items
        if isinstance(value, Mapping):
            inner = {name: self(one) for name, one in value.items()}
            return value if all(inner[name] is one for name, one in value.items()) else inner
        if kind in (tuple, list):
            parts = [self(one) for one in value]
            return value if all(map(_same, parts, value)) else kind(parts)
        if not is_dataclass(kind) or not kind.__module__.startswith(OWN) or isinstance(value, Interactions):
            raise NotPerUserError(f"{kind.__module__}.{kind.__qualname__} has no method for_users")
        changed = {}
        for one in fields(value):
            old = getattr(value, one.name)
            new = self(old)
            if new is not old:
                changed[one.name] = new
        return replace(value, **changed) if changed else value


def _same(one: Any, other: Any) -> bool:
    return one is other
