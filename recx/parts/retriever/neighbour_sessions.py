"""The loops of ``retriever=vsknn``: the most recent sessions with an item of the current one, and their votes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from recx.core.compiled import compiled
from recx.core.types import Array, Doubles, Floats, Ints, Longs
from recx.parts.shared.heap import push, sort_heap
from recx.parts.shared.top_k import Rules

NEVER = 2**62
"""A pause in ms that no session has."""


class Sessions(NamedTuple):
    """Sessions, each in the order of time.

    Attributes:
        indptr: Borders of the sessions' clicks [n_sessions + 1].
        item: The item of each click [n].
        time: The time of each click [n].
        session: The session of each click [n].
        rows: The clicks by item, newest last [n].
        borders: Where the clicks on each item begin in ``rows`` [n_items + 1].
    """

    indptr: Longs
    item: Ints
    time: Longs
    session: Ints
    rows: Array
    borders: Longs


class Formula(NamedTuple):
    """The settings of ``VSkNN`` as numbers.

    Attributes:
        neighbours: Number of sessions that vote.
        sample: Number of sessions that are compared.
        weight: Weight of the last click of the current session, of the one before, and so on [last]; empty: by place.
        decay: Factor if the last shared click is the last of the current session, the one before, and so on [last].
        cosine: Whether the similarity is divided by the lengths of both vectors.
        position_decay: Factor for each place from the neighbour's last shared click.
        half_life: Age in ms that halves a similarity.
        rarity: Factor of each item [n_items].
        gap: Pause in ms after which a session ends.
    """

    neighbours: int
    sample: int
    weight: Doubles
    decay: Doubles
    cosine: bool
    position_decay: float
    half_life: float
    rarity: Doubles
    gap: int


class Asking(NamedTuple):
    """Who asks, and when.

    Attributes:
        indptr: Borders of the users' clicks [n_users + 1].
        item: The item of each of them.
        time: Its time; empty if there are no times.
        now: The time of each request [n_lists].
    """

    indptr: Longs
    item: Ints
    time: Longs
    now: Longs


@compiled("item", "score", "length")
def retrieve_from_sessions(
    stored: Sessions, formula: Formula, asking: Asking, rules: Rules, item: Ints, score: Floats, length: Longs
) -> None:
    """Write the best items of each request into ``item`` and ``score`` [n_lists, k], their number into ``length``."""
    k, n_items, last = item.shape[1], len(stored.borders) - 1, len(formula.decay)
    back = np.zeros(n_items, dtype=np.int32)  # of the current session's items: the place from its end, from 1
    weight, total = np.zeros(n_items), np.zeros(n_items)
    met = np.zeros(n_items, dtype=np.int64)  # the last comparison or vote that met each item
    sampled = np.full(len(stored.indptr), -1, dtype=np.int64)
    query, touched = np.empty(last, dtype=np.int32), np.empty(n_items, dtype=np.int32)
    session, end = np.empty(formula.sample, dtype=np.int32), np.empty(formula.sample, dtype=np.int64)
    n_near = min(formula.neighbours, formula.sample)
    near, nearness = np.empty(n_near, dtype=np.int32), np.empty(n_near)
    serial = 0
    for at in range(len(length)):
        user, now = rules.user[at], asking.now[at]
        stop = asking.indptr[user + 1]
        start = _start_of_session(asking, asking.indptr[user], stop, formula.gap)
        n_clicks = min(last, stop - start)
        n_query = 0
        square = 0.0
        for place in range(n_clicks):
            clicked = asking.item[stop - 1 - place]
            if back[clicked] == 0:
                back[clicked] = place + 1
                own = formula.weight[place] if len(formula.weight) > 0 else (n_clicks - place) / n_clicks
                weight[clicked] = own
                square += own * own
                query[n_query] = clicked
                n_query += 1
        found = _most_recent(stored, asking, start, stop, query[:n_query], now, at, sampled, session, end)
        n = 0
        for candidate in range(found):
            serial += 1
            shared, n_distinct = 0.0, 0
            for row in range(stored.indptr[session[candidate]], end[candidate]):
                other = stored.item[row]
                if met[other] != serial:
                    met[other] = serial
                    n_distinct += 1
                    shared += weight[other]
            similarity = shared / (np.sqrt(square * n_distinct) if formula.cosine else n_query)
            if formula.half_life < np.inf:
                similarity *= 2.0 ** (-(now - stored.time[end[candidate] - 1]) / formula.half_life)
            if similarity > 0:
                n = push(nearness, near, n, n_near, similarity, candidate)
        sort_heap(nearness, near, n)
        n_touched = 0
        for neighbour in range(n):
            serial += 1
            first, after = stored.indptr[session[near[neighbour]]], end[near[neighbour]]
            latest, pivot = last + 1, -1
            for row in range(first, after):
                if back[stored.item[row]] > 0:
                    latest, pivot = min(latest, back[stored.item[row]]), row
            vote = nearness[neighbour] * formula.decay[latest - 1]
            for row in range(after - 1, first - 1, -1):
                other = stored.item[row]
                if met[other] != serial:
                    met[other] = serial
                    value = vote * formula.rarity[other]
                    if formula.position_decay < 1:
                        value *= formula.position_decay ** abs(row - pivot)
                    if total[other] == 0 and value > 0:
                        touched[n_touched] = other
                        n_touched += 1
                    total[other] += value
        for place in range(n_query):
            back[query[place]], weight[query[place]] = 0, 0.0
        for event in range(rules.indptr[user], rules.indptr[user + 1]):
            total[rules.seen[event]] = 0
        best, best_item, size = score[at], item[at], 0
        for place in range(n_touched):
            other = touched[place]
            value = float(np.float32(total[other]))  # as it is stored
            total[other] = 0
            if value > 0 and (len(rules.now) == 0 or rules.since[other] < rules.now[at]):
                size = push(best, best_item, size, k, value, other)
        sort_heap(best, best_item, size)
        length[at] = size


@compiled()
def _start_of_session(asking: Asking, first: int, stop: int, gap: int) -> int:
    """Return where the session begins that ends before ``stop``."""
    start = stop
    while start > first:
        if start < stop and len(asking.time) > 0 and asking.time[start] - asking.time[start - 1] > gap:
            break
        start -= 1
    return start


@compiled("sampled", "session", "end")
def _most_recent(
    stored: Sessions,
    asking: Asking,
    start: int,
    stop: int,
    query: Ints,
    now: int,
    request: int,
    sampled: Longs,
    session: Ints,
    end: Longs,
) -> int:
    """Write the sessions whose clicks on items of the current one are the most recent, and where each ends at ``now``.

    One that has a single click by then says nothing of what goes together.

    Args:
        stored: The sessions.
        asking: The current session is ``start:stop`` of its clicks.
        start: The first click of the current session.
        stop: The end of it.
        query: Its items [n_query].
        now: The time of the request.
        request: The number of the request.
        sampled: The last request that looked at each session [n_sessions + 1].
        session: Takes the sessions, most recent first [sample].
        end: Takes the row after the last click of each before ``now`` [sample].

    Returns:
        The number of sessions.
    """
    pointer = np.empty(len(query), dtype=np.int64)
    for at in range(len(query)):
        low, high = stored.borders[query[at]], stored.borders[query[at] + 1]
        while low < high:
            middle = (low + high) // 2
            if stored.time[stored.rows[middle]] < now:
                low = middle + 1
            else:
                high = middle
        pointer[at] = low
    n = 0
    while n < len(session):
        newest, moment = -1, np.int64(0)
        for at in range(len(query)):
            if pointer[at] > stored.borders[query[at]]:
                time = stored.time[stored.rows[pointer[at] - 1]]
                if newest < 0 or time > moment:
                    newest, moment = at, time
        if newest < 0:
            break
        pointer[newest] -= 1
        number = stored.session[stored.rows[pointer[newest]]]
        if sampled[number] != request:
            sampled[number] = request
            first, after = stored.indptr[number], stored.indptr[number + 1]
            while stored.time[after - 1] >= now:
                after -= 1
            if after - first > 1 and not _is_beginning(stored, first, after, asking, start, stop):
                session[n], end[n] = number, after
                n += 1
    return n


@compiled()
def _is_beginning(stored: Sessions, first: int, after: int, asking: Asking, start: int, stop: int) -> bool:
    """Return whether a stored session is the beginning of the current one."""
    if after - first > stop - start:
        return False
    for at in range(after - first):
        row, own = first + at, start + at
        if stored.item[row] != asking.item[own]:
            return False
        if len(asking.time) > 0 and stored.time[row] != asking.time[own]:
            return False
    return True
