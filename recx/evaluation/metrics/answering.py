"""Figures of chains that may abstain: how often they answer, how often an answer is right, and risk against coverage.

A request is answered if the first item of its list is not the one that stands for no answer (see
``recx.core.abstaining``). Of a request that nothing answers, this item is the target, so that hit, recall and top-1
accuracy count a right abstention as right. None of these figures uses the cut ``k``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from recx.core.abstaining import abstains
from recx.core.errors import InputError
from recx.core.judged_lists import JudgedLists
from recx.core.ragged import first_rows
from recx.core.types import Array, Bools, Doubles, Ints
from recx.evaluation.metrics.classification import is_relevant
from recx.evaluation.metrics.ranking import Figure, hit


def answered(judged: JudgedLists, k: int | None) -> Doubles:
    """1 if the first item is an answer, 0 if it stands for none or the list is empty."""
    first = _first(judged)
    return ((first >= 0) & ~_abstained(judged, first)).astype(np.float64)


def answer_precision(judged: JudgedLists, k: int | None) -> Doubles:
    """1 if the answer is right, 0 if it is wrong; NaN for users who get none."""
    return np.where(answered(judged, None) > 0, hit(judged, 1), np.nan)


def abstain_precision(judged: JudgedLists, k: int | None) -> Doubles:
    """1 if nothing answers the request, 0 if something does; NaN where the chain did not abstain.

    Raises:
        InputError: The data has no item that stands for no answer.
    """
    _require_abstaining(judged, "abstain_precision")
    return np.where(_abstained(judged, _first(judged)), hit(judged, 1), np.nan)


def abstain_recall(judged: JudgedLists, k: int | None) -> Doubles:
    """1 if the chain abstained from a request that nothing answers, 0 if not; NaN for all other requests.

    Raises:
        InputError: The data has no item that stands for no answer.
    """
    _require_abstaining(judged, "abstain_recall")
    wanted = abstains(judged.items)[judged.ideal_item] & (judged.ideal >= judged.rel_threshold)
    user = np.repeat(np.arange(judged.n_users), np.diff(judged.ideal_indptr))
    nothing = np.bincount(user[wanted], minlength=judged.n_users) > 0
    return np.where(nothing, _abstained(judged, _first(judged)), np.nan)


def aurc(judged: JudgedLists, k: int | None) -> float:
    """The area under the risk–coverage curve: the mean risk of answering the 1, 2 ... n surest requests.

    Geifman, Uziel, El-Yaniv: Bias-reduced uncertainty estimation for deep neural classifiers, ICLR 2019. Requests that
    are equally sure count with the mean of their errors.

    Raises:
        InputError: Some lists have the item that stands for no answer and others lack it.
    """
    sure = _Sure.of(judged, "aurc")
    n = len(sure.wrong)
    return float(np.mean(np.cumsum(sure.in_expectation) / np.arange(1, n + 1))) if n else float("nan")


def risk_coverage(judged: JudgedLists, *, points: int = 1000) -> dict[str, Array]:
    """Return the risk–coverage curve: what share of the answers is wrong if only the surest requests are answered.

    El-Yaniv, Wiener: On the foundations of noise-free selective classification, JMLR 11 (2010). A request's answer is
    its best item other than the one that stands for no answer, and its confidence that item's score, less the score of
    the one that stands for no answer if the lists have it. Without it scores must compare between requests, as
    probabilities do.

    Args:
        judged: The judged lists.
        points: The number of points kept of a longer curve, at equal distances in coverage.

    Returns:
        confidence (falling), coverage (the share of requests that are at least that sure), risk (the share of these
        whose answer is wrong). A request without any answer comes last, at the confidence -inf, and is wrong.

    Raises:
        InputError: Some lists have the item that stands for no answer and others lack it.
    """
    sure = _Sure.of(judged, "risk_coverage")
    last = np.flatnonzero(np.append(sure.confidence[1:] != sure.confidence[:-1], True))
    if not len(sure.wrong):
        last = last[:0]
    coverage = (last + 1) / max(1, len(sure.wrong))
    if len(last) > points:
        last = last[np.unique(np.searchsorted(coverage, np.linspace(coverage[0], 1, points)).clip(0, len(last) - 1))]
        coverage = (last + 1) / len(sure.wrong)
    return {
        "confidence": sure.confidence[last],
        "coverage": coverage,
        "risk": np.cumsum(sure.wrong)[last] / (last + 1),
    }


@dataclass(frozen=True, eq=False)
class _Sure:
    """Requests, the surest first.

    Attributes:
        confidence: Of each request's answer [n_users], falling.
        wrong: Whether it is wrong [n_users].
    """

    confidence: Doubles
    wrong: Bools

    @classmethod
    def of(cls, judged: JudgedLists, figure: str) -> _Sure:
        lists = judged.lists
        nothing = abstains(judged.items)[lists.item]
        confidence, wrong = np.full(judged.n_users, -np.inf), np.ones(judged.n_users, dtype=bool)
        of_row = lists.list_of_row
        user, first = np.unique(of_row[~nothing], return_index=True)
        row = np.flatnonzero(~nothing)[first]
        confidence[user] = lists.score[row]
        wrong[user] = ~is_relevant(judged)[row]
        offered, first = np.unique(of_row[nothing], return_index=True)
        lacking = np.setdiff1d(user, offered, assume_unique=True)
        if len(offered) and len(lacking):
            raise InputError(
                f"{figure} compares an answer with the item that stands for none, which {len(lacking)} of the "
                f"{judged.n_users} lists lack: choose retriever=abstain, or leave {figure} out"
            )
        confidence[offered] -= lists.score[np.flatnonzero(nothing)[first]]
        order = np.argsort(-confidence, kind="stable")
        return cls(confidence[order], wrong[order])

    @property
    def in_expectation(self) -> Doubles:
        """The errors, those of equally sure requests replaced by their mean [n_users]."""
        _, run, size = np.unique(-self.confidence, return_inverse=True, return_counts=True)
        return np.asarray((np.bincount(run, weights=self.wrong) / size)[run])


def _first(judged: JudgedLists) -> Ints:
    """Return the first item of every list, -1 of an empty one [n_users]."""
    rows, _ = first_rows(judged.lists.indptr, 1)
    first = np.full(judged.n_users, -1, dtype=np.int32)
    first[judged.lists.lengths > 0] = judged.lists.item[rows]
    return first


def _abstained(judged: JudgedLists, first: Ints) -> Bools:
    return np.append(abstains(judged.items), False)[first]


def _require_abstaining(judged: JudgedLists, figure: str) -> None:
    if not abstains(judged.items).any():
        raise InputError(
            f"{figure} needs an item that stands for no answer, and the data has none: set dataset.abstain=NAME (in "
            f"recx.evaluate: a column is_abstain of items), or leave {figure} out"
        )


FIGURES: dict[str, Figure] = {
    figure.__name__: figure for figure in (answered, answer_precision, abstain_precision, abstain_recall, aurc)
}
"""Name -> figure. ``aurc`` is one number, every other figure gives one value per user."""
