"""The inner validation: events that a fit holds back from its own history to decide when to stop."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from recx.core.protocols import FittedRetriever
from recx.core.types import Interactions, Ints, Longs, Requests

K = 10

By = Literal["auto", "users", "clock"]
"""What is held back: the last event of a sample of users; the last part of the history; or the latter if it has times,
else the former."""


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

    @classmethod
    def of(cls, history: Interactions, by: By, users: int, share: float, seed: int) -> Inner | None:
        """Return the inner validation of a history; None if ``users`` is 0 or the history is too short for one.

        Args:
            history: All events of the fit.
            by: What is held back.
            users: Maximum number of users with a target; 0: no validation.
            share: Share of the events that are held back by the clock.
            seed: Seed of the sample of users.
        """
        if not users or not len(history):
            return None
        rng = np.random.default_rng(seed)
        clock = by != "users" and history.time is not None
        inner = by_clock(history, users, share, rng) if clock else by_users(history, users, rng)
        return inner if len(inner.requests) and (inner.train.lengths > 1).any() else None

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
