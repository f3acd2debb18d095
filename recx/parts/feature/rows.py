"""Shared code of the features: values per row, and counts as of the request."""

from __future__ import annotations

import numpy as np

from recx.core.memo import once_per_input
from recx.core.ragged import max_of_groups
from recx.core.types import Array, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.shared.click_counts import item_counter, last_clicks, sorted_times
from recx.parts.shared.texts import products_of_pairs
from recx.parts.shared.vectors import unit, unit_embedding


def of_rows(values: Array, candidates: RankedLists) -> Array:
    """Return the value of each row's list [n_rows], given one value per list [n_lists]."""
    return np.repeat(values, candidates.lengths)


def share_of_largest(score: Floats, candidates: RankedLists) -> Floats:
    """Return each row's score divided by the largest absolute score of its list [n_rows], comparable across users."""
    largest = of_rows(max_of_groups(np.abs(score), candidates.indptr), candidates)
    return np.divide(score, largest, out=np.zeros_like(score), where=largest > 0)


@once_per_input
def clicks_before(candidates: RankedLists, history: Interactions, requests: Requests, earlier: int) -> Longs:
    """Return the clicks on each row's item up to ``earlier`` ms before the request [n_rows]; without times, all."""
    if history.time is None or requests.time is None:
        return history.clicks[candidates.item]
    return item_counter(history).before(candidates.item, requests.time - earlier, candidates.indptr)


def clicks_within(candidates: RankedLists, history: Interactions, requests: Requests, window: int | None) -> Longs:
    """Return the clicks on each row's item in the last ``window`` ms before the request [n_rows]; None: at any time."""
    until_now = clicks_before(candidates, history, requests, 0)
    if window is None or history.time is None or requests.time is None:
        return until_now
    return until_now - clicks_before(candidates, history, requests, window)


def events_within(history: Interactions, requests: Requests, window: int | None) -> Longs:
    """Return all events in the last ``window`` ms before each request [n_lists]; None: at any time before it."""
    if history.time is None or requests.time is None:
        return np.full(len(requests), len(history))
    times = sorted_times(history)
    before = np.searchsorted(times, requests.time)
    return before if window is None else before - np.searchsorted(times, requests.time - window)


@once_per_input
def cosine(candidates: RankedLists, history: Interactions, requests: Requests, last: int, recency: float) -> Floats:
    """Return the cosine of the item's embedding and the mean of the user's last clicks [n_rows]; NaN if unknown."""
    if history.items.embedding is None:
        return np.full(len(candidates), np.nan, dtype=np.float32)
    vector = unit_embedding(history.items)
    user = unit(last_clicks(history, requests, last, recency) @ vector)
    found = products_of_pairs(user, candidates.list_of_row, vector, candidates.item)
    known = history.items.has_embedding[candidates.item] & of_rows(np.abs(user).sum(axis=1) > 0, candidates)
    return np.where(known, found, np.nan).astype(np.float32)
