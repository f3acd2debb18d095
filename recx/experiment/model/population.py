"""Histories beside those that a run has read: of new users, or other events of known users."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from recx.core.entities import Entities, without_context
from recx.core.errors import InputError
from recx.core.ragged import indptr_of, rows_of_groups
from recx.core.types import Array, Bools, Interactions, Longs
from recx.experiment.model.counted import index_of

FEW = 16  # ids that are looked up one by one, which takes a tenth of the time of an array


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

    The context of a user's first event (``Entities.context``) is known only if that is still the first one.

    Args:
        base: The history of everybody.
        events: The events of users, known or new, whose users and items have numbers of their own.

    Raises:
        InputError: Only one of both has times, or the ids are of another type.
    """
    events, unknown = among_items(base, events)
    user = numbers_of(events.users.ids, base.users, "users")
    new = np.flatnonzero(user < 0)
    user[new] = base.n_users + np.arange(len(new))
    replaced = np.zeros(base.n_users + len(new), dtype=bool)
    replaced[user] = True
    kept = ~replaced[base.user]
    users = without_context(base.users, base.indptr, kept | _first_again(base, events, user))
    owner = np.concatenate([base.user[kept], user[events.user]])
    order = np.argsort(owner, kind="stable")  # the events of each user are in the order of time already

    def joined(old: Array, given: Array) -> Array:
        return np.concatenate([old[kept], given])[order]

    history = replace(
        base,
        indptr=indptr_of(np.bincount(owner, minlength=len(replaced))),
        item=joined(base.item, events.item),
        time=None if base.time is None or events.time is None else joined(base.time, events.time),
        weight=joined(base.weight, events.weight),
        given_fold=None,
        users=with_unknown(users, events.users.ids[new]),
    )
    return Extended(history, unknown)


def _first_again(base: Interactions, events: Interactions, user: Longs) -> Bools:
    """Return which events of a history [n] are the first ones of their users, and so among the given ones too.

    Args:
        base: The history.
        events: The given events, by the history's items.
        user: The number in the history of each of their users; from its number of users on: new.
    """
    again = np.zeros(len(base), dtype=bool)
    known = user < base.n_users
    old, new = base.indptr[:-1][user[known]], events.indptr[:-1][known]
    both = (base.lengths[user[known]] > 0) & (events.lengths[known] > 0)
    old, new = old[both], new[both]
    alike = base.item[old] == events.item[new]
    if base.time is not None and events.time is not None:
        alike &= base.time[old] == events.time[new]
    again[old[alike]] = True
    return again


def among_items(base: Interactions, events: Interactions) -> tuple[Interactions, int]:
    """Return events by the numbers of a model's items, and how many were on other items, which are left out.

    Raises:
        InputError: Only one of both has times, or the ids are of another type.
    """
    if (base.time is None) != (events.time is None):
        which, other = ("has times", "none") if base.time is not None else ("has none", "times")
        raise InputError(f"the model's history {which}, and the given one has {other}: give both or neither times")
    item = numbers_of(events.items.ids, base.items, "items")[events.item]
    known = item >= 0
    found = replace(events, item=item.astype(np.int32), items=base.items)
    return (found if known.all() else found.keep(known)), int((~known).sum())


def of_users(base: Interactions, number: Longs, ids: Array) -> Interactions:
    """Return the events of some users only, who are numbered from 0, with what is known of them.

    Args:
        base: The history of everybody.
        number: The number of each of these users there [n]; -1: unknown, without events.
        ids: Their raw ids [n].
    """
    known = number >= 0
    user = number[known]
    rows, lengths = rows_of_groups(base.indptr, user), np.zeros(len(number), dtype=np.int64)
    lengths[known] = base.indptr[user + 1] - base.indptr[user]
    return Interactions(
        indptr=indptr_of(lengths),
        item=base.item[rows],
        time=None if base.time is None else base.time[rows],
        weight=base.weight[rows],
        users=base.users.renumbered(number, ids),
        items=base.items,
    )


def with_unknown(users: Entities, ids: Array) -> Entities:
    """Return the users and, after them, some of whom nothing is known but their ids."""
    numbers = np.concatenate([np.arange(len(users)), np.full(len(ids), -1)])
    return replace(users.renumbered(numbers, _joined(users.ids, ids)), graphs=users.graphs)


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
            f"the ids of {what} are {kind}, as {ids.tolist()[0]!r} is, and those of the model {other}: convert them"
        )
    index = index_of(entities)
    if len(ids) > FEW:
        return np.asarray(index.get_indexer(pd.Index(ids)), dtype=np.int64)
    found = np.full(len(ids), -1, dtype=np.int64)
    for row, one in enumerate(ids.tolist()):
        if one in index:
            found[row] = index.get_loc(one)
    return found


def raw_ids(values: Sequence[Any] | Array, what: str) -> Array:
    """Return distinct raw ids [n], in the order in which they first occur, as whole numbers or as texts.

    Args:
        values: The ids.
        what: What they are, for errors, such as ``users``.

    Raises:
        InputError: They are no list, or an id is missing, no whole number and no text, or numbers stand beside texts.
    """
    if isinstance(values, list) and 0 < len(values) <= FEW:
        kinds = set(map(type, values))
        if kinds == {str} or (kinds == {int} and max(map(abs, values)) < 2**63):
            return np.array(list(dict.fromkeys(values)), dtype=object if kinds == {str} else np.int64)
    import pandas as pd

    if isinstance(values, str | bytes) or not hasattr(values, "__len__") or np.ndim(values) != 1:
        raise InputError(f"{what} must be a list of ids, such as [17], and is {values!r:.60}: put it into brackets")
    column = values if isinstance(values, pd.Series) else pd.Series(values, dtype=None if len(values) else object)
    kind = pd.api.types.infer_dtype(column, skipna=False)
    if kind == "categorical":
        column = column.astype(column.cat.categories.dtype)
        kind = pd.api.types.infer_dtype(column, skipna=False)
    if len(column) and kind not in ("integer", "string"):
        odd = next((one for one in column.tolist() if one != one or one is None or one is pd.NA), None)
        missing = "one is missing" if column.isna().any() else f"these are {kind}"
        raise InputError(f"{what}: ids are whole numbers or texts, and {missing} ({odd!r}): correct them")
    found = pd.unique(column)
    return np.asarray(found, dtype=np.int64 if kind == "integer" else object)


def _joined(ids: Array, others: Array) -> Array:
    if not len(others):
        return ids
    if ids.dtype.kind not in "iuU":
        others = others.astype(ids.dtype)
    return np.concatenate([ids, others.astype(str) if ids.dtype.kind == "U" else others])  # as wide as both need


def before(history: Interactions, time: int) -> Interactions:
    """Return the events before a time in ms, with what is known of the items as of then."""
    assert history.time is not None
    earlier = history.time < time
    return history if earlier.all() else history.keep(earlier)
