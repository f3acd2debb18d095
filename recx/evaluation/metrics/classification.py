"""The figures that need the score of every row shown, of non-targets too: AUC, log loss, classification at a threshold.

They make sense on slates or candidates, where the lists hold what was not clicked as well. A row is positive where its
gain reaches ``rel_threshold``; users count by the rows of their lists, so a target that is not shown plays no part.
None of these figures knows a cut: ``k`` stands in their signatures because all figures share one.

Scores and gains are compared in the type that they are stored in: 0.7 as float32 is below 0.7 as float64.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np

from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import indptr_of, sum_of_groups
from recx.core.types import Array, Bools, Doubles, Longs, Notes, RankedLists
from recx.evaluation.metrics.ranking import Figure

Class = Literal[0, 1, "macro"]

CLIP = 1e-15
"""How near to 0 and 1 a probability may come: one click that was given 0 would make the whole loss infinite."""


def auc(judged: JudgedLists, k: int | None) -> Doubles:
    """P(score of a target > score of a non-target) in the user's list, a tie counts 1/2; NaN for one-class users."""
    indptr, positive, targets = judged.lists.indptr, _positive_rows(judged), judged.shown(None)
    by_user = indptr_of(targets)
    starts = _tie_starts(judged.lists)
    tie = np.searchsorted(starts, positive, side="right") - 1
    # Lists are sorted: above a target stand the non-targets before its tie, and half of those in it.
    above_twice = np.repeat(-2 * (indptr - by_user)[:-1], targets)
    for edge in (starts[tie], np.append(starts[1:], len(judged.lists))[tie]):
        above_twice += edge - np.searchsorted(positive, edge)
    pairs_twice = 2.0 * targets * (judged.lists.lengths - targets)
    won_twice = pairs_twice - sum_of_groups(above_twice, by_user)
    value: Doubles = np.full(judged.n_users, np.nan)
    np.divide(won_twice, pairs_twice, out=value, where=pairs_twice > 0)
    return value


def auc_weighted(judged: JudgedLists, k: int | None) -> float:
    """The mean of the users' AUC weighted by their numbers of rows (GAUC); NaN if all are one-class users.

    Zhu, Jin, Tan, Pan, Zeng, Li, Gai: Optimized cost per click in Taobao display advertising, KDD 2017.
    """
    values = auc(judged, None)
    both = ~np.isnan(values)
    return float(np.average(values[both], weights=judged.lists.lengths[both])) if both.any() else float("nan")


def auc_pooled(judged: JudgedLists, k: int | None) -> float:
    """P(score of a target > score of a non-target) over all rows together, a tie counts 1/2; NaN if one class lacks."""
    relevant, score = is_relevant(judged), judged.lists.score
    targets, others = np.sort(score[relevant]), np.sort(score[~relevant])
    if not len(targets) or not len(others):
        return float("nan")
    won_twice = sum(int(np.searchsorted(others, targets, side=side).sum()) for side in ("left", "right"))
    return won_twice / (2 * len(targets) * len(others))


def logloss(judged: JudgedLists, k: int | None) -> float:
    """-mean over all rows of y log p + (1 - y) log(1 - p), p the score as float64, clipped at 1e-15; NaN without rows.

    Raises:
        InputError: a score lies outside [0, 1].
    """
    score = probabilities(judged, "logloss")
    if not len(score):
        return float("nan")
    p = np.clip(score.astype(np.float64), CLIP, 1 - CLIP)
    return float(-np.log(np.where(is_relevant(judged), p, 1 - p)).mean())


def is_relevant(judged: JudgedLists) -> Bools:
    """Return which rows show a relevant target [n_rows]."""
    relevant = np.zeros(len(judged.lists), dtype=bool)
    relevant[_positive_rows(judged)] = True
    return relevant


def probabilities(judged: JudgedLists, asked_by: str) -> Array:
    """Return the scores of all rows [n_rows] if they can be probabilities.

    Raises:
        InputError: a score lies outside [0, 1].
    """
    score = judged.lists.score
    if len(score) and (score.min() < 0 or score.max() > 1):
        raise InputError(
            f"{asked_by} needs probabilities, and the scores run from {score.min():g} to {score.max():g}: give scores "
            f"between 0 and 1, or leave {asked_by} out"
        )
    return score


