"""Binary preference: relevant items against those that were judged not relevant; what was not judged plays no part."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.types import Doubles, Longs, Notes
from recx.evaluation.matching import matches
from recx.evaluation.metrics.ranking import Figure, ratio


def bpref(judged: JudgedLists, k: int | None) -> Doubles:
    """1/R · the sum over relevant items shown of 1 - min(n, R) / min(N, R), as trec_eval computes it.

    R are the user's relevant items, N those judged not relevant (a grade from 0 up to below ``rel_threshold``), shown
    or not, and n how many of these are above the relevant item. Where n is 0 the term is 1, so that the value is the
    recall of a user with N = 0. Items without a judgement, or with a negative one, are passed over. Buckley, Voorhees:
    Retrieval evaluation with incomplete information, SIGIR 2004, with the bound min(N, R) of trec_eval 8 and later.

    Raises:
        InputError: Nothing was judged not relevant.
    """
    rows, n_below = _not_relevant(judged)
    hits = judged.relevant_hits(None)
    users = judged.hit_user[hits]
    above = np.searchsorted(rows, judged.hit_row[hits]) - np.searchsorted(rows, judged.lists.indptr[:-1][users])
    targets = judged.n_targets
    lost = ratio(np.minimum(above, targets[users]), np.minimum(n_below, targets)[users])
    return ratio(np.bincount(users, weights=1 - lost, minlength=judged.n_users), targets)


def _not_relevant(judged: JudgedLists) -> tuple[Longs, Longs]:
    """Return the rows that show an item judged not relevant, rising, and each user's number of such items [n_users]."""
    low = judged.ideal < judged.rel_threshold
    if judged.rejected is None and not low.any():
        raise InputError(
            "bpref compares relevant items with items that were judged not relevant, and no grade here is below "
            f"rel_threshold={judged.rel_threshold:g}: if such judgements were left out, give them with grade 0 "
            "(`python -m recx evaluate` of a run's lists and the file of judgements); if only relevant items were ever "
            "judged, use map, ndcg or another metric, for which all others are not relevant"
        )
    owner = np.repeat(np.arange(judged.n_users), np.diff(judged.ideal_indptr))
    count = np.bincount(owner[low], minlength=judged.n_users)
    shown = judged.hit_row[judged.hit_gain < judged.rel_threshold]
    if judged.rejected is not None:
        of = judged.rejected
        rows, places = matches(judged.lists.indptr, judged.lists.item, of.indptr, of.item)
        shown = np.concatenate([shown, rows[np.unique(places, return_index=True)[1]]])  # a repeated item counts once
        count = count + np.diff(of.indptr)
    return np.sort(shown), count


def without_rejected(judged: JudgedLists, k: int | None) -> Notes:  # one signature for all notes
    """Count the users for whom nothing was judged not relevant."""
    return {"bpref_nothing_judged_irrelevant": int(np.count_nonzero(_not_relevant(judged)[1] == 0))}


FIGURES: dict[str, Figure] = {"bpref": bpref}
"""Name of the figure, which takes no cut -> figure."""
NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {"bpref": without_rejected}
"""Name of a figure -> its counts."""
