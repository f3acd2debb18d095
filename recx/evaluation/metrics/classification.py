"""The figures that need the score of every row, including non-targets: AUC, log loss, classification at a threshold.

They are meant for slates or candidates, where the lists also contain what was not clicked. A row is positive if its
gain reaches ``rel_threshold``; only the rows of the lists count, so a target that is not shown plays no part. None of
these figures uses the cut ``k``; it is in their signatures because all figures have the same one.

Scores and gains are compared in the type in which they are stored: 0.7 as float32 is below 0.7 as float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of, sum_of_groups
from recx.core.total import Total
from recx.core.types import Array, Bools, Doubles, Longs, Notes, RankedLists
from recx.evaluation.metrics.ranking import Figure, ratio

NEED_PROBABILITIES = ("logloss", "reliability")
"""The figure and the table that read scores as probabilities (see ``probabilities``)."""

Class = Literal[0, 1, "macro"]

CLIP = 1e-15
"""How near to 0 and 1 a probability may come: a single click predicted as 0 would make the loss infinite."""


def auc(judged: JudgedLists, k: int | None) -> Doubles:
    """P(score of a target > score of a non-target) in the user's list, ties count 1/2; NaN for one-class users."""
    indptr, positive, targets = judged.lists.indptr, _positive_rows(judged), judged.shown(None)
    by_user = indptr_of(targets)
    starts = _tie_starts(judged.lists)
    tie = np.searchsorted(starts, positive, side="right") - 1
    # Lists are sorted: the non-targets before a target's tie are above it, and half of those within the tie.
    above_twice = np.repeat(-2 * (indptr - by_user)[:-1], targets)
    for edge in (starts[tie], np.append(starts[1:], len(judged.lists))[tie]):
        above_twice += edge - np.searchsorted(positive, edge)
    pairs_twice = 2.0 * targets * (judged.lists.lengths - targets)
    won_twice = pairs_twice - sum_of_groups(above_twice, by_user)
    value: Doubles = np.full(judged.n_users, np.nan)
    np.divide(won_twice, pairs_twice, out=value, where=pairs_twice > 0)
    return value


def auc_weighted(judged: JudgedLists, k: int | None) -> Total[float]:
    """The mean of the users' AUC weighted by their numbers of rows (GAUC); NaN if all are one-class users.

    Zhu, Jin, Tan, Pan, Zeng, Li, Gai: Optimized cost per click in Taobao display advertising, KDD 2017.
    """
    values = auc(judged, None)
    both = ~np.isnan(values)
    rows = judged.lists.lengths[both]
    return Total(np.array([values[both] @ rows, rows.sum()]), _quotient)


def _quotient(sums: Doubles) -> float:
    """Return the first sum / the second, NaN if that is 0."""
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def auc_pooled(judged: JudgedLists, k: int | None) -> float:
    """P(score of a target > score of a non-target) over all rows together, ties count 1/2; NaN if a class is empty."""
    relevant, score = is_relevant(judged), judged.lists.score
    targets, others = np.sort(score[relevant]), np.sort(score[~relevant])
    if not len(targets) or not len(others):
        return float("nan")
    won_twice = sum(int(np.searchsorted(others, targets, side=side).sum()) for side in ("left", "right"))
    return won_twice / (2 * len(targets) * len(others))


def logloss(judged: JudgedLists, k: int | None) -> Total[float]:
    """-mean over all rows of y log p + (1 - y) log(1 - p), p the score as float64, clipped at 1e-15; NaN without rows.

    Raises:
        InputError: A score is outside [0, 1].
    """
    p = np.clip(probabilities(judged, "logloss").astype(np.float64), CLIP, 1 - CLIP)
    losses = -np.log(np.where(is_relevant(judged), p, 1 - p))
    return Total(np.array([losses.sum(), len(losses)]), _quotient)


def is_relevant(judged: JudgedLists) -> Bools:
    """Return which rows show a relevant target [n_rows]."""
    relevant = np.zeros(len(judged.lists), dtype=bool)
    relevant[_positive_rows(judged)] = True
    return relevant


def probabilities(judged: JudgedLists, figure: str) -> Array:
    """Return the scores of all rows [n_rows] if they can be probabilities.

    Args:
        judged: The judged lists.
        figure: What needs the probabilities, for the message.

    Raises:
        InputError: A score is outside [0, 1].
    """
    score = judged.lists.score
    if len(score) and (score.min() < 0 or score.max() > 1):
        raise InputError(
            f"{figure} needs probabilities, and the scores range from {score.min():g} to {score.max():g}: give scores "
            f"between 0 and 1, or leave {figure} out"
        )
    return score


