"""The data of some of the users and items only: all others leave it, and those that stay are numbered anew."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recx.core.ragged import indptr_of
from recx.core.row_order import count_in_groups
from recx.core.types import Bools, Interactions, Ints


def with_events(interactions: Interactions, rows: Bools) -> Interactions:
    """Return the events for which ``rows`` [n] is true, without the users who lose all of theirs; all items stay.

    Users without events before stay as they are: they may have lists or columns of their own.

    Args:
        interactions: The data.
        rows: Which events stay [n].
    """
    if rows.all():
        return interactions
    left = interactions.keep(rows)
    return with_only(left, users=(left.lengths > 0) | (interactions.lengths == 0))


def with_only(interactions: Interactions, *, users: Bools | None = None, items: Bools | None = None) -> Interactions:
    """Return the data of some users and items: their events, what is known of them, and their lists.

    Users and items keep their order. A user who loses all events with the items that leave, leaves too. Rows of lists
    with items that leave are left out, and counted (``slate_rows_removed``).

    Args:
        interactions: The data.
        users: Which users stay [n_users]; None: all.
        items: Which items stay [n_items]; None: all.
    """
    if users is not None and not users.all():
        interactions = _of_users(interactions, users)
    if items is not None and not items.all():
        interactions = _of_items(interactions, items)
    return interactions


def _of_users(data: Interactions, kept: Bools) -> Interactions:
    number = _numbers(kept)
    left = data.keep(np.repeat(kept, data.lengths))
    slates, predicted = data.slates, data.to_predict
    if slates is not None:
        slates = slates.take(kept[slates.user])
        slates = replace(slates, user=number[slates.user])
    if predicted is not None:
        predicted = number[predicted[kept[predicted]]]
    return replace(
        left,
        indptr=indptr_of(left.lengths[kept]),
        users=left.users.take(np.flatnonzero(kept)),
        slates=slates,
        to_predict=predicted,
    )


def _of_items(data: Interactions, kept: Bools) -> Interactions:
    number, left = _numbers(kept), data.keep(kept[data.item])
    left = replace(left, item=number[left.item], items=data.items.take(np.flatnonzero(kept)))
    if (slates := data.slates) is not None:
        rows = kept[slates.item]
        picked = slates.picked(rows)
        slates = replace(picked, indptr=indptr_of(count_in_groups(rows, slates.indptr)), item=number[picked.item])
        removed = data.notes.get("slate_rows_removed", 0) + int((~rows).sum())
        left = replace(left, slates=slates, notes={**data.notes, "slate_rows_removed": removed})
    return with_only(left, users=(left.lengths > 0) | (data.lengths == 0))


def _numbers(kept: Bools) -> Ints:
    """Return the new number of each that is kept; what the others get does not matter."""
    return (np.cumsum(kept) - 1).astype(np.int32)
