"""The k best items for each request, from blocks of scores: the last step of every retriever that scores items.

The eligibility rules are the same for all retrievers: if the data has times, an item is eligible once it was created or
clicked before the request; items that the user has seen are dropped or kept according to the setting ``seen``; a
request may allow some items only. Ties are broken by the item's number, which follows the raw id, never by the order of
the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from recx.core.compiled import compiled
from recx.core.entities import UNKNOWN_TIME
from recx.core.errors import RecxError
from recx.core.memo import once_per_input
from recx.core.precision import Reals, floats_of
from recx.core.progress import track
from recx.core.protocols import Seen
from recx.core.ragged import blocks, indptr_of, rows_of_groups
from recx.core.stored_lists import concat
from recx.core.system.threads import available, side_by_side
from recx.core.types import Array, Bools, Floats, Interactions, Ints, Longs, RankedLists, Requests
from recx.parts.shared.heap import push, sort_heap

Scores = Any
"""Floats [n_lists, n_items]: a dense array (-inf: not eligible), a CSR (not stored: not eligible), or ``OfItems``."""

CELLS = 16_000_000  # cells of one block of scores: 64 MB


@dataclass(frozen=True, eq=False)
class OfItems:
    """Scores of a subset of the items.

    Attributes:
        score: The scores [n_lists, n].
        item: Numbers of the items, increasing [n].
    """

    score: Reals
    item: Longs


class Rules(NamedTuple):
    """Which items may be shown, as arrays for kernels; the first two are empty if there are no times and all may.

    Attributes:
        since: Time in ms from which on each item is eligible [n_items]; later than all if it is not allowed.
        now: Time of each request [n_lists].
        user: The user of each request [n_lists].
        indptr: Borders of the users' events that are hidden [n_users + 1].
        seen: The items of those events.
    """

    since: Longs
    now: Longs
    user: Ints
    indptr: Longs
    seen: Ints


@dataclass(frozen=True, eq=False)
class Eligibility:
    """Which items may be shown at a request.

    Attributes:
        history: The events before the requests.
        seen: Whether items of the user's history are dropped or kept.
    """

    history: Interactions
    seen: Seen

    @property
    def since(self) -> Longs | None:
        """Time in ms when each item was created or first clicked [n_items]; None if the data has no times.

        Raises:
            ValueError: An array of times was given that does not have a time for each item.
        """
        if self.history.time is None:
            return None
        since = _eligible_since(self.history)
        if len(since) != self.history.n_items:
            raise ValueError(f"{len(since)} times for {self.history.n_items} items")
        return since

    def seen_pairs(self, requests: Requests) -> tuple[Longs, Ints]:
        """Return (list, item) of all events in the histories of the requests' users."""
        rows = rows_of_groups(self.history.indptr, requests.user)
        return np.repeat(np.arange(len(requests)), self.history.lengths[requests.user]), self.history.item[rows]

    def rules(self, requests: Requests) -> Rules:
        """Return what kernels need to know of these requests."""
        since, now, none = self.since, requests.time, np.zeros(0, dtype=np.int64)
        if since is None or now is None:
            since, now = none, none
        if requests.allowed is not None:
            timed = len(now) > 0 or not len(requests)
            now = now if timed else np.ones(len(requests), dtype=np.int64)
            since = np.where(requests.allowed, since if timed else 0, UNKNOWN_TIME)
        events = (self.history.indptr, self.history.item)
        if self.seen == "keep":
            events = (np.zeros(self.history.n_users + 1, dtype=np.int64), none.astype(np.int32))
        return Rules(since, now, requests.user, *events)

    def hidden(self, requests: Requests) -> Bools:
        """Return the mask of the items that are not eligible [n_lists, n_items].

        Args:
            requests: The requests [n_lists].
        """
        if self.since is not None and requests.time is not None:
            mask: Bools = self.since >= requests.time[:, None]
        else:
            mask = np.zeros((len(requests), self.history.n_items), dtype=bool)
        if requests.allowed is not None:
            mask[:, ~requests.allowed] = True
        if self.seen == "drop":
            mask[self.seen_pairs(requests)] = True
        return mask


@once_per_input
def _eligible_since(history: Interactions) -> Longs:
    created = history.items.table.get("created_at")
    return history.first_seen if created is None else np.minimum(created, history.first_seen)


