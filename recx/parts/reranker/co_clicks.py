"""Marginal relevance with items alike that the same users clicked, as of each request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.compiled import compiled
from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import InputError
from recx.core.memo import once_per_input
from recx.core.ragged import blocks, repeats
from recx.core.system.threads import side_by_side
from recx.core.types import Doubles, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.reranker.marginal import next_place, rest
from recx.parts.reranker.places import LISTS
from recx.parts.shared.click_counts import PairCounter, count_pairs, pair_counter
from recx.parts.shared.item_clicks import ItemClicks, item_clicks


@dataclass(frozen=True, eq=False)
class CoClicked:
    """Which users clicked which items.

    Attributes:
        both: Counts the users who clicked two items.
        each: Counts the users who clicked an item.
    """

    both: PairCounter
    each: ItemClicks


@once_per_input
def clicked_together(history: Interactions, distance: int) -> CoClicked:
    """Return the counts of a history, in which the first click of a user on an item counts.

    Args:
        history: The events.
        distance: Largest distance between two items in a user's sequence of first clicks.

    Raises:
        InputError: No user clicked two items.
    """
    first = history.keep(~repeats(history.item, history.indptr))
    both = pair_counter(first, distance, True)
    if not len(both.entry):
        raise InputError(
            "reranker.similarity=co_clicks, and no user of this data has clicked two items: write "
            "reranker.similarity=text, if the items have texts, or choose another reranker"
        )
    return CoClicked(both, item_clicks(first))


def order_by_co_clicks(
    counts: CoClicked,
    lists: RankedLists,
    requests: Requests,
    relevant: Doubles,
    share: float,
    top: int,
    score: Doubles,
) -> None:
    """Write the marginal relevance of each item when it got its place into ``score`` [n_rows].

    Args:
        counts: Who clicked the items.
        lists: The lists.
        requests: Their requests.
        relevant: The relevance of each row [n_rows].
        share: Share of the relevance.
        top: Number of places that are filled.
        score: Takes the scores.
    """
    both = counts.both
    now = np.full(len(requests), UNKNOWN_TIME) if requests.time is None else requests.time
    tick = np.searchsorted(both.times, now)
    users = counts.each.within(lists, requests, None)

    def order(piece: tuple[int, int]) -> None:
        start, stop = piece
        stored = (both.indptr, both.entry, both.clicks)
        borders = lists.indptr[start : stop + 1]
        _order(*stored, borders, lists.item, tick[start:stop], users, relevant, share, top, score)

    side_by_side(order, blocks(lists.n_lists, LISTS))


@compiled("score")
def _order(
    indptr: Longs,
    entry: Longs,
    clicks: Longs,
    borders: Longs,
    item: Ints,
    tick: Longs,
    users: Longs,
    relevant: Doubles,
    share: float,
    top: int,
    score: Doubles,
) -> None:
    """Write the marginal relevance of each item when it got its place into ``score`` [n_rows].

    Args:
        indptr: Borders of the entries of each item [n_items + 1].
        entry: The pairs of items (see ``PairCounter``).
        clicks: The clicks on each item [n_items].
        borders: Borders of the lists [n_lists + 1].
        item: The item of each row.
        tick: The tick of each list.
        users: The users who clicked the item of each row.
        relevant: The relevance of each row.
        share: Share of the relevance.
        top: Number of places that are filled.
        score: Takes the scores.
    """
    for at in range(len(borders) - 1):
        start, stop = borders[at], borders[at + 1]
        nearest, done = np.zeros(stop - start), np.zeros(stop - start, dtype=np.bool_)
        whole = np.array([0, stop - start])
        for _ in range(min(top, stop - start)):
            best = next_place(relevant[start:stop], nearest, share, done, score[start:stop])
            together = np.zeros(stop - start, dtype=np.int64)
            chosen = item[start + best : start + best + 1]
            count_pairs(indptr, entry, clicks, True, chosen, item[start:stop], whole, tick[at : at + 1], together)
            for row in range(stop - start):
                if together[row] > 0:
                    cosine = together[row] / np.sqrt(users[start + best] * users[start + row])
                    nearest[row] = max(nearest[row], cosine)
        rest(relevant[start:stop], done, score[start:stop])