def confusion(judged: JudgedLists, *, threshold: float = 0.5) -> Longs:
    """Return the numbers of rows by class and prediction [actual, predicted], 1 where score >= threshold."""
    positive, predicted = _positive_rows(judged), judged.lists.score >= float(threshold)
    n, actual_1, predicted_1 = len(predicted), len(positive), np.count_nonzero(predicted)
    both = np.count_nonzero(predicted[positive])
    return np.array([[n - actual_1 - predicted_1 + both, predicted_1 - both], [actual_1 - both, both]])


def by_class(judged: JudgedLists, *, threshold: float = 0.5, beta: float = 1.0) -> tuple[Doubles, Doubles, Doubles]:
    """Return precision, recall and F of the classes 0 and 1, [2] each; 0/0 is 0."""
    rows = confusion(judged, threshold=threshold)
    precision, recall = ratio(rows.diagonal(), rows.sum(axis=0)), ratio(rows.diagonal(), rows.sum(axis=1))
    return precision, recall, ratio((1 + beta**2) * precision * recall, beta**2 * precision + recall)


def ratio(part: Array, whole: Array) -> Doubles:
    """Return part / whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(np.shape(part)), where=whole != 0)


def accuracy(judged: JudgedLists, k: int | None, *, threshold: float = 0.5) -> float:
    """Rows whose prediction (score >= threshold) is right / all rows."""
    rows = confusion(judged, threshold=threshold)
    return float(ratio(rows.trace(), rows.sum()))


def class_precision(judged: JudgedLists, k: int | None, *, threshold: float = 0.5, of: Class = 1) -> float:
    """Rows of the class among those predicted to be / rows predicted to be; "macro": the mean of both classes."""
    return _of(by_class(judged, threshold=threshold)[0], of)


def class_recall(judged: JudgedLists, k: int | None, *, threshold: float = 0.5, of: Class = 1) -> float:
    """Rows of the class that are predicted to be / rows of the class; "macro": the mean of both classes."""
    return _of(by_class(judged, threshold=threshold)[1], of)


def class_f(judged: JudgedLists, k: int | None, *, threshold: float = 0.5, beta: float = 1.0, of: Class = 1) -> float:
    """(1 + b²) P R / (b² P + R) of the class; "macro": the mean of both classes' F."""
    return _of(by_class(judged, threshold=threshold, beta=beta)[2], of)


FIGURES: dict[str, Figure] = {
    "auc": auc,
    "auc_weighted": auc_weighted,
    "auc_pooled": auc_pooled,
    "logloss": logloss,
    "accuracy": accuracy,
    "class_precision": class_precision,
    "class_recall": class_recall,
    "class_f": class_f,
    "class_f1": partial(class_f, beta=1.0),
    "class_f2": partial(class_f, beta=2.0),
    "class_f05": partial(class_f, beta=0.5),
    "class_precision_of_0": partial(class_precision, of=0),
    "class_recall_of_0": partial(class_recall, of=0),
    "class_f_of_0": partial(class_f, of=0),
    "class_precision_macro": partial(class_precision, of="macro"),
    "class_recall_macro": partial(class_recall, of="macro"),
    "class_f_macro": partial(class_f, of="macro"),
}
"""Name -> figure. ``auc`` gives one value a user, every other figure one number."""


def one_class_users(judged: JudgedLists, k: int | None) -> Notes:
    """Count the users that AUC leaves out: no target shown, nothing else shown, or nothing at all."""
    return {"auc_one_class_users": int(np.isnan(auc(judged, None)).sum())}


def clipped_rows(judged: JudgedLists, k: int | None) -> Notes:
    """Count the rows whose probability the log loss clips."""
    p = judged.lists.score.astype(np.float64)
    return {"logloss_clipped": int(((p < CLIP) | (p > 1 - CLIP)).sum())}


NOTES: dict[str, Callable[[JudgedLists, int | None], Notes]] = {
    "auc": one_class_users,
    "auc_weighted": one_class_users,
    "logloss": clipped_rows,
}
"""Name of a figure -> the counts that belong to it."""


def _positive_rows(judged: JudgedLists) -> Longs:
    """Return the rows that show a relevant target, rising."""
    return judged.hit_row[judged.relevant_hits(None)]


def _tie_starts(lists: RankedLists) -> Longs:
    """Return the first row of every run of equal scores within a list."""
    first = np.ones(len(lists), dtype=bool)
    np.not_equal(lists.score[1:], lists.score[:-1], out=first[1:])
    first[lists.indptr[:-1][lists.lengths > 0]] = True
    return np.flatnonzero(first)


def _of(values: Doubles, of: Class) -> float:
    return float(values.mean() if of == "macro" else values[of])
