"""Lists of the items whose stored weights from a user's clicked items add up to the most.

A part that learns such a table of weights, item by item, is fitted as ``ItemWeights``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from recx.core.compiled import compiled
from recx.core.errors import InputError
from recx.core.memo import once_per_input
from recx.core.protocols import Seen
from recx.core.ragged import check_borders, check_numbers, indptr_of
from recx.core.row_order import borders_and_rows
from recx.core.similar import Similar
from recx.core.types import Array, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.heap import push, sort_heap
from recx.parts.shared.top_k import Eligibility, Rules, lists_by_pieces

LISTS = 10_000  # requests answered by one thread at a time


@dataclass(frozen=True, eq=False)
class ItemWeights:
    """A fitted retriever: every item that a user has clicked counts once, however often and whenever.

    Attributes:
        part: The retriever that was fitted, such as ``retriever=slim``.
        weights: CSR [n_items, n_items] of positive numbers; row: the clicked item, column: the item to recommend.
        seen: Whether items that the user has clicked are dropped or kept.
    """

    part: str
    weights: Any
    seen: Seen

    def for_users(self, history: Interactions) -> ItemWeights:
        return self

    def similar(self, item: int, k: int) -> Similar:
        """Return the items with the largest weights from this one."""
        row = slice(self.weights.indptr[item], self.weights.indptr[item + 1])
        return Similar.best(self.weights.indices[row], self.weights.data[row], k)

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return the items with the largest sums of weights; an item without any is not retrieved."""
        clicks = distinct_clicks(history)
        worth = np.ones(int(np.diff(clicks.indptr).max(initial=0)), dtype=np.float32)
        return best_of_weights(self.part, self.weights, clicks, worth, history, requests, k, self.seen)


@dataclass(frozen=True, eq=False)
class DistinctClicks:
    """What each user has clicked, once each.

    Attributes:
        indptr: Borders of the users' items [n_users + 1].
        item: The items, rising within a user [n].
    """

    indptr: Longs
    item: Ints

    def check_read(self) -> None:
        check_borders(self.indptr, len(self.item))
        check_numbers(self.item, np.iinfo(np.int32).max)

    def by_item(self, n_items: int) -> tuple[Longs, Ints]:
        """Return the borders of items [n_items + 1] and their users [n], rising within an item."""
        users = np.repeat(np.arange(len(self.indptr) - 1, dtype=np.int32), np.diff(self.indptr))
        borders, rows = borders_and_rows(self.item, n_items)
        return borders, users[rows]


@once_per_input
def distinct_clicks(history: Interactions) -> DistinctClicks:
    """Return what each user has clicked, once each."""
    return distinct_pairs(history.user, history.item, history.n_users, history.n_items)


def distinct_pairs(user: Array, item: Ints, n_users: int, n_items: int) -> DistinctClicks:
    """Return the items of each user, once each, from pairs of a user and an item [n] in any order."""
    pairs = np.unique(user.astype(np.int64) * max(n_items, 1) + item)
    users, items = np.divmod(pairs, max(n_items, 1))
    return DistinctClicks(indptr_of(np.bincount(users, minlength=n_users)), items.astype(np.int32))


def best_of_weights(
    part: str,
    weights: Any,
    clicks: DistinctClicks | Interactions,
    worth: Floats,
    history: Interactions,
    requests: Requests,
    k: int,
    seen: Seen,
) -> RankedLists:
    """Return the items with the largest weighted sums of weights from a user's last clicks.

    Args:
        part: The retriever that has the weights, such as ``retriever=item_knn``.
        weights: CSR [n_items, n_items]; row: the clicked item, column: the item to recommend.
        clicks: The clicks of each user that are scored against, the last of them being the newest.
        worth: The worth of a user's last click, of the one before, and so on; further ones count nothing.
        history: What is known.
        requests: The requests.
        k: Items of a list at most.
        seen: Whether items that the user has clicked are dropped or kept.

    Raises:
        InputError: The weights are those of other items.
    """
    if weights.shape != (history.n_items, history.n_items):
        raise InputError(
            f"{part} was fitted on {weights.shape[0]} items, and this history has {history.n_items}: use one of the "
            "same items"
        )
    eligibility = Eligibility(history, seen)
    table = (weights.indptr.astype(np.int64), weights.indices, weights.data)

    def write(some: slice, item: Ints, score: Floats, length: Longs) -> None:
        rules = eligibility.rules(requests[some])
        _retrieve(*table, worth, clicks.indptr, clicks.item, rules, item, score, length)

    return lists_by_pieces(requests.user, k, LISTS, write)


@compiled("item", "score", "length")
def _retrieve(
    borders: Longs,
    neighbour: Ints,
    weight: Floats,
    worth: Floats,
    indptr: Longs,
    clicked: Ints,
    rules: Rules,
    item: Ints,
    score: Floats,
    length: Longs,
) -> None:
    """Write the best items of each request into ``item`` and ``score`` [n_lists, k], their number into ``length``.

    Args:
        borders: Where the neighbours of each item begin [n_items + 1].
        neighbour: The neighbours [n].
        weight: Their weights [n].
        worth: The weight of a user's last click, of the one before, and so on [last].
        indptr: Borders of the users' events [n_users + 1].
        clicked: The items of those events.
        rules: Which items may be shown.
        item: The items found, to write into.
        score: Their scores, to write into.
        length: The number of items of each list, to write into [n_lists].
    """
    k, n_items = item.shape[1], len(borders) - 1
    total, touched = np.zeros(n_items, dtype=np.float32), np.empty(n_items, dtype=np.int32)
    for at in range(len(length)):
        user, n = rules.user[at], 0
        newest = indptr[user + 1] - 1
        for back in range(min(len(worth), newest + 1 - indptr[user])):
            query = clicked[newest - back]
            for place in range(borders[query], borders[query + 1]):
                near, value = neighbour[place], worth[back] * weight[place]
                if total[near] == 0 and value > 0:
                    touched[n] = near
                    n += 1
                total[near] += value
        for event in range(rules.indptr[user], rules.indptr[user + 1]):
            total[rules.seen[event]] = 0
        best, best_item, size = score[at], item[at], 0
        for place in range(n):
            near = touched[place]
            value = total[near]
            total[near] = 0
            if (
                value == 0
                or (size == k and value < best[0])
                or (len(rules.now) > 0 and rules.since[near] >= rules.now[at])
            ):
                continue
            if size < k or value > best[0] or near < best_item[0]:
                size = push(best, best_item, size, k, value, near)
        sort_heap(best, best_item, size)
        length[at] = size
