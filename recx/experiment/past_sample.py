"""The users of the past fold that candidates are made for: enough for what the ranker learns from."""

from __future__ import annotations

from dataclasses import replace

from recx.core.protocols import FittedRanker, Ranker, Sampling
from recx.core.types import Split
from recx.parts.split import folds

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
    fewer = folds.drawn(past, REQUESTS * users, seed)
    return replace(split, past=fewer, notes={**split.notes, "past_requests_drawn": len(fewer.requests)})
