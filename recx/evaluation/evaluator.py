"""Judges a run on three lines (candidates, ranker, the whole) and says where hits are lost between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from recx.core.bounds import PositiveFloat, PositiveInt, check
from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.ragged import sum_of_groups
from recx.core.types import Array, Doubles, Fold, Interactions, RankedLists
from recx.evaluation.funnel import funnel
from recx.evaluation.ground_truth import GroundTruth, among_retrieved
from recx.evaluation.measure import cut_of, cuts_of, measure, tied
from recx.evaluation.metrics.curves import TABLES
from recx.evaluation.metrics.ranking import Grade
from recx.evaluation.metrics.registry import resolve

LINES = ("retrieval", "ranking", "end_to_end")


@dataclass(frozen=True)
class Evaluator:
    """The metrics of each line, by name (``ndcg_at_10``) or as objects that keep ``recx.core.protocols.Metric``.

    n_candidates: how many candidates a list has at most. A metric cut further down would promise what it cannot see:
        it is left out and counted.
    rel_threshold: a target is relevant from this grade or weight on.
    max_grade: the highest grade that there can be; ``err`` and ``cascade`` need it.
    threshold: the score from which a row is predicted to be a target (accuracy, class_precision ...).
    tables: curves and tables of the recommendations against all targets: see ``recx.evaluation.metrics.curves``.
    """

    retrieval: Sequence[str | Metric]
    ranking: Sequence[str | Metric]
    end_to_end: Sequence[str | Metric]
    n_candidates: PositiveInt = 100
    rel_threshold: PositiveFloat = 1.0
    max_grade: Grade | None = None
    threshold: float = 0.5
    tables: Sequence[str] = ()

    def __post_init__(self) -> None:
        check(self, "evaluator")
        for line in LINES:
            self.metrics(line)
        for name in self.tables:
            if name not in TABLES:
                raise InputError(f"evaluator.tables: there is no table {name!r}: {did_you_mean(name, TABLES)}")
            if name == "cascade" and self.max_grade is None:
                raise InputError(
                    "evaluator.tables: cascade needs the highest grade that there can be: set evaluator.max_grade"
                )

    @property
    def named_parts(self) -> list[Metric]:
        """Every metric, which the settings may only name: what figures depend on (``recx.storage.cache.keys``)."""
        return [metric for line in LINES for metric in self.metrics(line)]

    def metrics(self, line: str) -> list[Metric]:
        """Return the metrics of a line as they were asked for, those that are cut too far down included.

        Raises:
            InputError: a name is not a metric's, or stands there twice.
        """
        metrics = [self._metric(given, line) for given in getattr(self, line)]
        names = [metric.name for metric in metrics]
        for name in names:
            if names.count(name) > 1:
                raise InputError(
                    f"evaluator.{line}: the metric {name!r} stands there twice: take one away, or give it a label"
                )
        return metrics

    def _metric(self, given: str | Metric, line: str) -> Metric:
        try:
            metric = resolve(given, self._defaults)
        except InputError as error:
            raise InputError(f"evaluator.{line}: {error}") from None
        own = getattr(metric, "rel_threshold", None)
        if own is not None and own < self.rel_threshold:
            raise InputError(
                f"evaluator.{line}: the metric {metric.name!r} counts targets from {own:g} on and the evaluator from "
                f"{self.rel_threshold:g}, which leaves users out that the metric counts: lower evaluator.rel_threshold"
            )
        return metric

    @property
    def _defaults(self) -> Mapping[str, float | None]:
        return {"max_grade": self.max_grade, "threshold": self.threshold, "rel_threshold": self.rel_threshold}

    @property
    def left_out(self) -> tuple[str, ...]:
        """Names, with their line, of the metrics that are cut above ``n_candidates`` and so not reported."""
        return tuple(f"{line}/{m.name}" for line in LINES for m in self.metrics(line) if not self._reports(m))

    def _reports(self, metric: Metric) -> bool:
        cut = cut_of(metric)
        return cut is None or cut <= self.n_candidates

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        """Return every figure of the three lines and the funnel, a value a user with a target.

        Raises:
            InputError: there is nothing to judge, or a grade is above ``max_grade``.
            RecxError: the ranker added an item, or a metric did not return one value a user or one number.
        """
        truth = GroundTruth.of(fold, self.rel_threshold)
        retrieval, end_to_end = truth.judge(candidates), truth.judge(recommendations)
        judged = {
            "retrieval": retrieval,
            "ranking": among_retrieved(end_to_end, retrieval),
            "end_to_end": end_to_end,
        }
        values: dict[str, Doubles] = {}
        scalars: dict[str, float] = {}
        notes = {**truth.notes, **self._notes(recommendations, end_to_end)}
        for line in LINES:
            of_users, of_all, counts = measure(filter(self._reports, self.metrics(line)), judged[line])
            place = np.searchsorted(truth.user, judged[line].lists.user)
            for name, value in of_users.items():
                values[f"{line}/{name}"] = np.full(len(truth.user), np.nan)
                values[f"{line}/{name}"][place] = value
            scalars |= {f"{line}/{name}": number for name, number in of_all.items()}
            scalars[f"{line}/users"] = float(judged[line].n_users)
            notes |= {f"{line}_{name}": count for name, count in counts.items()}
        values |= funnel(retrieval, end_to_end, self._cuts("ranking"))
        return Evaluation(
            fold.history.users.ids[truth.user],
            values,
            scalars,
            notes,
            slices=slices_of(truth, fold.history),
            tables=self._tables(end_to_end),
        )

    def _tables(self, judged: JudgedLists) -> dict[str, dict[str, Array]]:
        settings: dict[str, dict[str, float]] = {
            "confusion_matrix": {"threshold": self.threshold},
            "classification": {"threshold": self.threshold},
            "cascade": {"max_grade": self.max_grade or np.nan},
        }
        return {name: TABLES[name](judged, **settings.get(name, {})) for name in self.tables}

    @property
    def cuts(self) -> list[int]:
        """The cuts of all metrics, smallest first, those above ``n_candidates`` included."""
        return cuts_of(self.named_parts)

    def _cuts(self, *lines: str) -> list[int]:
        """Return the cuts of the metrics that these lines report, smallest first."""
        return cuts_of(filter(self._reports, (metric for line in lines for metric in self.metrics(line))))

    def _notes(self, recommendations: RankedLists, end_to_end: JudgedLists) -> dict[str, float]:
        without_list = end_to_end.lists.lengths == 0
        return {
            "users_without_target": int((~np.isin(recommendations.user, end_to_end.lists.user)).sum()),
            "users_without_list": int(without_list.sum()),
            "cut_above_n_candidates": len(self.left_out),
            **{f"tied_at_{k}": tied(end_to_end.lists, k) for k in self._cuts("ranking", "end_to_end")},
        }


def slices_of(truth: GroundTruth, history: Interactions) -> dict[str, Doubles]:
    """Return what users may be grouped by when runs are compared [n_users each].

    history_length: how many events the user's history has. item_popularity: how many events of anyone's history are
    of his targets, on average.
    """
    lengths = np.zeros(len(truth.user))
    known = truth.user < history.n_users
    lengths[known] = history.lengths[truth.user[known]]
    clicks = sum_of_groups(history.clicks[truth.item].astype(np.float64), truth.indptr)
    return {"history_length": lengths, "item_popularity": clicks / np.diff(truth.indptr)}
