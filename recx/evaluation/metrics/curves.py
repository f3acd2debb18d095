"""The evaluator's curves and tables: column name -> array, one row a point of the curve or a line of the table.

Like ``recx.evaluation.metrics.classification`` they look at the rows of the lists, all users' rows together;
``cascade`` goes by rank.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.types import Array, Doubles
from recx.evaluation.metrics.classification import by_class, confusion, is_relevant, probabilities, ratio
from recx.evaluation.metrics.ranking import stop_chance

Table = dict[str, Array]


def roc_curve(judged: JudgedLists, *, points: int = 1000) -> Table:
    """Return the ROC curve of all rows: threshold (falling, first inf), false_positive_rate, true_positive_rate.

    Points on a straight line between their neighbours are left out; of a curve with more than ``points`` points so many
    are kept, equally far along the curve.

    Raises:
        InputError: no row shows a relevant target, or every row does.
    """
    from sklearn import metrics

    relevant = is_relevant(judged)
    if relevant.all() or not relevant.any():
        raise InputError(
            f"roc_curve needs rows with a relevant target and rows without, and {np.count_nonzero(relevant)} of the "
            f"{len(relevant)} rows shown have one: judge lists that show both, such as slates, or leave roc_curve out"
        )
    false_positive_rate, true_positive_rate, threshold = metrics.roc_curve(relevant, judged.lists.score)
    along = false_positive_rate + true_positive_rate
    kept = np.unique(np.searchsorted(along, np.linspace(0, along[-1], points))) if len(along) > points else slice(None)
    return {
        "threshold": threshold[kept],
        "false_positive_rate": false_positive_rate[kept],
        "true_positive_rate": true_positive_rate[kept],
    }


def confusion_matrix(judged: JudgedLists, *, threshold: float = 0.5) -> Table:
    """Return the counts of all rows by class and prediction: actual, predicted (0 or 1), rows; four lines."""
    return {
        "actual": np.array([0, 0, 1, 1]),
        "predicted": np.array([0, 1, 0, 1]),
        "rows": confusion(judged, threshold=threshold).ravel(),
    }


def classification(judged: JudgedLists, *, threshold: float = 0.5, beta: float = 1.0) -> Table:
    """Return class, precision, recall, f and support (rows) of the classes 0 and 1 and of their means.

    macro: the plain mean of both classes; weighted: weighted by their numbers of rows. 0/0 is 0.
    """
    support = confusion(judged, threshold=threshold).sum(axis=1)

    def lines(values: Doubles) -> Doubles:
        return np.array([*values, values.mean(), ratio(values @ support, support.sum())])

    precision, recall, f = by_class(judged, threshold=threshold, beta=beta)
    return {
        "class": np.array(["0", "1", "macro", "weighted"]),
        "precision": lines(precision),
        "recall": lines(recall),
        "f": lines(f),
        "support": np.array([*support, support.sum(), support.sum()]),
    }


def reliability(judged: JudgedLists, *, bins: int = 10) -> Table:
    """Return what came of the probabilities, by bins of one width: low, high, rows, mean_predicted, observed.

    A bin holds ``low < p <= high``, the first 0 as well. observed: the share of its rows that show a relevant target;
    both means are NaN where a bin is empty.

    Raises:
        InputError: a score lies outside [0, 1], or ``bins`` is not a whole number from 1 up.
    """
    if isinstance(bins, bool) or not isinstance(bins, int) or bins < 1:
        raise InputError(f"reliability has bins={bins!r}: it must be a whole number from 1 up")
    score = probabilities(judged, "reliability")
    edges = np.linspace(0, 1, bins + 1)
    # Compared in the type that the scores are stored in: 0.1 as float32 is above 0.1 as float64.
    place = np.searchsorted(edges[1:-1].astype(score.dtype), score)
    rows = np.bincount(place, minlength=bins)
    summed = np.bincount(place, weights=score, minlength=bins)
    observed = np.bincount(place[is_relevant(judged)], minlength=bins)
    return {
        "low": edges[:-1],
        "high": edges[1:],
        "rows": rows,
        "mean_predicted": np.where(rows > 0, ratio(summed, rows), np.nan),
        "observed": np.where(rows > 0, ratio(observed, rows), np.nan),
    }


def cascade(judged: JudgedLists, *, max_grade: float, k: int | None = None) -> Table:
    """Return by rank, up to the longest list or ``k``, the chance that a user who reads from the top stops there.

    stops_here: the mean over users of R_r · prod_{i<r} (1 - R_i), R = (2^g - 1) / 2^max_grade. stops_until: summed up
    to this rank.

    Craswell, Zoeter, Taylor, Ramsey: An experimental comparison of click position-bias models, WSDM 2008; R as in
    Chapelle, Metzler, Zhang, Grinspan: Expected reciprocal rank for graded relevance, CIKM 2009.

    Raises:
        InputError: a target's grade is above ``max_grade``.
    """
    depth = int(judged.lists.lengths.max(initial=0))
    chance = stop_chance(judged, max_grade)
    stops_here = np.bincount(judged.hit_rank - 1, weights=chance, minlength=depth) / max(judged.n_users, 1)
    return {
        "rank": np.arange(1, depth + 1)[:k],
        "stops_here": stops_here[:k],
        "stops_until": np.cumsum(stops_here)[:k],
    }


TABLES: dict[str, Callable[..., Table]] = {
    "roc_curve": roc_curve,
    "confusion_matrix": confusion_matrix,
    "classification": classification,
    "reliability": reliability,
    "cascade": cascade,
}
"""Name -> table."""
