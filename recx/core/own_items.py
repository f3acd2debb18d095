"""Items that a user meets again, found user by user: no array of pairs of users and items is made."""

from __future__ import annotations

import numpy as np

from recx.core.compiled import compiled
from recx.core.ragged import blocks, blocks_of_groups
from recx.core.system.threads import available, side_by_side
from recx.core.types import Array, Bools, Interactions, Ints, Longs


def in_history(user: Array, indptr: Longs, item: Ints, history: Interactions) -> Bools:
    """Return which rows of lists show an item of their user's history [n].

    Args:
        user: The user of each list [n_lists].
        indptr: Borders of the lists [n_lists + 1].
        item: The item of each row [n].
        history: The events.
    """
    return among(user, indptr, item, history.indptr, history.item, history.n_items)


def among(user: Array, indptr: Longs, item: Ints, known_indptr: Longs, known: Ints, n_items: int) -> Bools:
    """Return which rows of lists show an item that is known for their user [n].

    Args:
        user: The user of each list [n_lists].
        indptr: Borders of the lists [n_lists + 1].
        item: The item of each row [n].
        known_indptr: Borders of the users' known items [n_users + 1].
        known: The known items.
        n_items: The number of items.
    """
    found = np.zeros(len(item), dtype=bool)
    user, indptr = user.astype(np.int32, copy=False), indptr.astype(np.int64, copy=False)

    def mark(piece: tuple[int, int]) -> None:
        start, stop = piece
        _mark(user[start:stop], indptr[start : stop + 1], item, known_indptr, known, n_items, found)

    side_by_side(mark, blocks(len(user), max(1, -(-len(user) // available()))))
    return found


def repeats_of(events: Interactions, *, timed: bool = True) -> tuple[int, int, Longs]:
    """Count the events that repeat the item of an earlier event of their user.

    Args:
        events: The events.
        timed: Whether times tell repeats at once from later ones; False: all of them are later ones.

    Returns:
        How many have the time of the last event with the item, how many another, and each user's number of different
        items [n_users].
    """
    different = np.zeros(events.n_users, dtype=np.int64)
    time = events.time if timed and events.time is not None else np.zeros(0, dtype=np.int64)

    def count(piece: tuple[int, int]) -> tuple[int, int]:
        start, stop = piece
        return _repeats(events.indptr[start : stop + 1], events.item, time, events.n_items, different[start:stop])

    found = side_by_side(count, blocks_of_groups(events.indptr, max(1, -(-len(events) // available()))))
    at_once, later = (sum(part) for part in zip((0, 0), *found, strict=True))
    return at_once, later, different


@compiled("found")
def _mark(user: Ints, indptr: Longs, item: Ints, known_indptr: Longs, known: Ints, n_items: int, found: Bools) -> None:
    """Write into ``found`` [n] whether each row of these lists is known (for the other arguments see ``among``)."""
    known_in = np.full(n_items, -1, dtype=np.int32)
    for at in range(len(user)):
        if indptr[at] == indptr[at + 1]:
            continue
        for place in range(known_indptr[user[at]], known_indptr[user[at] + 1]):
            known_in[known[place]] = at
        for row in range(indptr[at], indptr[at + 1]):
            found[row] = known_in[item[row]] == at


@compiled("different")
def _repeats(indptr: Longs, item: Ints, time: Longs, n_items: int, different: Longs) -> tuple[int, int]:
    """Count repeats at once and later ones, and write into ``different`` each user's number of different items.

    Args:
        indptr: Borders of these users' events [n_users + 1].
        item: The items of all events.
        time: Their times; empty if all repeats are later ones.
        n_items: The number of items.
        different: To write into [n_users].
    """
    last = np.full(n_items, -1, dtype=np.int64)  # the row of each item's last event; rows of earlier users are lower
    at_once, later = 0, 0
    for at in range(len(different)):
        for row in range(indptr[at], indptr[at + 1]):
            before = last[item[row]]
            last[item[row]] = row
            if before < indptr[at]:
                different[at] += 1
            elif len(time) > 0 and time[row] == time[before]:
                at_once += 1
            else:
                later += 1
    return at_once, later
