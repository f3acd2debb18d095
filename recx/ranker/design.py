"""The design matrix: one row a candidate, one column a feature."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from recx.errors import RecxError
from recx.protocols import Feature
from recx.ragged import blocks
from recx.types import Floats, Interactions, RankedLists, Requests

LISTS = 5_000  # lists whose features are computed at once: their intermediate arrays stay small


def design_matrix(
    features: Mapping[str, Feature], candidates: RankedLists, history: Interactions, requests: Requests
) -> Floats:
    """Return float32 [n_rows, n_features]; ``requests`` has one entry for each list of ``candidates``.

    Raises:
        RecxError: a feature is not finite for some user's candidate, or does not return one number a row.
    """
    table = np.empty((len(candidates), len(features)), dtype=np.float32)
    for start, stop in blocks(candidates.n_lists, LISTS):
        lists, asked = candidates[start:stop], requests[start:stop]
        rows = slice(int(candidates.indptr[start]), int(candidates.indptr[stop]))
        for column, (name, feature) in enumerate(features.items()):
            values = feature(lists, history, asked)
            if values.shape != (len(lists),):
                raise RecxError(f"feature {name} returned an array of {values.shape} for {len(lists)} candidates")
            table[rows, column] = values
            if not np.isfinite(values).all():
                row = int(np.argmax(~np.isfinite(values)))
                user = history.users.ids[lists.user[lists.list_of_row[row]]]
                raise RecxError(f"feature {name} is {values[row]} for user {user}: a feature must be finite")
    return table
