"""What the features share: who and when of every row, and counts as of the request."""

from __future__ import annotations

import numpy as np

from recx.core.memo import once_per_input
from recx.core.ragged import blocks, max_of_groups
from recx.core.types import Array, Floats, Interactions, Longs, RankedLists, Requests
from recx.parts.shared.click_counts import item_counter, last_clicks
from recx.parts.shared.vectors import unit, unit_embedding

ROWS = 100_000  # rows whose vectors lie in memory at once


def of_rows(values: Array, candidates: RankedLists) -> Array:
    """Return each list's value [n_lists] at every row of the list [n_rows]."""
    return np.repeat(values, candidates.lengths)


def share_of_largest(score: Floats, candidates: RankedLists) -> Floats:
    """Return every row's score divided by the list's largest, signs left aside, so that users compare [n_rows]."""
    largest = of_rows(max_of_groups(np.abs(score), candidates.indptr), candidates)
    return np.divide(score, largest, out=np.zeros_like(score), where=largest > 0)


@once_per_input
def clicks_before(candidates: RankedLists, history: Interactions, requests: Requests, earlier: int) -> Longs:
    """Return the clicks of every row's item up to ``earlier`` ms before the request [n_rows].

    Without times all clicks of the history lie before.
    """
    if history.time is None or requests.time is None:
        return history.clicks[candidates.item]
    return item_counter(history).before(candidates.item, of_rows(requests.time - earlier, candidates))


def clicks_within(candidates: RankedLists, history: Interactions, requests: Requests, window: int | None) -> Longs:
    """Return the clicks of every row's item in the last ``window`` ms before the request [n_rows]; None: ever."""
    until_now = clicks_before(candidates, history, requests, 0)
    if window is None or history.time is None or requests.time is None:
        return until_now
    return until_now - clicks_before(candidates, history, requests, window)


@once_per_input
def cosine(candidates: RankedLists, history: Interactions, requests: Requests, last: int, recency: float) -> Floats:
    """Return the cosine of the user's recency-weighted mean embedding and the item's [n_rows]; NaN where unknown."""
    if history.items.embedding is None:
        return np.full(len(candidates), np.nan, dtype=np.float32)
    vector = unit_embedding(history.items)
    user = unit(last_clicks(history, requests, last, recency) @ vector)
    found = np.empty(len(candidates), dtype=np.float32)
    line = candidates.list_of_row
    for start, stop in blocks(len(candidates), ROWS):
        rows = slice(start, stop)
        found[rows] = np.einsum("nd,nd->n", user[line[rows]], vector[candidates.item[rows]])
    known = history.items.has_embedding[candidates.item] & of_rows(np.abs(user).sum(axis=1) > 0, candidates)
    return np.where(known, found, np.nan).astype(np.float32)
