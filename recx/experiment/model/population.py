"""Histories beside those that a run has read: of new users, or longer ones of known users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recx.core.entities import Entities, unknown_in
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Array, Bools, Interactions, Longs


@dataclass(frozen=True, eq=False)
class Extended:
    """A history with other events of some users.

    Attributes:
        history: The history; users who are new come last.
        unknown_items: Number of events on items that the model does not know, which were left out.
    """

    history: Interactions
    unknown_items: int


def extended(base: Interactions, events: Interactions) -> Extended:
    """Return a history in which the users of some events have these events, and no others.

    Args:
        base: The history of everybody.
        events: The events of users, known or new, whose users and items have numbers of their own.

    Raises:
        InputError: Only one of both has times, or the ids are of another type.
    """
    if (base.time is None) != (events.time is None):
        which, other = ("has times", "none") if base.time is not None else ("has none", "times")
        raise InputError(f"the model's history {which}, and the given one has {other}: give both or neither times")
    user = numbers_of(events.users.ids, base.users, "users")
    item = numbers_of(events.items.ids, base.items, "items")
    new = np.flatnonzero(user < 0)
    user[new] = base.n_users + np.arange(len(new))
    known = item[events.item] >= 0
    replaced = np.zeros(base.n_users + len(new), dtype=bool)
    replaced[user] = True
    kept = ~replaced[base.user]
    owner = np.concatenate([base.user[kept], user[events.user[known]]])
    order = np.argsort(owner, kind="stable")  # the events of each user are in the order of time already

    def joined(old: Array, given: Array) -> Array:
        return np.concatenate([old[kept], given[known]])[order]

    history = replace(
        base,
        indptr=indptr_of(np.bincount(owner, minlength=len(replaced))),
        item=joined(base.item, item[events.item].astype(np.int32)),
        time=None if base.time is None or events.time is None else joined(base.time, events.time),
        weight=joined(base.weight, events.weight),
        users=with_unknown(base.users, events.users.ids[new]),
    )
    return Extended(history, int((~known).sum()))


def with_unknown(users: Entities, ids: Array) -> Entities:
    """Return the users and, after them, some of whom nothing is known but their ids."""
    n = len(ids)

    def longer(column: Array) -> Array:
        return np.concatenate([column, np.full(n, unknown_in(column), dtype=column.dtype)])

    vectors: Any = users.embedding
    if vectors is not None:
        vectors = np.concatenate([vectors, np.full((n, vectors.shape[1]), np.nan, dtype=vectors.dtype)])
    table = {name: longer(column) for name, column in users.table.items()}
    return replace(users, ids=_joined(users.ids, ids), table=table, embedding=vectors, names=None)


def numbers_of(ids: Array, entities: Entities, what: str) -> Longs:
    """Return the number of each raw id [n]; -1 where it is unknown.

    Args:
        ids: Raw ids, integers or texts.
        entities: The users or items.
        what: ``users`` or ``items``, for errors.

    Raises:
        InputError: The ids are numbers and those of the model texts, or the other way round.
    """
    import pandas as pd

    numbers, theirs = (array.dtype.kind in "iu" for array in (ids, entities.ids))
    if len(ids) and len(entities) and numbers != theirs:
        kind, other = ("numbers", "texts") if numbers else ("texts", "numbers")
        raise InputError(
            f"the ids of {what} are {kind}, as {ids[0]!r} is, and those of the model {other}: convert them"
        )
    return np.asarray(pd.Index(entities.ids).get_indexer(pd.Index(ids)), dtype=np.int64)


def before(history: Interactions, time: int) -> Interactions:
    """Return the events before a time in ms, with what is known of the items as of then."""
    if history.time is None:
        raise InputError("the model's history has no times: leave out the time of the request")
    earlier: Bools = history.time < time
    return history if earlier.all() else history.keep(earlier)


def _joined(ids: Array, others: Array) -> Array:
    return np.concatenate([ids, others.astype(ids.dtype)]) if len(others) else ids
