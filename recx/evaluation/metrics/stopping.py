"""The figures of a user who reads from the top and stops at an item with a chance that its grade says."""

from __future__ import annotations

from functools import partial
from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of
from recx.core.types import Doubles
from recx.evaluation.metrics.ranking import Figure, exponential

Discount = Literal["rank", "log"]
"""What a stop at rank r is worth: 1 / r, or 1 / log2(r + 1)."""
Grades = Literal["graded", "probability"]
"""What a grade g says of the chance to stop: (2^g - 1) / 2^max_grade, or the chance itself."""


def err(judged: JudgedLists, k: int | None, *, max_grade: float, discount: Discount = "rank") -> Doubles:
    """Expected reciprocal rank: sum over r of 1/r · R_r · prod_{i<r} (1 - R_i), R = (2^g - 1) / 2^max_grade.

    With ``discount="log"`` a stop at r is worth 1 / log2(r + 1) instead of 1 / r. Chapelle, Metzler, Zhang, Grinspan:
    Expected reciprocal rank for graded relevance, CIKM 2009, where the discount is the utility φ(r).

    Raises:
        InputError: A target's grade is above ``max_grade``.
    """
    return _stopped(judged, k, of_grades(judged, max_grade), discount)


def err_prob(judged: JudgedLists, k: int | None, *, discount: Discount = "rank") -> Doubles:
    """``err`` of grades that are chances to stop, such as those that ``recx.clicks`` estimates: R = g.

    Raises:
        InputError: A target's grade is above 1.
    """
    return _stopped(judged, k, _of_probabilities(judged), discount)


def cascade(judged: JudgedLists, k: int | None, *, max_grade: float) -> Doubles:
    """The chance that a user who reads from the top stops at one of the first k: 1 - prod (1 - R_i), R as in ``err``.

    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models, WSDM 2008.

    Raises:
        InputError: A target's grade is above ``max_grade``.
    """
    return _stopped(judged, k, of_grades(judged, max_grade), None)


def cascade_prob(judged: JudgedLists, k: int | None) -> Doubles:
    """``cascade`` of grades that are chances to stop: R = g.

    Raises:
        InputError: A target's grade is above 1.
    """
    return _stopped(judged, k, _of_probabilities(judged), None)


FIGURES: dict[str, Figure] = {
    "err": err,
    "err_log": partial(err, discount="log"),
    "err_prob": err_prob,
    "err_prob_log": partial(err_prob, discount="log"),
    "cascade": cascade,
    "cascade_prob": cascade_prob,
}
"""Name without ``_at_k`` -> figure."""
OF_PROBABILITIES = ("err_prob", "err_prob_log", "cascade_prob")
"""Figures for which every grade above 0 counts, unless they have a threshold of their own."""


def named(figure: str, discount: Discount | None, grades: Grades | None) -> str:
    """Return the figure that has these params.

    Args:
        figure: ``err`` or ``cascade``.
        discount: That of ``err``.
        grades: What a grade is.

    Raises:
        InputError: The figure does not have such a param.
    """
    for param, value, having in (("discount", discount, ("err",)), ("grades", grades, ("err", "cascade"))):
        if value is not None and figure not in having:
            raise InputError(f"the metric {figure!r} has no {param}: leave it out")
    return f"{figure}{'_prob' if grades == 'probability' else ''}{'_log' if discount == 'log' else ''}"


def of_grades(judged: JudgedLists, max_grade: float) -> Doubles:
    """Return the chance (2^g - 1) / 2^max_grade that a user who reads a hit stops there [n_hits].

    Raises:
        InputError: A target's grade is above ``max_grade``.
    """
    if len(judged.ideal) and judged.ideal.max() > max_grade:
        raise InputError(
            f"max_grade={max_grade:g}: a target has the grade {judged.ideal.max():g}, and err and cascade need the "
            "highest possible grade: raise it"
        )
    stops: Doubles = exponential(judged.hit_gain.astype(np.float64)) / 2.0**max_grade
    return stops


def stop_chance(judged: JudgedLists, stops: Doubles) -> Doubles:
    """Return the chance R_r · prod_{i<r} (1 - R_i) that a user reads up to a hit and stops there [n_hits].

    Args:
        judged: The judged lists.
        stops: The chance R that a user who reads a hit stops there [n_hits].
    """
    chance: Doubles = stops.copy()
    lengths = np.bincount(judged.hit_user, minlength=judged.n_users)
    indptr = indptr_of(lengths)
    goes_on = np.ones(judged.n_users)
    users, nth = np.flatnonzero(lengths), 0
    while len(users):  # the nth hit of every user who has one
        row = indptr[users] + nth
        chance[row] *= goes_on[users]
        goes_on[users] *= 1 - stops[row]
        nth += 1
        users = users[lengths[users] > nth]
    return chance


def _of_probabilities(judged: JudgedLists) -> Doubles:
    if len(judged.ideal) and judged.ideal.max() > 1:
        raise InputError(
            f"a target has the grade {judged.ideal.max():g}, and err_prob and cascade_prob take grades as "
            "probabilities: make them at most 1, or use err and cascade with max_grade"
        )
    return judged.hit_gain.astype(np.float64)


def _stopped(judged: JudgedLists, k: int | None, stops: Doubles, discount: Discount | None) -> Doubles:
    """Return the sum over the hits in the first k of the chance to stop there, discounted by rank [n_users]."""
    within = slice(None) if k is None else judged.hit_rank <= k
    worth, rank = stop_chance(judged, stops)[within], judged.hit_rank[within]
    if discount is not None:
        worth = worth / (np.log2(rank + 1) if discount == "log" else rank)
    return np.bincount(judged.hit_user[within], weights=worth, minlength=judged.n_users).astype(np.float64, copy=False)
