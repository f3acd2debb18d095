"""Judges a run on three lines (candidates, ranker, the whole) and says where hits are lost between them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recx.errors import InputError, RecxError
from recx.evaluator.funnel import funnel
from recx.evaluator.metric import parse
from recx.protocols import Metric
from recx.truth import Truth, among_retrieved
from recx.types import Doubles, Fold, Judged, RankedLists, Report

LINES = ("retrieval", "ranking", "end_to_end")


@dataclass(frozen=True)
class Evaluator:
    """The metrics of each line, by name (``ndcg_at_10``) or as objects that keep ``recx.protocols.Metric``.

    n_candidates: how many candidates a list has at most. A metric cut further down would promise what it cannot see:
        it is left out and counted.
    rel_threshold: a target is relevant from this grade or weight on.
    max_grade: the highest grade that there can be; ``err`` needs it.
    """

    retrieval: Sequence[str | Metric]
    ranking: Sequence[str | Metric]
    end_to_end: Sequence[str | Metric]
    n_candidates: int = 100
    rel_threshold: float = 1.0
    max_grade: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.n_candidates, bool) or not isinstance(self.n_candidates, int) or self.n_candidates < 1:
            raise InputError(f"evaluator.n_candidates={self.n_candidates!r}: it must be a whole number from 1 up")
        if not 0 < self.rel_threshold < np.inf:
            raise InputError(f"evaluator.rel_threshold={self.rel_threshold!r}: it must be a number above 0, such as 1")
        if self.max_grade is not None and not 0 < self.max_grade < np.inf:
            raise InputError(f"evaluator.max_grade={self.max_grade!r}: it must be a number above 0, such as 5, or null")
        for line in LINES:
            if isinstance(getattr(self, line), str):
                raise InputError(f"evaluator.{line}={getattr(self, line)!r}: give a list, such as [ndcg_at_5]")
            object.__setattr__(self, line, tuple(getattr(self, line)))
            self.metrics(line)

    def metrics(self, line: str) -> list[Metric]:
        """Return the metrics of a line as they were asked for, those that are cut too far down included.

        Raises:
            InputError: a name is not a metric's, or stands there twice.
        """
        metrics = [_metric(given, f"evaluator.{line}", self.max_grade) for given in getattr(self, line)]
        names = [metric.name for metric in metrics]
        for name in names:
            if names.count(name) > 1:
                raise InputError(f"evaluator.{line}: the metric {name!r} stands there twice: take one away")
        return metrics

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names, with their line, of the metrics that are cut above ``n_candidates`` and so not reported."""
        return tuple(f"{line}/{m.name}" for line in LINES for m in self.metrics(line) if not self._reports(m))

    def _reports(self, metric: Metric) -> bool:
        cut = _cut(metric)
        return cut is None or cut <= self.n_candidates

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Report:
        """Return every figure of the three lines and the funnel, a value a user with a target.

        Raises:
            InputError: there is nothing to judge (see ``recx.truth``), or a grade is above ``max_grade``.
            RecxError: the ranker added an item, or a metric did not return one value a user or one number.
        """
        truth = Truth.of(fold, self.rel_threshold)
        retrieval, end_to_end = truth.judge(candidates), truth.judge(recommendations)
        judged = {
            "retrieval": retrieval,
            "ranking": among_retrieved(end_to_end, retrieval),
            "end_to_end": end_to_end,
        }
        values: dict[str, Doubles] = {}
        scalars: dict[str, float] = {}
        for line in LINES:
            place = np.searchsorted(truth.user, judged[line].lists.user)
            for metric in filter(self._reports, self.metrics(line)):
                outcome = _outcome(metric, judged[line])
                if isinstance(outcome, float):
                    scalars[f"{line}/{metric.name}"] = outcome
                else:
                    values[f"{line}/{metric.name}"] = np.full(len(truth.user), np.nan)
                    values[f"{line}/{metric.name}"][place] = outcome
            scalars[f"{line}/users"] = float(judged[line].n_users)
        values |= funnel(retrieval, end_to_end, self._cuts("ranking"))
        notes = {**truth.notes, **self._notes(recommendations, end_to_end)}
        return Report(truth.user, values, scalars, notes)

    def _cuts(self, *lines: str) -> list[int]:
        """Return the cuts of the metrics that these lines report, smallest first."""
        metrics = [metric for line in lines for metric in self.metrics(line)]
        return sorted({cut for m in metrics if self._reports(m) and (cut := _cut(m)) is not None})

    def _notes(self, recommendations: RankedLists, end_to_end: Judged) -> Mapping[str, float]:
        without_list = end_to_end.lists.lengths == 0
        return {
            "users_without_target": int((~np.isin(recommendations.user, end_to_end.lists.user)).sum()),
            "users_without_list": int(without_list.sum()),
            "cut_above_n_candidates": len(self.left_out),
            **{f"tied_at_{k}": _tied(end_to_end.lists, k) for k in self._cuts("ranking", "end_to_end")},
        }


def _metric(given: str | Metric, key: str, max_grade: float | None) -> Metric:
    if isinstance(given, str):
        try:
            return parse(given, max_grade)
        except InputError as error:
            raise InputError(f"{key}: {error}") from None
    name = getattr(given, "name", None)
    if not callable(given) or not isinstance(name, str):
        raise InputError(
            f"{key}: {given!r} is not a metric: give a name, such as ndcg_at_5, or an object that keeps Metric"
        )
    if not re.fullmatch("[A-Za-z0-9_]+", name):
        raise InputError(f"{key}: the name {name!r} of a metric may hold letters, digits and _ alone: rename it")
    return given


def _cut(metric: Metric) -> int | None:
    """Return where a metric cuts the lists; None if it does not, or does not say."""
    return getattr(metric, "k", None)


def _outcome(metric: Metric, judged: Judged) -> Doubles | float:
    outcome = np.asarray(metric(judged), dtype=np.float64)
    if outcome.ndim == 0:
        return float(outcome)
    if outcome.shape != (judged.n_users,):
        raise RecxError(
            f"the metric {metric.name!r} must return one number, or one for each of the {judged.n_users} users, and "
            f"returned an array of {outcome.shape}"
        )
    return outcome


def _tied(lists: RankedLists, k: int) -> float:
    """Return the share of lists whose items at ranks k and k + 1 have one score: their order decides a value at k."""
    last = lists.indptr[:-1][lists.lengths > k] + k - 1
    return float((lists.score[last] == lists.score[last + 1]).sum() / lists.n_lists)
