"""The users of the past fold that candidates are made for: enough for what the ranker learns from."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from recx.core.protocols import FittedRanker, Ranker, Sampling
from recx.core.types import Fold, Split

REQUESTS = 3
"""Requests for each user that the ranker learns from; a user without a target among the candidates teaches nothing."""


def drawn(split: Split, ranker: Ranker | FittedRanker) -> Split:
    """Return the split with fewer requests in the past fold, if that has more than the ranker can use.

    They are drawn at random with the ranker's seed; the history keeps the events of all users.

    Args:
        split: The split.
        ranker: The ranker; only one that is ``Sampling`` needs fewer requests.
    """
    past, sample = split.past, ranker.sample if isinstance(ranker, Sampling) else None
    if past is None or past.target is None or sample is None or len(past.requests) <= REQUESTS * sample[0]:
        return split
    users, seed = sample
    chosen = np.sort(np.random.default_rng(seed).choice(len(past.requests), REQUESTS * users, replace=False))
    requests, of_user = past.requests[chosen], np.zeros(past.target.n_users, dtype=bool)
    of_user[requests.user] = True
    fewer = Fold(past.history, past.target.keep(of_user[past.target.user]), requests)
    return replace(split, past=fewer, notes={**split.notes, "past_requests_drawn": len(chosen)})