def confusion(judged: JudgedLists, *, threshold: float = 0.5) -> Longs:
    """Return the numbers of rows by class and prediction [actual, predicted], 1 where score >= threshold."""
    positive, predicted = _positive_rows(judged), judged.lists.score >= float(threshold)
    n, actual_1, predicted_1 = len(predicted), len(positive), np.count_nonzero(predicted)
    both = np.count_nonzero(predicted[positive])
    return np.array([[n - actual_1 - predicted_1 + both, predicted_1 - both], [actual_1 - both, both]])


def by_class(rows: Longs, beta: float = 1.0) -> tuple[Doubles, Doubles, Doubles]:
    """Return precision, recall and F of the classes 0 and 1, [2] each, of a table as ``confusion`` counts; 0/0 is 0."""
    precision, recall = ratio(rows.diagonal(), rows.sum(axis=0)), ratio(rows.diagonal(), rows.sum(axis=1))
    return precision, recall, ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)


def accuracy(judged: JudgedLists, k: int | None, *, threshold: float = 0.5) -> Total[float]:
    """Rows with a correct prediction (score >= threshold) / all rows."""
    return Total(confusion(judged, threshold=threshold), lambda rows: float(ratio(rows.trace(), rows.sum())))


def class_precision(judged: JudgedLists, k: int | None, *, threshold: float = 0.5, of: Class = 1) -> Total[float]:
    """Rows of the class that are predicted as such / rows predicted as such; "macro": the mean of both classes."""
    return Total(confusion(judged, threshold=threshold), lambda rows: _of(by_class(rows)[0], of))


def class_recall(judged: JudgedLists, k: int | None, *, threshold: float = 0.5, of: Class = 1) -> Total[float]:
    """Rows of the class that are predicted as such / rows of the class; "macro": the mean of both classes."""
    return Total(confusion(judged, threshold=threshold), lambda rows: _of(by_class(rows)[1], of))


def class_f(
    judged: JudgedLists, k: int | None, *, threshold: float = 0.5, beta: float = 1.0, of: Class = 1
) -> Total[float]:
    """(1 + b²) P R / (b² P + R) of the class; "macro": the mean of both classes' F."""
    return Total(confusion(judged, threshold=threshold), lambda rows: _of(by_class(rows, beta)[2], of))


PLAIN: tuple[Figure, ...] = (auc, auc_weighted, auc_pooled, logloss, accuracy)
BY_CLASS: tuple[Figure, ...] = (class_precision, class_recall, class_f)
FIGURES: dict[str, Figure] = {
    **{figure.__name__: figure for figure in (*PLAIN, *BY_CLASS)},
    **{f"{figure.__name__}_of_0": partial(figure, of=0) for figure in BY_CLASS},
    **{f"{figure.__name__}_macro": partial(figure, of="macro") for figure in BY_CLASS},
    "class_f1": partial(class_f, beta=1.0),
    "class_f2": partial(class_f, beta=2.0),
    "class_f05": partial(class_f, beta=0.5),
}
"""Name -> figure. ``auc`` gives one value per user, every other figure one number."""


def one_class_users(judged: JudgedLists, k: int | None) -> Notes:
    """Count the users that AUC leaves out: without a target shown, without a non-target shown, or without a list."""
    return {"auc_one_class_users": int(np.isnan(auc(judged, None)).sum())}


def clipped_rows(judged: JudgedLists, k: int | None) -> Notes:
    """Count the rows with a probability that the log loss clips."""
    p = judged.lists.score.astype(np.float64)
    return {"logloss_clipped": int(((p < CLIP) | (p > 1 - CLIP)).sum())}


NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {
    "auc": one_class_users,
    "auc_weighted": one_class_users,
    "logloss": clipped_rows,
}
"""Name of a figure -> its counts."""


def _positive_rows(judged: JudgedLists) -> Longs:
    """Return the rows with a relevant target, rising."""
    return judged.hit_row[judged.relevant_hits(None)]


def _tie_starts(lists: RankedLists) -> Longs:
    """Return the first row of every run of equal scores within a list."""
    first = np.ones(len(lists), dtype=bool)
    np.not_equal(lists.score[1:], lists.score[:-1], out=first[1:])
    first[lists.indptr[:-1][lists.lengths > 0]] = True
    return np.flatnonzero(first)


def _of(values: Doubles, of: Class) -> float:
    return float(values.mean() if of == "macro" else values[of])
