"""NDCG as other libraries define it, so that their figures can be reproduced and compared with.

``ndcg`` is the common definition: gains as they are, 1 / log2(rank + 1), an ideal list of all targets cut at k.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import group_of_rows
from recx.core.types import Array, Doubles, Longs
from recx.evaluation.metrics.ranking import Figure, ratio

Definition = Literal["lenskit_java", "rectools", "recbole"]
LARGEST_CUT = 10_000_000
"""The largest cut for which an ideal list without targets is summed up."""


def ndcg_lenskit_java(judged: JudgedLists, k: int | None) -> Doubles:
    """NDCG of LensKit for Java and of Järvelin and Kekäläinen: rank 2 is not discounted.

    DCG = sum of gain / max(1, log2(rank)); / the DCG of the ideal list of all targets, cut at k. LensKit for
    Python (2025.8) has it by default, where every target counts 1, and on ratings with ``gain="rating"``. Järvelin,
    Kekäläinen: Cumulated gain-based evaluation of IR techniques, TOIS 2002.
    """
    owner = group_of_rows(judged.ideal_indptr)
    shown, best = (
        _dcg_without_rank_2(user, gain, rank, k, judged.n_users)
        for user, gain, rank in (
            (judged.hit_user, judged.hit_gain, judged.hit_rank),
            (owner, judged.ideal, judged.ideal_rank),
        )
    )
    return ratio(shown, best)


def ndcg_rectools(judged: JudgedLists, k: int | None) -> Doubles:
    """NDCG of RecTools by default: targets count 1, and the ideal list has k of them, however few there are.

    DCG = sum of 1 / log2(rank + 1) over the targets shown; / the sum of 1 / log2(i + 1) for i = 1 .. k (without a cut,
    the list's length). With ``divide_by_achievable=True`` RecTools has ``ndcg_recbole``.

    Raises:
        InputError: The cut is above 10,000,000.
    """
    if k is not None and k > LARGEST_CUT:
        raise InputError(f"ndcg_rectools_at_{k}: the ideal list has k targets, so k is {LARGEST_CUT:,} at most")
    lengths = judged.lists.lengths if k is None else np.full(judged.n_users, k)
    return ratio(_dcg_of_relevant(judged, k), _dcg_of_first(lengths))


def ndcg_recbole(judged: JudgedLists, k: int | None) -> Doubles:
    """NDCG of RecBole: targets count 1, whatever their grade; the ideal list has min(k, targets) of them.

    It is ``ndcg`` if all grades are 1. DCG = sum of 1 / log2(rank + 1) over the relevant targets shown.
    """
    n_best = judged.n_targets if k is None else np.minimum(k, judged.n_targets)
    return ratio(_dcg_of_relevant(judged, k), _dcg_of_first(n_best))


def _dcg_without_rank_2(user: Longs, gain: Array, rank: Longs, k: int | None, n_users: int) -> Doubles:
    worth = gain.astype(np.float64) / np.maximum(np.log2(rank), 1)
    within = slice(None) if k is None else rank <= k
    return np.bincount(user[within], weights=worth[within], minlength=n_users).astype(np.float64, copy=False)


def _dcg_of_relevant(judged: JudgedLists, k: int | None) -> Doubles:
    hits = judged.relevant_hits(k)
    worth = 1 / np.log2(judged.hit_rank[hits] + 1)
    return np.bincount(judged.hit_user[hits], weights=worth, minlength=judged.n_users).astype(np.float64, copy=False)


def _dcg_of_first(n: Array) -> Doubles:
    """Return the DCG of lists whose first n items are targets of gain 1 [n_users]."""
    summed = np.cumsum(1 / np.log2(np.arange(2, int(n.max(initial=0)) + 2)))
    best: Doubles = np.concatenate([[0.0], summed])[n]
    return best


FIGURES: dict[str, Figure] = {figure.__name__: figure for figure in (ndcg_lenskit_java, ndcg_rectools, ndcg_recbole)}
"""Name without ``_at_k`` -> figure."""
