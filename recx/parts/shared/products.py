"""Products of vectors, dense or sparse: of all, of pairs, and of the rows of lists."""

from __future__ import annotations

import numpy as np

from recx.core.compiled import compiled
from recx.core.ragged import blocks, check_numbers
from recx.core.system.threads import side_by_side
from recx.core.types import Floats, Ints, Longs, RankedLists, Vectors

ROWS = 50_000  # pairs whose vectors are in memory at once
LISTS = 2_000  # lists whose products with all items are in memory at once
FEW = 2_000  # up to this many items, products with all of them are faster than products pair by pair


def products(users: Vectors, items: Vectors) -> Floats:
    """Return the product of each user's vector with each item's vector, dense [n, m]."""
    found = users @ items.T
    return np.asarray(found if isinstance(found, np.ndarray) else found.toarray(), dtype=np.float32)


def products_of_pairs(users: Vectors, user: Longs, items: Vectors, item: Ints) -> Floats:
    """Return the product of row ``user[i]`` and row ``item[i]`` for each pair [n]."""
    found = np.empty(len(user), dtype=np.float32)

    def multiply(pairs: tuple[int, int]) -> bool:
        start, stop = pairs
        if isinstance(users, np.ndarray):
            return _multiply_pairs(users, user[start:stop], items, item[start:stop], found[start:stop])
        check_numbers(user[start:stop], users.shape[0])
        check_numbers(item[start:stop], items.shape[0])
        one, other = users[user[start:stop]], items[item[start:stop]]
        found[start:stop] = np.asarray(one.multiply(other).sum(axis=1)).ravel()
        return True

    if not all(side_by_side(multiply, list(blocks(len(user), ROWS)))):
        raise ValueError(f"numbers of rows that are not all among {users.shape[0]} and {items.shape[0]}")
    return found


@compiled("found")
def _multiply_pairs(users: Floats, user: Longs, items: Floats, item: Ints, found: Floats) -> bool:
    """Write the product of row ``user[i]`` and row ``item[i]`` for each pair into ``found`` [n].

    Four sums instead of one: an addition need not wait for the one before it.

    Returns:
        Whether there are all these rows.
    """
    d = users.shape[1]
    whole = d - d % 4
    for pair in range(len(user)):
        u, i = user[pair], item[pair]
        if u < 0 or u >= len(users) or i < 0 or i >= len(items):
            return False
        a = b = c = rest = np.float32(0)
        for at in range(0, whole, 4):
            a += users[u, at] * items[i, at]
            b += users[u, at + 1] * items[i, at + 1]
            c += users[u, at + 2] * items[i, at + 2]
            rest += users[u, at + 3] * items[i, at + 3]
        for at in range(whole, d):
            rest += users[u, at] * items[i, at]
        found[pair] = (a + b) + (c + rest)
    return True


def products_of_lists(lists: RankedLists, queries: Vectors, items: Vectors) -> Floats:
    """Return the product of the query and the item of each row.

    Args:
        lists: The lists.
        queries: One vector per list [n_lists, d].
        items: The vectors of all items [n_items, d].

    Returns:
        The products [n_rows].
    """
    if isinstance(items, np.ndarray) or items.shape[0] > FEW:
        return products_of_pairs(queries, lists.list_of_row, items, lists.item)
    found = np.empty(len(lists), dtype=np.float32)
    for start, stop in blocks(lists.n_lists, LISTS):
        rows = slice(int(lists.indptr[start]), int(lists.indptr[stop]))
        whole = products(queries[start:stop], items)
        found[rows] = whole[lists.list_of_row[rows] - start, lists.item[rows]]
    return found
