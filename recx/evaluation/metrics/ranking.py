"""The ranking metrics that only need the rows with a target: each is a few sums over those rows.

A figure is a function of the judged lists and a cut ``k`` (None: not cut) that returns one value per user, float64
[n_users]; its other settings are keyword-only arguments. Ranks start at 1. The binary figures (hit, recall, precision,
f, map, mrr, rbp) count the targets that are relevant, from ``rel_threshold`` on; the graded ones use the gain of every
target.

To add a figure of this kind, write a function and add an entry to ``FIGURES`` and one to
``recx/evaluation/definitions.toml``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from typing import Annotated

import numpy as np
from annotated_types import Interval

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of, position_of_rows
from recx.core.total import Total
from recx.core.types import Array, Doubles, Longs, Notes

Figure = Callable[..., Doubles | Total[float] | float]
Gain = Callable[[Doubles], Doubles]

LARGEST_GRADE = 1000
"""The largest grade for which 2^grade, and sums of it, fit into a float64."""
Grade = Annotated[float, Interval(gt=0, le=LARGEST_GRADE)]


def hit(judged: JudgedLists, k: int | None) -> Doubles:
    """1 if any target is in the first k."""
    return (judged.shown(k) > 0).astype(np.float64)


def recall(judged: JudgedLists, k: int | None) -> Doubles:
    """Targets shown / all targets, not capped."""
    return ratio(judged.shown(k), judged.n_targets)


def recall_capped(judged: JudgedLists, k: int | None) -> Doubles:
    """Targets shown / min(k, all targets), so that 1 can be reached at any cut.

    Thakur, Reimers, Rücklé, Srivastava, Gurevych: BEIR (NeurIPS Datasets and Benchmarks 2021).
    """
    return ratio(judged.shown(k), judged.n_targets if k is None else np.minimum(k, judged.n_targets))


def precision(judged: JudgedLists, k: int | None) -> Doubles:
    """Targets shown / k, also for a list shorter than k; without a cut, / the list's length."""
    return ratio(judged.shown(k), judged.lists.lengths) if k is None else judged.shown(k) / k


def f(judged: JudgedLists, k: int | None, *, beta: float = 1.0) -> Doubles:
    """(1 + b²) P R / (b² P + R)."""
    p, r = precision(judged, k), recall(judged, k)
    return ratio((1 + beta**2) * p * r, beta**2 * p + r)


def linear(gain: Doubles) -> Doubles:
    """The gain as it is."""
    return gain


def exponential(gain: Doubles) -> Doubles:
    """2^g - 1.

    Raises:
        InputError: A grade is so large that 2^g overflows.
    """
    if gain.max(initial=0) > LARGEST_GRADE:
        raise InputError(
            f"a target has the grade {gain.max():g}, and 2^grade overflows above {LARGEST_GRADE}: make the grades "
            "smaller, or use metrics with a linear gain, such as ndcg and dcg"
        )
    return np.exp2(gain) - 1


def cg(judged: JudgedLists, k: int | None) -> Doubles:
    """The sum of the gains shown."""
    hits = _within(judged, k)
    return _sum(judged.hit_user[hits], _doubles(judged.hit_gain[hits]), judged)


def dcg(judged: JudgedLists, k: int | None, *, gain: Gain = linear) -> Doubles:
    """The sum of the gains shown, each divided by log2(rank + 1)."""
    hits = _within(judged, k)
    gains = gain(_doubles(judged.hit_gain[hits]))
    return _sum(judged.hit_user[hits], gains * _discount(judged.hit_rank[hits]), judged)


def ndcg(judged: JudgedLists, k: int | None, *, gain: Gain = linear) -> Doubles:
    """DCG / the DCG of the ideal list, which ranks all targets of the stage by gain and is also cut at k."""
    ideal, rank, lengths = judged.ideal, judged.ideal_rank, np.diff(judged.ideal_indptr)
    if k is not None and k < lengths.max(initial=0):
        ideal, rank, lengths = ideal[rank <= k], rank[rank <= k], np.minimum(lengths, k)
    best = gain(_doubles(ideal)) * _discount(rank)
    return ratio(dcg(judged, k, gain=gain), _sum(np.repeat(np.arange(judged.n_users), lengths), best, judged))


def means_by_cut(judged: JudgedLists, cuts: Longs) -> Total[dict[str, list[float]]]:
    """Compute the means over users of recall and NDCG at many cuts, reading each row only once.

    Args:
        judged: The judged lists.
        cuts: Rising [n_cuts].

    Returns:
        ``recall`` and ``ndcg`` -> their means at every cut.
    """
    hits = judged.relevant_hits(None)
    share = ratio(np.ones(judged.n_users), judged.n_targets)[judged.hit_user[hits]]
    found = np.bincount(judged.hit_rank[hits], weights=share, minlength=int(cuts[-1]) + 1).cumsum()[cuts]
    owner = np.repeat(np.arange(judged.n_users), np.diff(judged.ideal_indptr))
    shown = _dcg_by_cut(judged.hit_user, judged.hit_gain, judged.hit_rank, judged, cuts)
    best = _dcg_by_cut(owner, judged.ideal, judged.ideal_rank, judged, cuts)
    summed = [float(ratio(*dcgs).sum()) for dcgs in zip(shown, best, strict=True)]
    return Total(np.array([found, summed, np.full(len(cuts), judged.n_users)]), _means_by_cut)


