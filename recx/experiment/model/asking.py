"""Who asks a model, and the history that answers: all that it knows, or that of the users who ask."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from recx.core.entities import Entities
from recx.core.memo import Made, made_of, remember
from recx.core.per_user import ForUsers, NotPerUserError, for_users
from recx.core.protocols import retrieves_slates
from recx.core.types import Array, Bools, Interactions, Longs, RankedLists, Requests
from recx.experiment.model.chain import Chain
from recx.experiment.model.counted import last_time
from recx.experiment.model.moments import times_of
from recx.experiment.model.population import before, extended, numbers_of, of_users, with_unknown
from recx.experiment.model.serving import serve_with

OF_PARTS = "recx."
"""Where functions stand whose results only the parts of recx itself ask for."""

DROPPED = {
    "rows_of_weight_0": "their weights are 0 or less",
    "duplicate_rows": "they repeat the user, item and time of another one, as in the run's data (dataset.duplicates)",
}
"""Notes of given events (see ``Interactions.from_frame``) -> why these were left out."""


@dataclass(frozen=True, eq=False)
class Asked:
    """Requests of users, and what answers them.

    Attributes:
        ids: The users' raw ids [n], in the order in which they were asked for.
        chain: The chain.
        history: The history that it is given.
        user: The number of each of these users in it [n].
        time: The time of each one's request [n] in ms; None without times.
        allowed: Which items may be shown [n_items]; None: all.
        unknown_items: Number of given events on items that the model does not know, which were left out.
        dropped: How many other given events were left out, by the names of ``DROPPED``.
    """

    ids: Array
    chain: Chain
    history: Interactions
    user: Longs
    time: Longs | None
    allowed: Bools | None = None
    unknown_items: int = 0
    dropped: Mapping[str, int] = field(default_factory=dict)

    @property
    def known(self) -> Bools:
        """Whether the chain knows an event of each user [n]."""
        return np.asarray(self.history.indptr[self.user + 1] > self.history.indptr[self.user])

    def left_out(self, unknown: int = 0) -> list[str]:
        """Return what was left out, in sentences, beside a number of allowed items that the model does not know."""
        said = []
        if self.unknown_items + unknown:
            said.append(
                f"{self.unknown_items} events of the history and {unknown} of the allowed items are left out: the "
                "model does not know their items"
            )
        why = {name: why for name, why in DROPPED.items() if self.dropped.get(name)}
        return said + [f"{self.dropped[name]} events of the history are left out: {why[name]}" for name in why]

    def requests(self) -> tuple[Requests, Longs]:
        """Return the requests, users increasing, and the request of each of the users who were asked for [n]."""
        if len(self.user) == 1:
            return Requests(self.user.astype(np.int32), self.time, self.allowed), np.zeros(1, dtype=np.int64)
        user, first, place = np.unique(self.user.astype(np.int32), return_index=True, return_inverse=True)
        time = None if self.time is None else self.time[first]
        return Requests(user, time, self.allowed), place

    def answers(self, k: int) -> RankedLists:
        """Return the best ``k`` items of each user, in the order in which they were asked for."""
        requests, place = self.requests()
        return serve_with(self.chain, self.history, requests).top(k).take(place)


@dataclass(frozen=True, eq=False)
class Population:
    """All users that a model knows.

    Attributes:
        chain: The chain.
        history: All events.
    """

    chain: Chain
    history: Interactions

    @classmethod
    def of_nobody(cls, chain: Chain, events: Interactions) -> Population:
        """Return a population without users, beside whom those of some events are all that is known."""
        nobody = Interactions(
            indptr=np.zeros(1, dtype=np.int64),
            item=events.item[:0],
            time=None if events.time is None else events.time[:0],
            weight=events.weight[:0],
            users=Entities(events.users.ids[:0]),
            items=chain.items,
        )
        return cls(chain, nobody)

    def asked(
        self, ids: Array | None, events: Interactions | None, at: int | None, allowed: Bools | None = None
    ) -> Asked:
        """Return the requests of some users.

        Args:
            ids: Their raw ids [n]; None: all users of ``events``, or else all who have an event.
            events: Events of users, known or new, which they have instead of others.
            at: The time of the requests in ms; None: the default (see ``recx.experiment.model.moments.times_of``).
            allowed: Which items may be shown [n_items]; None: all.

        Raises:
            InputError: The ids or the events do not fit those of the model.
        """
        known = self.history
        if ids is None:
            ids = known.users.ids[known.lengths > 0] if events is None else events.users.ids
        number = numbers_of(ids, known.users, "users")
        unknown_items = 0
        if events is None and (number >= 0).all() and (at is None or at > last_time(known)):
            chain, history = self.chain, known
        elif self._per_user is not None and self._retrieves_per_user:
            history = of_users(known, number, ids)
            if events is not None:
                found = extended(history, events)
                history, unknown_items = found.history, found.unknown_items
            chain, history = self._for_users(history if at is None else before(history, at))
            number = np.arange(len(ids))
        else:
            chain, history = self.chain, known
            if events is not None:
                found = extended(known, events)
                history, unknown_items = found.history, found.unknown_items
                number = numbers_of(ids, history.users, "users")
            if (number < 0).any():
                history = _with_nobody(history) if history is not known else self._and_nobody
                number[number < 0] = history.n_users - 1
            history = history if at is None else before(history, at)
        time = None
        if history.time is not None:
            counted = known if len(known) else history
            time = times_of(history, number, counted) if at is None else np.full(len(number), at, dtype=np.int64)
        dropped = {name: 0 if events is None else int(events.notes.get(name, 0)) for name in DROPPED}
        return Asked(ids, chain, history, number, time, allowed, unknown_items, dropped)

    def newcomer(self, table: Mapping[str, Any], *, per_user: bool = True) -> Asked:
        """Return the request of somebody who has no events and is described by values of columns of the users' table.

        Args:
            table: Column name -> value.
            per_user: Whether to ask for no more than this user's history, if the ranker can do with that.
        """
        known, chain = self.history, self.chain
        if per_user and self._per_user is not None and (retrieves_slates(chain.retriever) or self._retrieves_per_user):
            history, user = of_users(known, np.full(1, -1), known.users.ids[:1]), 0
        else:
            history, user, per_user = _with_nobody(known), known.n_users, False
        columns = {name: column.copy() for name, column in history.users.table.items() if name in table}
        for name, column in columns.items():
            column[user] = table[name]
        history = replace(history, users=replace(history.users, table={**history.users.table, **columns}))
        if per_user:
            chain, history = self._for_users(history)
        number = np.full(1, user)
        return Asked(number, chain, history, number, None if known.time is None else times_of(history, number, known))

    @cached_property
    def _and_nobody(self) -> Interactions:
        return _with_nobody(self.history)

    @cached_property
    def _retrieves_per_user(self) -> bool:
        try:
            for_users(self.chain.retriever, self.history)
        except NotPerUserError:
            return False
        return True

    @cached_property
    def _per_user(self) -> list[Made] | None:
        """What was made of all events, if all of it and the ranker can answer for other users; else None."""
        known = self.history
        if not known.n_users:
            return None
        first = np.zeros(1, dtype=np.int32)
        requests = Requests(first, None if known.time is None else times_of(known, first, known))
        serve_with(self.chain, known, requests)  # so that all has been made
        made = [one for one in made_of(known) if one.function.startswith(OF_PARTS)]
        try:
            for_users(self.chain.ranker, known)
            other = ForUsers(known)
            for one in made:
                other(one.value)
        except NotPerUserError:
            return None
        return made

    def _for_users(self, history: Interactions) -> tuple[Chain, Interactions]:
        """Return the chain for the users of a history, which remembers what was made of all events."""
        assert self._per_user is not None
        other = ForUsers(history)
        remember(history, [replace(one, value=other(one.value)) for one in self._per_user])
        retriever, ranker = self.chain.retriever, for_users(self.chain.ranker, history)
        if self._retrieves_per_user:
            retriever = for_users(retriever, history)
        return replace(self.chain, retriever=retriever, ranker=ranker, known=None), history


def _with_nobody(history: Interactions) -> Interactions:
    """Return a history with one more user, who has no events: whoever is unknown."""
    ids = history.users.ids
    nobody = np.array([ids.min(initial=0) - 1 if ids.dtype.kind in "iu" else ""], dtype=ids.dtype)
    return replace(history, indptr=np.append(history.indptr, len(history)), users=with_unknown(history.users, nobody))
