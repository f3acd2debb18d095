"""The order of events without times: of the rows, unless they show that they are sorted by item."""

from __future__ import annotations

import re
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from recx.core.errors import InputError
from recx.core.ragged import group_of_rows, indptr_of, rows_of_groups, sum_of_groups

Array = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]
EventOrder = Literal["auto", "given", "none"]
"""``given``: the order of the rows is that of time. ``none``: they have no order. ``auto``: given, if it can be."""

LONG = 3
"""Distinct items of a user from which an order by item says something."""
NEARLY_ALL = 0.9
LEAST = 6.0
"""Events are taken to be sorted if chance would do that once in ten to this power."""
SAMPLE = 2_000
"""Users that are looked at."""


def rows_in_order(indptr: Longs, item: Array, ids: Array, order: EventOrder, seed: int = 0) -> Longs | None:
    """Return the rows of events without times in the order that they have; None: as they are.

    Args:
        indptr: Borders of the users' events [n_users + 1].
        item: The number of each event's item [n].
        ids: The raw ids of the items.
        order: What is known of the order; ``none`` orders the events of each user at random.
        seed: Seed of the random order.

    Raises:
        InputError: ``order`` is ``auto``, and nearly all users have their items sorted by id.
    """
    if order == "none":
        return np.lexsort((np.random.default_rng(seed).random(len(item)), group_of_rows(indptr)))
    if order == "auto":
        _refuse_sorted(indptr, item, ids)
    return None


def _refuse_sorted(indptr: Longs, item: Array, ids: Array) -> None:
    long = np.flatnonzero(np.diff(indptr) >= LONG)
    long = long[:: len(long) // SAMPLE + 1]
    if not len(long):
        return
    borders = indptr_of(np.diff(indptr)[long])
    used, place = np.unique(item[rows_of_groups(indptr, long)], return_inverse=True)
    for rank in _ranks(ids[used]):
        for direction in (1, -1):
            n_sorted, n_long, doubt = _sorted(direction * rank[place], borders)
            if n_long and n_sorted >= NEARLY_ALL * n_long and doubt >= LEAST:
                raise InputError(
                    f"the events have no times, and {n_sorted} of {n_long} users with {LONG} or more items have them "
                    "sorted by id: set order=given if that is the order of time, or order=none if they have no order, "
                    "as in lists of neighbours, and should get a random one (dataset.order=none on the command line, "
                    "--order none for recx init)"
                )


def _ranks(ids: Array) -> list[Longs]:
    """Return the places of ids [n] sorted as such and, of texts, also with numbers in them sorted as numbers."""

    def places(keys: list[Any]) -> Longs:
        rank = np.empty(len(keys), dtype=np.int64)
        rank[sorted(range(len(keys)), key=keys.__getitem__)] = np.arange(len(keys))
        return rank

    if ids.dtype.kind in "iuf":
        return [places(ids.tolist())]
    texts = [str(text) for text in ids]
    numbered = [[(int(part or 0), word) for word, part in re.findall(r"(\D*)(\d*)", text)] for text in texts]
    by_word = [[(word, number) for number, word in parts] for parts in numbered]
    return [places(texts), places(by_word)]


def _sorted(rank: Longs, indptr: Longs) -> tuple[int, int, float]:
    """Return how many lists rise, how many could, and the logarithm of how rarely chance makes them rise."""
    step = np.diff(rank, prepend=rank[:1])
    step[indptr[:-1]] = 0
    rising = sum_of_groups((step < 0).astype(np.float64), indptr) == 0
    distinct = 1 + sum_of_groups((step != 0).astype(np.float64), indptr).astype(np.int64)
    told = rising & (distinct >= LONG)
    could = told | ~rising
    ways = np.cumsum(np.log10(np.maximum(1, np.arange(int(distinct.max()) + 1))))
    return int(told.sum()), int(could.sum()), float(ways[distinct[told]].sum())
