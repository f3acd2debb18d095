"""The inner validation: events that a fit holds back from its own history to decide when to stop."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.plugin import FittedRetriever, Interactions, Ints, Longs, Requests

K = 10


@dataclass(frozen=True, eq=False)
class Inner:
    """A part of a history to fit on, and requests whose targets are in the rest.

    Attributes:
        train: The events to fit on.
        known: The events known at the requests: ``train`` and, if split by time, later events of other users.
        requests: The requests.
        target: The item that each request's user chose next [n_requests].
    """

    train: Interactions
    known: Interactions
    requests: Requests
    target: Ints

    def ndcg(self, retriever: FittedRetriever) -> float:
        """Return ndcg_at_10 of a retriever that was fitted on ``train``."""
        lists = retriever.retrieve(self.known, self.requests, K)
        hit = lists.item == np.repeat(self.target, lists.lengths)
        return float((1 / np.log2(1 + lists.rank[hit])).sum() / max(1, len(self.target)))


def by_users(history: Interactions, users: int, rng: np.random.Generator) -> Inner:
    """Hold back the last event of a sample of the users with at least three events (two to learn from)."""
    able = np.flatnonzero(history.lengths > 2)
    chosen = np.sort(rng.choice(able, size=min(users, len(able)), replace=False))
    last = np.zeros(len(history), dtype=bool)
    last[history.indptr[chosen + 1] - 1] = True
    train = history.keep(~last)
    time = None if history.time is None else history.time[last]
    return Inner(train, train, Requests(chosen.astype(np.int32), time), history.item[last])


def by_clock(history: Interactions, users: int, share: float, rng: np.random.Generator) -> Inner:
    """Hold back the last ``share`` of the events; the targets are the first of them of a sample of users.

    The history must have times.
    """
    assert history.time is not None
    border = np.quantile(history.time, 1 - share, method="higher")
    early = history.time < border
    train = history.keep(early)
    able = np.flatnonzero((train.lengths > 0) & (history.lengths > train.lengths))
    chosen = np.sort(rng.choice(able, size=min(users, len(able)), replace=False))
    target: Longs = history.indptr[chosen] + train.lengths[chosen]  # each one's first event from the border on
    held = ~early & np.isin(history.user, chosen)
    requests = Requests(chosen.astype(np.int32), history.time[target])
    return Inner(train, history.keep(~held), requests, history.item[target])
