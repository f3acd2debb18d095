"""The ranking metrics that need only the rows which show a target: every one is a few sums over those.

A figure is a function of the judged lists and a cut ``k`` (None: not cut) that returns one value a user, float64
[n_users]. Definitions stand in DESIGN section 6. Ranks count from 1; a target is relevant from ``rel_threshold`` on,
which the binary figures (hit, recall, precision, f, map, mrr) go by, while the graded ones use its gain.

A new figure of this kind is one function and one entry in ``FIGURES``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from recx.errors import InputError
from recx.ragged import indptr_of, position_of_rows, sum_of_groups
from recx.types import Array, Bools, Doubles, Judged, Longs

Figure = Callable[[Judged, int | None], Doubles]
Gain = Callable[[Doubles], Doubles]


def hit(judged: Judged, k: int | None) -> Doubles:
    """1 if any target is in the first k."""
    return (_shown(judged, k) > 0).astype(np.float64)


def recall(judged: Judged, k: int | None) -> Doubles:
    """Targets shown / all targets, not capped."""
    return _ratio(_shown(judged, k), judged.n_targets)


def precision(judged: Judged, k: int | None) -> Doubles:
    """Targets shown / k, also for a list shorter than k; without a cut, / the list's length."""
    return _ratio(_shown(judged, k), judged.lists.lengths if k is None else np.full(judged.n_users, k))


def f(judged: Judged, k: int | None, *, beta: float = 1.0) -> Doubles:
    """(1 + b²) P R / (b² P + R)."""
    p, r = precision(judged, k), recall(judged, k)
    return _ratio((1 + beta**2) * p * r, beta**2 * p + r)


def linear(gain: Doubles) -> Doubles:
    """The gain as it is."""
    return gain


def exponential(gain: Doubles) -> Doubles:
    """2^g - 1."""
    return np.exp2(gain) - 1


def cg(judged: Judged, k: int | None) -> Doubles:
    """The sum of the gains shown."""
    rows = _within(judged, k)
    return _sum(judged, rows, judged.hit_gain[rows])


def dcg(judged: Judged, k: int | None, *, gain: Gain = linear) -> Doubles:
    """The sum of the gains shown, each divided by log2(rank + 1)."""
    rows = _within(judged, k)
    return _sum(judged, rows, gain(judged.hit_gain[rows]) / np.log2(judged.hit_rank[rows] + 1))


def ndcg(judged: Judged, k: int | None, *, gain: Gain = linear) -> Doubles:
    """DCG / the DCG of the best list, which shows all targets of the line first and is cut at k too."""
    rank = position_of_rows(judged.ideal_indptr) + 1
    best = gain(judged.ideal.astype(np.float64)) / np.log2(rank + 1)
    if k is not None:
        best[rank > k] = 0
    return _ratio(dcg(judged, k, gain=gain), sum_of_groups(best, judged.ideal_indptr))


def map_trec(judged: Judged, k: int | None) -> Doubles:
    """The sum of P(i) over the targets shown, i their ranks / all targets (as trec_eval has it)."""
    return _ratio(_summed_precision(judged, k), judged.n_targets)


def map_(judged: Judged, k: int | None) -> Doubles:
    """The sum of P(i) over the targets shown, i their ranks / min(k, all targets)."""
    return _ratio(_summed_precision(judged, k), judged.n_targets if k is None else np.minimum(k, judged.n_targets))


def mrr(judged: Judged, k: int | None) -> Doubles:
    """1 / rank of the first target by rank, 0 if it is not in the first k."""
    rows = _relevant(judged) & _within(judged, k)
    value = np.zeros(judged.n_users)
    np.maximum.at(value, judged.hit_user[rows], 1 / judged.hit_rank[rows])
    return value


def err(judged: Judged, k: int | None, *, max_grade: float) -> Doubles:
    """Expected reciprocal rank: sum over r of 1/r · R_r · prod_{i<r} (1 - R_i), R = (2^g - 1) / 2^max_grade.

    Chapelle, Metzler, Zhang, Grinspan: Expected reciprocal rank for graded relevance, CIKM 2009.

    Raises:
        InputError: a target's grade is above ``max_grade``.
    """
    if len(judged.ideal) and judged.ideal.max() > max_grade:
        raise InputError(
            f"evaluator.max_grade={max_grade}: a target has the grade {judged.ideal.max():g}, and err needs the "
            "highest grade that there can be: raise it"
        )
    stops = exponential(judged.hit_gain) / 2.0**max_grade
    indptr = indptr_of(np.bincount(judged.hit_user, minlength=judged.n_users))
    value = stops / judged.hit_rank
    goes_on = np.ones(judged.n_users)
    users, nth = np.flatnonzero(np.diff(indptr)), 0
    while len(users):  # the nth hit of every user who has one: as many rounds as one user's most hits
        row = indptr[users] + nth
        value[row] *= goes_on[users]
        goes_on[users] *= 1 - stops[row]
        nth += 1
        users = users[np.diff(indptr)[users] > nth]
    rows = _within(judged, k)
    return _sum(judged, rows, value[rows])


FIGURES: dict[str, Figure] = {
    "hit": hit,
    "recall": recall,
    "precision": precision,
    "f": f,
    "f2": partial(f, beta=2.0),
    "f05": partial(f, beta=0.5),
    "cg": cg,
    "dcg": dcg,
    "ndcg": ndcg,
    "dcg_exp": partial(dcg, gain=exponential),
    "ndcg_exp": partial(ndcg, gain=exponential),
    "map": map_,
    "map_trec": map_trec,
    "mrr": mrr,
}
"""All figures that need no more than a cut. ``err`` needs the highest grade too."""


def _within(judged: Judged, k: int | None) -> Bools:
    """Which hits are in the first k [n_hits]."""
    return np.ones(len(judged.hit_row), dtype=bool) if k is None else judged.hit_rank <= k


def _relevant(judged: Judged) -> Bools:
    # Compared as float32, as the targets are counted: 3.3 as float32 is below 3.3.
    return judged.gain[judged.hit_row] >= judged.rel_threshold


def _shown(judged: Judged, k: int | None) -> Longs:
    """Number of relevant targets among the first k [n_users]."""
    return np.bincount(judged.hit_user[_relevant(judged) & _within(judged, k)], minlength=judged.n_users)


def _sum(judged: Judged, rows: Bools | Longs, values: Doubles) -> Doubles:
    """Return each user's sum of the values [n_rows] at these hits [n_users]."""
    total = np.bincount(judged.hit_user[rows], weights=values, minlength=judged.n_users)
    return total.astype(np.float64, copy=False)


def _summed_precision(judged: Judged, k: int | None) -> Doubles:
    """Return each user's sum of P(i) at the ranks i of relevant targets within k [n_users]."""
    rows = np.flatnonzero(_relevant(judged) & _within(judged, k))  # leaves out only what comes after the cut
    nth = position_of_rows(indptr_of(np.bincount(judged.hit_user[rows], minlength=judged.n_users))) + 1
    return _sum(judged, rows, nth / judged.hit_rank[rows])


def _ratio(part: Array, whole: Array) -> Doubles:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(part)), where=whole != 0)
