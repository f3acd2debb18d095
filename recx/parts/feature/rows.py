"""Values per row of the candidates."""

from __future__ import annotations

import numpy as np

from recx.core.ragged import max_of_groups
from recx.core.types import Array, Floats, RankedLists


def of_rows(values: Array, candidates: RankedLists) -> Array:
    """Return the value of each row's list [n_rows], given one value per list [n_lists]."""
    return values.repeat(candidates.lengths)


def share_of_largest(score: Floats, candidates: RankedLists) -> Floats:
    """Return each row's score divided by the largest absolute score of its list [n_rows], comparable across users."""
    largest = of_rows(max_of_groups(np.abs(score), candidates.indptr), candidates)
    return np.divide(score, largest, out=np.zeros_like(score), where=largest > 0)
