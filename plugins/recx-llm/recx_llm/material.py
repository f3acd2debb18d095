"""What prompts show of a list: the user's text, the items of their last events, and the candidates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import Array, InputError, Interactions, RankedLists, Requests, texts_of
from recx_llm.prompts import NO_TEXT, shown


@dataclass(frozen=True, eq=False)
class Material:
    """The lists of a block of requests and the texts that belong to them.

    Attributes:
        candidates: The lists that are read.
        history: The history.
        requests: The requests, one for each list.
        events: Last events of a user that are shown.
        max_words: Words of a text that are shown; None: all.
        queries: The texts of all users; None if they have none.
        items: The texts of all items.
    """

    candidates: RankedLists
    history: Interactions
    requests: Requests
    events: int
    max_words: int | None
    queries: Array | None
    items: Array

    @classmethod
    def of(
        cls,
        candidates: RankedLists,
        history: Interactions,
        requests: Requests,
        top: int | None,
        events: int,
        max_words: int | None,
    ) -> Material:
        """Return the material of some candidates, of which the first ``top`` of each list are read.

        Raises:
            InputError: The items have no texts, or of the users there is nothing to show.
        """
        if "text" not in history.users.table and not events:
            raise InputError(
                "ranker.history=0: the users of this dataset have no text, so prompts would show nothing of them: "
                "raise it"
            )
        queries = history.users.table.get("text")
        read = candidates if top is None else candidates.top(top)
        return cls(read, history, requests, events, max_words, queries, texts_of(history.items, "items"))

    def to_ask(self) -> list[int]:
        """Return the places of the lists of two candidates or more whose users are not blank."""
        long = np.flatnonzero(self.candidates.lengths > 1).tolist()
        return [place for place in long if self._query(place) or len(self._events(place))]

    def shown(self, place: int) -> tuple[str, list[str], list[str]]:
        """Return the user's text, the texts of the items that they chose before, and those of the candidates."""
        rows = slice(int(self.candidates.indptr[place]), int(self.candidates.indptr[place + 1]))
        return self._query(place), self._texts(self._events(place)), self._texts(self.candidates.item[rows])

    def _query(self, place: int) -> str:
        return "" if self.queries is None else shown(self.queries[self.candidates.user[place]], self.max_words)

    def _texts(self, items: Array) -> list[str]:
        return [shown(self.items[item], self.max_words) or NO_TEXT for item in items]

    def _events(self, place: int) -> Array:
        """Return the items of the last events before the request, oldest first."""
        user, history = int(self.candidates.user[place]), self.history
        rows = slice(int(history.indptr[user]), int(history.indptr[user + 1]))
        items = history.item[rows]
        if history.time is not None and self.requests.time is not None:
            items = items[history.time[rows] < self.requests.time[place]]
        return items[len(items) - min(self.events, len(items)) :]