def _means_by_cut(sums: Doubles) -> dict[str, list[float]]:
    found, summed, n_users = sums
    return {"recall": (found / n_users).tolist(), "ndcg": (summed / n_users).tolist()}


def _dcg_by_cut(user: Longs, gain: Array, rank: Longs, judged: JudgedLists, cuts: Longs) -> Iterator[Doubles]:
    """Yield every user's DCG at each of the cuts, from the user, gain and rank of every row."""
    order = np.argsort(rank, kind="stable")
    worth, total = (_doubles(gain) * _discount(rank))[order], np.zeros(judged.n_users)
    for start, stop in pairwise(np.searchsorted(rank[order], [0, *cuts], side="right").tolist()):
        total += _sum(user[order[start:stop]], worth[start:stop], judged)
        yield total


def map_trec(judged: JudgedLists, k: int | None) -> Doubles:
    """The sum of P(i) over the ranks i of the targets shown / all targets (as in trec_eval)."""
    return ratio(_summed_precision(judged, k), judged.n_targets)


def map_(judged: JudgedLists, k: int | None) -> Doubles:
    """The sum of P(i) over the ranks i of the targets shown / min(k, all targets)."""
    return ratio(_summed_precision(judged, k), judged.n_targets if k is None else np.minimum(k, judged.n_targets))


def mrr(judged: JudgedLists, k: int | None) -> Doubles:
    """1 / rank of the first target by rank, 0 if it is not in the first k."""
    users, first = judged.first_hits(k)
    value = np.zeros(judged.n_users)
    value[users] = 1 / judged.hit_rank[first]
    return value


def rbp(judged: JudgedLists, k: int | None, *, persistence: float = 0.8) -> Doubles:
    """Rank-biased precision: the sum of (1 - p) · p^(rank - 1) over the targets shown, p the persistence.

    What a user finds who reads the first item, and goes on from each to the next one with the chance p. Moffat, Zobel:
    Rank-biased precision for measurement of retrieval effectiveness, TOIS 2008.
    """
    hits = judged.relevant_hits(k)
    worth = _doubles((1 - persistence) * persistence ** (judged.hit_rank[hits] - 1.0))
    return _sum(judged.hit_user[hits], worth, judged)


def _trivial(judged: JudgedLists, k: int | None) -> Notes:
    """Count the users whose whole list fits into k, so that a hit does not depend on its order."""
    lengths = judged.lists.lengths
    trivial = (lengths > 0) & (True if k is None else lengths <= k)
    return {f"top_{k}_trivial": int(trivial.sum())}


NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {"top_accuracy": _trivial}

FIGURES: dict[str, Figure] = {
    **{figure.__name__.rstrip("_"): figure for figure in (hit, recall, precision, f, cg, dcg, ndcg, map_, map_trec)},
    **{figure.__name__: figure for figure in (recall_capped, mrr, rbp)},
    "top_accuracy": hit,
    "f2": partial(f, beta=2.0),
    "f05": partial(f, beta=0.5),
    "dcg_exp": partial(dcg, gain=exponential),
    "ndcg_exp": partial(ndcg, gain=exponential),
}
"""Name without ``_at_k`` -> figure."""


def _within(judged: JudgedLists, k: int | None) -> Longs | slice:
    """Return which hits are in the first k."""
    return slice(None) if k is None else np.flatnonzero(judged.hit_rank <= k)


def _doubles(gain: Array) -> Doubles:
    return gain.astype(np.float64)


def _discount(rank: Longs) -> Doubles:
    """Return 1 / log2(rank + 1) by a lookup table: there are few ranks and many rows."""
    discount: Doubles = 1 / np.log2(np.arange(2, int(rank.max(initial=0)) + 2))
    return discount[rank - 1]


def _sum(users: Longs, values: Doubles, judged: JudgedLists) -> Doubles:
    """Return each user's sum of the values [n_users]."""
    return np.bincount(users, weights=values, minlength=judged.n_users).astype(np.float64, copy=False)


def _summed_precision(judged: JudgedLists, k: int | None) -> Doubles:
    """Return each user's sum of P(i) at the ranks i of relevant targets within k [n_users]."""
    hits = judged.relevant_hits(k)  # the cut leaves out only what comes after
    nth = position_of_rows(indptr_of(judged.shown(k))) + 1
    return _sum(judged.hit_user[hits], nth / judged.hit_rank[hits], judged)


def ratio(part: Array, whole: Array) -> Doubles:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole != 0)