def top_k(
    score: Callable[[Requests], Scores], history: Interactions, requests: Requests, k: int, seen: Seen
) -> RankedLists:
    """Return the ``k`` best eligible items of each request.

    Args:
        score: Returns the scores of a block of requests.
        history: The events before the requests.
        requests: The requests.
        k: Length of the lists; a list is shorter if fewer items are eligible.
        seen: Whether items of the user's history are dropped or kept.

    Raises:
        RecxError: A score is NaN.
    """
    eligibility = Eligibility(history, seen)

    def best(block: Requests) -> RankedLists:
        table, rules = score(block), eligibility.rules(block)
        if sparse.issparse(table):
            found = best_of_lists(table.data, table.indptr, table.indices, history.n_items, rules, k)
        else:
            of = table if isinstance(table, OfItems) else OfItems(table, np.arange(table.shape[1]))
            found = _best_dense(of.score, of.item, history.n_items, rules, k)
        return lists_of(block.user, *found)

    borders = list(blocks(len(requests), max(1, CELLS // max(1, history.n_items))))
    if len(borders) == 1:
        return best(requests)
    return concat(best(requests[a:b]) for a, b in track(borders, "blocks of requests"))


def lists_by_pieces(
    user: Ints, k: int, at_once: int, write: Callable[[slice, Ints, Floats, Longs], None]
) -> RankedLists:
    """Return the lists of these users, which ``write`` writes piece by piece, side by side on threads.

    Args:
        user: The users [n_lists].
        k: The longest length of a list.
        at_once: How many lists are a piece.
        write: Gets which lists a piece has, and writes their items and scores [n, k] and their numbers of items [n].
    """
    n_lists = len(user)
    item, score = np.empty((n_lists, k), dtype=np.int32), np.empty((n_lists, k), dtype=np.float32)
    length = np.zeros(n_lists, dtype=np.int64)

    def piece(borders: tuple[int, int]) -> None:
        some = slice(*borders)
        write(some, item[some], score[some], length[some])

    side_by_side(piece, blocks(n_lists if k else 0, at_once))
    return lists_of(user, length, item, score)


def lists_of(user: Ints, length: Longs, item: Ints, score: Reals) -> RankedLists:
    """Return the lists of these users, given the items and scores [n_lists, k] of which the first ``length`` count."""
    return RankedLists(user, indptr_of(length), _first(length, item), _first(length, score))


def _first(length: Longs, table: Array) -> Array:
    """Return the first ``length`` [n_lists] numbers of each row, row after row; without copying if they are all."""
    width = table.shape[1]
    return table.ravel() if (length == width).all() else table[np.arange(width) < length[:, None]]


def top_of_table(table: Array, k: int) -> tuple[Longs, Ints, Reals]:
    """Return the ``k`` largest entries of each row, ties broken by column, -inf left out.

    Scores of another type than float32 are ranked as float64.

    Returns:
        The number of entries of each row [n_lists], and the columns and scores of all entries, row after row.

    Raises:
        RecxError: A score is NaN.
        InputError: A score is a whole number that float64 does not hold.
    """
    none = np.zeros(0, dtype=np.int64)
    rules = Rules(none, none, np.zeros(len(table), np.int32), np.zeros(2, np.int64), none.astype(np.int32))
    length, column, score = _best_dense(table, np.arange(table.shape[1]), table.shape[1], rules, k)
    return length, _first(length, column), _first(length, score)


def _best_dense(table: Array, numbers: Array, n_items: int, rules: Rules, k: int) -> tuple[Longs, Ints, Reals]:
    borders = np.arange(len(table) + 1) * table.shape[1]
    return best_of_lists(np.ravel(table), borders, numbers, n_items, rules, min(k, table.shape[1]))


def best_of_lists(
    entries: Array, borders: Array, numbers: Array, n_items: int, rules: Rules, k: int
) -> tuple[Longs, Ints, Reals]:
    """Return the length of each list [n_lists], and the items and scores of the lists [n_lists, k], best first.

    Args:
        entries: The scores of list after list [n].
        borders: Where the entries of each list begin, and the end [n_lists + 1].
        numbers: The item of each entry [n], or, if all lists have the same items, of each entry of a list.
        n_items: The number of items.
        rules: Which items may be shown.
        k: The longest length of a list.

    Raises:
        RecxError: A score is NaN.
        InputError: A score is a whole number that float64 does not hold.
    """
    entries = floats_of(entries, "scores of the retriever")
    borders, numbers = borders.astype(np.int64, copy=False), numbers.astype(np.int32, copy=False)
    n_lists = len(borders) - 1
    item, score = np.empty((n_lists, k), dtype=np.int32), np.empty((n_lists, k), dtype=entries.dtype)
    length = np.zeros(n_lists, dtype=np.int64)

    def find(piece: tuple[int, int]) -> int:
        start, stop = piece
        made = (item[start:stop], score[start:stop], length[start:stop])
        own = rules._replace(now=rules.now[start:stop], user=rules.user[start:stop])
        return _best_entries(entries, borders[start : stop + 1], numbers, n_items, own, *made)

    pieces = list(blocks(n_lists if k else 0, max(1, -(-n_lists // available()))))
    if any(side_by_side(find, pieces)):
        raise RecxError("a score of the retriever is NaN: its model did not converge, or its data contains NaN")
    return length, item, score


@compiled("item", "score", "length")
def _best_entries(
    entries: Reals,
    borders: Longs,
    numbers: Ints,
    n_items: int,
    rules: Rules,
    item: Ints,
    score: Reals,
    length: Longs,
) -> bool:
    """Write the best entries of each list into ``item`` and ``score`` [n_lists, k], their number into ``length``.

    Returns:
        Whether an entry that may be shown is NaN. (For the other arguments see ``best_of_lists``.)
    """
    k, shared = item.shape[1], len(numbers) != len(entries)
    hidden_in = np.full(n_items, -1, dtype=np.int32)
    for at in range(len(borders) - 1):
        for event in range(rules.indptr[rules.user[at]], rules.indptr[rules.user[at] + 1]):
            hidden_in[rules.seen[event]] = at
        best, best_item, size, first = score[at], item[at], 0, borders[at]
        for entry in range(first, borders[at + 1]):
            value = entries[entry]
            if value == -np.inf or (size == k and value < best[0]):
                continue
            number = numbers[entry - first] if shared else numbers[entry]
            if hidden_in[number] == at or (len(rules.now) > 0 and rules.since[number] >= rules.now[at]):
                continue
            if value != value:
                return True
            if size < k or value > best[0] or number < best_item[0]:
                size = push(best, best_item, size, k, value, number)
        sort_heap(best, best_item, size)
        length[at] = size
    return False
