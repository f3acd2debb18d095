"""The evaluator's curves and tables: column name -> array, with one row per point of the curve or row of the table.

Like ``recx.evaluation.metrics.classification`` they use the rows of all users' lists together; ``cascade`` is by rank.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from recx.core.bounds import PositiveInt, coerce
from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.total import Total
from recx.core.types import Array, Doubles, Longs
from recx.evaluation.metrics.answering import risk_coverage
from recx.evaluation.metrics.classification import by_class, confusion, is_relevant, probabilities
from recx.evaluation.metrics.confused import confused_items
from recx.evaluation.metrics.ranking import ratio
from recx.evaluation.metrics.stopping import of_grades, stop_chance

Table = dict[str, Array]


def roc_curve(judged: JudgedLists, *, points: int = 1000) -> Table:
    """Return the ROC curve of all rows.

    Points on a straight line between their neighbours are left out.

    Args:
        judged: The judged lists.
        points: The number of points kept of a longer curve, at equal distances along it.

    Returns:
        threshold (falling, first inf), false_positive_rate, true_positive_rate.

    Raises:
        InputError: No row shows a relevant target, or every row does.
    """
    from sklearn import metrics

    relevant = is_relevant(judged)
    if relevant.all() or not relevant.any():
        raise InputError(
            f"roc_curve needs rows with a relevant target and rows without, and {np.count_nonzero(relevant)} of the "
            f"{len(relevant)} rows shown have one: judge lists that show both, such as slates, or leave roc_curve out"
        )
    false_positive, true_positive, threshold = metrics.roc_curve(relevant, judged.lists.score)
    curve = {"threshold": threshold, "false_positive_rate": false_positive, "true_positive_rate": true_positive}
    return _thinned(curve, false_positive + true_positive, points)


def pr_curve(judged: JudgedLists, *, points: int = 1000) -> Table:
    """Return the precision-recall curve of all rows.

    The area under its steps, sum of (recall - that before) x precision over all thresholds, is the average precision;
    straight lines between its points would be too high. Source: Davis and Goadrich, ICML 2006.

    Args:
        judged: The judged lists.
        points: The number of points kept of a longer curve, at equal distances in recall.

    Returns:
        threshold (falling, first inf), recall, precision.

    Raises:
        InputError: No row shows a relevant target.
    """
    from sklearn import metrics

    relevant = is_relevant(judged)
    if not relevant.any():
        raise InputError("pr_curve needs rows with a relevant target, and no row shown has one: leave pr_curve out")
    precision, recall, threshold = metrics.precision_recall_curve(relevant, judged.lists.score)
    curve = {"threshold": np.append(threshold, np.inf), "recall": recall, "precision": precision}
    rising = {name: column[::-1] for name, column in curve.items()}
    return _thinned(rising, rising["recall"], points)


def _thinned(curve: Table, along: Doubles, points: int) -> Table:
    """Return a curve with no more points than these, at equal distances in what rises along it."""
    kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], points))) if len(along) > points else slice(None)
    return {name: column[kept] for name, column in curve.items()}


def confusion_matrix(judged: JudgedLists, *, threshold: float = 0.5) -> Total[Table]:
    """Return the counts of all rows by class and prediction, in four rows: actual, predicted (0 or 1), rows."""
    return Total(confusion(judged, threshold=threshold), _confusion_matrix)


def _confusion_matrix(rows: Longs) -> Table:
    return {"actual": np.array([0, 0, 1, 1]), "predicted": np.array([0, 1, 0, 1]), "rows": rows.ravel()}


def classification(judged: JudgedLists, *, threshold: float = 0.5, beta: float = 1.0) -> Total[Table]:
    """Return class, precision, recall, f and support (rows) of the classes 0 and 1 and of their means.

    ``macro`` is the mean of both classes, ``weighted`` that weighted by their numbers of rows. 0/0 is 0.
    """
    return Total(confusion(judged, threshold=threshold), partial(_classification, beta=beta))


def _classification(counts: Longs, beta: float) -> Table:
    support = counts.sum(axis=1)

    def rows(values: Doubles) -> Doubles:
        return np.array([*values, values.mean(), ratio(values @ support, support.sum())])

    precision, recall, f = by_class(counts, beta)
    return {
        "class": np.array(["0", "1", "macro", "weighted"]),
        "precision": rows(precision),
        "recall": rows(recall),
        "f": rows(f),
        "support": np.array([*support, support.sum(), support.sum()]),
    }


def reliability(judged: JudgedLists, *, bins: int = 10) -> Total[Table]:
    """Return how predicted probabilities compare with observed shares, by bins of equal width.

    A bin holds ``low < p <= high``; the first also holds 0.

    Args:
        judged: The judged lists.
        bins: The number of bins.

    Returns:
        low, high, rows, mean_predicted and observed, the share of the bin's rows that show a relevant target; both
        means are NaN where a bin is empty.

    Raises:
        InputError: A score is outside [0, 1], or ``bins`` is not a whole number from 1 up.
    """
    bins = coerce(bins, PositiveInt, "reliability.bins")
    score = probabilities(judged, "reliability")
    edges = np.linspace(0, 1, bins + 1)
    # Compared in the type in which the scores are stored: 0.1 as float32 is above 0.1 as float64.
    place = np.searchsorted(edges[1:-1].astype(score.dtype), score)
    rows = np.bincount(place, minlength=bins)
    summed = np.bincount(place, weights=score, minlength=bins)
    observed = np.bincount(place[is_relevant(judged)], minlength=bins)
    return Total(np.array([rows, summed, observed]), partial(_reliability, edges=edges))


def _reliability(sums: Doubles, edges: Doubles) -> Table:
    rows, summed, observed = sums
    return {
        "low": edges[:-1],
        "high": edges[1:],
        "rows": rows.astype(np.int64),
        "mean_predicted": np.where(rows > 0, ratio(summed, rows), np.nan),
        "observed": np.where(rows > 0, ratio(observed, rows), np.nan),
    }


def cascade(judged: JudgedLists, *, max_grade: float, k: int | None = None) -> Total[Table]:
    """Return the chance that a user who reads from the top stops at a rank.

    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models, WSDM 2008; R as in
    Chapelle, Metzler, Zhang, Grinspan: Expected reciprocal rank for graded relevance, CIKM 2009.

    Args:
        judged: The judged lists.
        max_grade: The highest possible grade.
        k: The last rank; None: that of the longest list.

    Returns:
        rank; stops_here, the mean over users of R_r · prod_{i<r} (1 - R_i) with R = (2^g - 1) / 2^max_grade; and
        stops_until, its sum up to this rank.

    Raises:
        InputError: A target's grade is above ``max_grade``.
    """
    depth = int(judged.lists.lengths.max(initial=0))
    chance = stop_chance(judged, of_grades(judged, max_grade))
    stops = np.bincount(judged.hit_rank - 1, weights=chance, minlength=depth)
    return Total(np.append(judged.n_users, stops), partial(_cascade, k=k))


def _cascade(sums: Doubles, k: int | None) -> Table:
    stops_here = sums[1:] / max(sums[0], 1)
    ranks, stops_until = np.arange(1, len(sums)), np.cumsum(stops_here)
    return {"rank": ranks[:k], "stops_here": stops_here[:k], "stops_until": stops_until[:k]}


_TABLES: tuple[Callable[..., Table | Total[Table]], ...] = (
    roc_curve,
    pr_curve,
    confusion_matrix,
    classification,
    reliability,
    cascade,
    risk_coverage,
    confused_items,
)
TABLES = {table.__name__: table for table in _TABLES}
"""Name -> table."""
OF_ALL_ROWS = ("roc_curve", "pr_curve", "risk_coverage", "confused_items")
"""Tables that need the rows of all users at once; the others are sums over blocks of users."""
