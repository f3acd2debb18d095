"""The scores of a list as shares of its range, so that they can be weighed against something else."""

from __future__ import annotations

import numpy as np

from recx.core.ragged import max_of_groups
from recx.core.types import Doubles, RankedLists


def relevance(lists: RankedLists) -> Doubles:
    """Return each row's score, from 0 for the lowest of its list to 1 for the highest [n_rows]; 1 if all are equal."""
    score = lists.score.astype(np.float64)
    highest = np.repeat(max_of_groups(score, lists.indptr), lists.lengths)
    lowest = -np.repeat(max_of_groups(-score, lists.indptr), lists.lengths)
    span = highest - lowest
    return np.asarray(np.divide(score - lowest, span, out=np.ones(len(lists)), where=span > 0))
