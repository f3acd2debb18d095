"""The design matrix: one row a candidate, one column a feature."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from recx.errors import RecxError
from recx.progress import track
from recx.protocols import Feature
from recx.ragged import blocks, rows_of_groups
from recx.types import Floats, Interactions, Longs, RankedLists, Requests

LISTS = 5_000  # lists whose features are computed at once: their intermediate arrays stay small


def design_matrix(
    features: Mapping[str, Feature], candidates: RankedLists, history: Interactions, requests: Requests
) -> Floats:
    """Return float32 [n_rows, n_features]; raises as ``design_blocks`` does."""
    table = np.empty((len(candidates), len(features)), dtype=np.float32)
    for rows, block in design_blocks(features, candidates, history, requests):
        table[rows] = block
    return table


def design_blocks(
    features: Mapping[str, Feature], candidates: RankedLists, history: Interactions, requests: Requests
) -> Iterator[tuple[Longs, Floats]]:
    """Yield (rows [m], float32 [m, n_features]) that together cover all rows; ``requests`` has one entry a list.

    Raises:
        RecxError: a feature is not finite for some user's candidate, or does not return one number a row.
    """
    # Counts as of requests that lie close in time look at the same few places of memory.
    order = np.arange(len(requests)) if requests.time is None else np.argsort(requests.time, kind="stable")
    for start, stop in track(list(blocks(len(order), LISTS)), "blocks of lists with features"):
        chosen = np.sort(order[start:stop])
        rows = rows_of_groups(candidates.indptr, chosen)
        yield rows, _block(features, candidates.take(chosen), history, requests[chosen])


def _block(features: Mapping[str, Feature], lists: RankedLists, history: Interactions, requests: Requests) -> Floats:
    block = np.empty((len(features), len(lists)), dtype=np.float32)  # a feature's numbers lie side by side
    for column, (name, feature) in enumerate(features.items()):
        values = feature(lists, history, requests)
        if values.shape != (len(lists),):
            raise RecxError(f"feature {name} returned an array of {values.shape} for {len(lists)} candidates")
        with np.errstate(over="ignore"):  # what float32 cannot hold is found below
            block[column] = values
        finite = np.isfinite(block[column])
        if not finite.all():
            row = int(np.argmin(finite))
            user = history.users.ids[lists.user[lists.list_of_row[row]]]
            raise RecxError(f"feature {name} is {values[row]} for user {user}: a feature must be finite in float32")
    return block.T
