"""The most clicked items as of each request, in one sweep over the clicks: kernels.

Each click changes the total of one item. A pool holds the best items, all those that reach a bar, so that a request
reads its list off the pool; it looks at the other items only if its user has seen too much of the pool.

With a half-life, a click weighs 2^(half-lives since the start of its epoch) and totals are relative to the start of the
current epoch: a total does not change as time passes, and neither does the order of the items. An epoch lasts ``SPAN``
half-lives, far longer than any click counts; when the next one begins, all totals are divided by 2^SPAN, which is
exact. So totals follow from the clicks alone, to the last bit, whichever requests share a sweep.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recx.core.compiled import compiled
from recx.core.precision import Reals
from recx.core.types import Bools, Doubles, Ints, Longs
from recx.parts.shared.click_sweep import SPAN, Clicks, Marks, Totals, advance, first_epoch
from recx.parts.shared.heap import push, sort_heap
from recx.parts.shared.top_k import Rules

GRID = 2.0**29 + 1  # rounds a float64 to the 24 bits of a float32, see ``rounded``


class Pool(NamedTuple):
    """The best items.

    Attributes:
        score: Their scores, best first after ``settle`` [n].
        item: Their numbers [n].
        aside: Room for the scores of those that ``settle`` sorts [n].
        aside_item: Room for their numbers [n].
        holds: Whether each item is in the pool [n_items].
    """

    score: Doubles
    item: Ints
    aside: Doubles
    aside_item: Ints
    holds: Bools


@compiled("item", "score", "length")
def most_clicked(
    clicks: Clicks,
    marks: Marks,
    before: Longs,
    place: Longs,
    rules: Rules,
    clicked: Ints,
    n_items: int,
    spare: int,
    item: Ints,
    score: Reals,
    length: Longs,
) -> None:
    """Write the best items of requests, which come in the order of time, each into the list ``place`` [n].

    Args:
        clicks: The clicks.
        marks: Where the sweep may go on.
        before: Number of clicks before each request [n].
        place: The number of each request's list [n].
        rules: Time and user of each request, and what users must not get; times are read if there is a reach.
        clicked: The items with a click, increasing.
        n_items: The number of items.
        spare: How many items the pool holds at least beyond the length of a list.
        item: The items of the lists, to write into [n_lists, k], k at least 1.
        score: Their scores, to write into [n_lists, k].
        length: The number of items of each list, to write into [n_lists].
    """
    k, span = item.shape[1], SPAN * clicks.half_life
    n, least = len(clicked), k + spare
    totals = Totals(np.zeros(n_items), np.zeros(n_items, dtype=np.int32), GRID if span > 0 else 0.0)
    holds, hidden_in, listed = np.zeros(n_items, dtype=np.bool_), np.full(n_items, -1, dtype=np.int32), np.empty(k)
    pool = Pool(np.empty(n), np.empty(n, dtype=np.int32), np.empty(n), np.empty(n, dtype=np.int32), holds)
    size, bar, bar_item, gone, added, start = 0, 0.0, -1, 0, 0, first_epoch(clicks)
    for at in range(len(before)):
        mark = np.searchsorted(marks.added, before[at], side="right") - 1
        ahead = mark >= 0 and marks.added[mark] - added > n
        if ahead:
            gone, added, start = marks.gone[mark], marks.added[mark], marks.start[mark]
            totals.weight[:], totals.clicks[:] = marks.weight[mark], marks.clicks[mark]
        now, old, changes = rules.now[at] if clicks.reach >= 0 else 0, added, added + gone
        start, gone = advance(clicks, totals, before[at], now, start, gone, added)
        added = before[at]
        stale = ahead or added + gone - changes > n
        if not stale:
            # After a new epoch the bar is far too high, so that nothing is left in the pool.
            size, bar, bar_item = settle(clicks.item[max(old, gone) : added], totals, pool, least, size, bar, bar_item)
        if stale or (size < least and bar > 0):
            size, bar, bar_item = refill(totals, pool, clicked, hidden_in, 2 * least, size)
        for event in range(rules.indptr[rules.user[at]], rules.indptr[rules.user[at] + 1]):
            hidden_in[rules.seen[event]] = at
        own, scores, found = item[place[at]], score[place[at]], 0
        for p in range(size):
            if found == k:
                break
            if hidden_in[pool.item[p]] != at:
                own[found], listed[found] = pool.item[p], pool.score[p]
                found += 1
        if found < k and bar > 0:
            found = choose(totals, clicked, hidden_in, at, k, own, listed)
        faded = np.exp2((start - now) / clicks.half_life) if span > 0 else 1.0
        for p in range(found):
            scores[p] = listed[p] * faded
        length[place[at]] = found


@compiled()
def reaches(value: float, one: int, bar: float, bar_item: int) -> bool:
    """Return whether an item is as good as the item that set the bar."""
    return value > bar or (value == bar and one <= bar_item)


@compiled()
def rounded(totals: Totals, one: int) -> float:
    """Return an item's total rounded to 24 bits if weights fade (Dekker 1971).

    Sums of the same weights differ in their last bits by what was added and taken off in between; items must tie.
    """
    value = float(totals.weight[one])
    return totals.grid * value - (totals.grid * value - value)


@compiled("pool")
def settle(
    new: Ints, totals: Totals, pool: Pool, least: int, size: int, bar: float, bar_item: int
) -> tuple[int, float, int]:
    """Take clicked items that reach the bar into the pool, drop those that fell below it, and put the pool into order.

    What is out of order is set aside, sorted by a heap and merged. If more than three times the ``least`` is left, the
    bar is raised.

    Returns:
        The number of items in the pool, and the bar.
    """
    score, item, aside, aside_item, holds = pool
    n, kept, m = len(item), 0, 0
    for one in new:
        value = rounded(totals, one)
        if not holds[one] and reaches(value, one, bar, bar_item):
            holds[one] = True
            m = push(aside, aside_item, m, n, value, one)
    for p in range(size):
        one = item[p]
        value = rounded(totals, one)
        holds[one] = reaches(value, one, bar, bar_item)
        if not holds[one]:
            continue
        if kept > 0 and reaches(value, one, score[kept - 1], item[kept - 1]):
            kept -= 1  # one of the two has moved, whichever it is
            m = push(aside, aside_item, m, n, score[kept], item[kept])
            m = push(aside, aside_item, m, n, value, one)
        else:
            score[kept], item[kept] = value, one
            kept += 1
    sort_heap(aside, aside_item, m)
    size, p = kept + m, kept - 1
    while m > 0:
        if p >= 0 and reaches(aside[m - 1], aside_item[m - 1], score[p], item[p]):
            score[p + m], item[p + m] = score[p], item[p]
            p -= 1
        else:
            m -= 1
            score[p + m + 1], item[p + m + 1] = aside[m], aside_item[m]
    if size > 3 * least:
        for p in range(2 * least, size):
            holds[item[p]] = False
        size = 2 * least
        bar, bar_item = score[size - 1], item[size - 1]
    return size, bar, bar_item


@compiled("pool")
def refill(
    totals: Totals, pool: Pool, clicked: Ints, hidden_in: Ints, wanted: int, size: int
) -> tuple[int, float, int]:
    """Fill the pool with the ``wanted`` best of all items.

    Returns:
        The number of items in the pool, and the bar: 0 if every item that counts is in the pool.
    """
    for p in range(size):
        pool.holds[pool.item[p]] = False
    size = choose(totals, clicked, hidden_in, -2, wanted, pool.item, pool.score)
    for p in range(size):
        pool.holds[pool.item[p]] = True
    if size < wanted:
        return size, 0.0, -1
    return size, pool.score[size - 1], pool.item[size - 1]


@compiled("item", "score")
def choose(totals: Totals, clicked: Ints, hidden_in: Ints, request: int, k: int, item: Ints, score: Doubles) -> int:
    """Write the best ``k`` of all items that are not hidden in a request, best first, and return how many."""
    size = 0
    for one in clicked:
        value = rounded(totals, one)
        # Items come by increasing number: of equal ones, those that came first stay.
        if value > 0 and (size < k or value > score[0]) and hidden_in[one] != request:
            size = push(score, item, size, k, value, one)
    sort_heap(score, item, size)
    return size
