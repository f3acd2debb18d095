"""Evaluates a run in three stages (candidates, ranker, the whole) and shows where hits are lost between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Literal

import numpy as np

from recx.core.ann_recall import ann_recalls
from recx.core.bounds import PositiveFloat, PositiveInt, Seed, check
from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Metric
from recx.core.types import Doubles, Fold, RankedLists
from recx.evaluation.blocks import Blocks, Figure, Stages, by_blocks
from recx.evaluation.funnel import funnel
from recx.evaluation.ground_truth import GroundTruth, among_retrieved
from recx.evaluation.measure import Measured, cuts_of, measure, needs_all, tied
from recx.evaluation.metrics.classification import NEED_PROBABILITIES
from recx.evaluation.metrics.curves import OF_ALL_ROWS, TABLES
from recx.evaluation.metrics.drawn import DrawnMetric
from recx.evaluation.metrics.ranking import Grade, hit
from recx.evaluation.metrics.registry import resolve_all
from recx.evaluation.metrics.sampled import SampledMetric
from recx.evaluation.negatives import Negatives
from recx.evaluation.slices import slices_of
from recx.evaluation.traces import Traces

STAGES = ("retrieval", "ranking", "end_to_end")


@dataclass(frozen=True)
class Evaluator:
    """The metrics of each stage, by name (``ndcg_at_10``) or as objects that keep ``recx.core.protocols.Metric``.

    Attributes:
        retrieval: Metrics of the candidates against all targets.
        ranking: Metrics of the recommendations against the targets that are among the candidates.
        end_to_end: Metrics of the recommendations against all targets.
        n_candidates: The greatest length of a list of candidates. A metric with a larger cut would look beyond the
            end of the lists; it is left out and counted.
        rel_threshold: The grade or weight from which a target is relevant.
        max_grade: The highest possible grade; ``err`` and ``cascade`` need it.
        threshold: The score from which a row is predicted to be a target (accuracy, class_precision ...).
        negatives: Where the items come from that sampled metrics, such as ``ndcg_at_10_sampled_100``, rank the target
            among: ``given``, the lists consist of the target and these items; ``uniform`` or ``popularity``, they are
            drawn for each request (see ``recx.evaluation.negatives``), without the correction, which is for uniform
            ones, by popularity.
        negatives_seed: The seed of these draws, the same for all runs that are to be compared.
        tables: Curves and tables of the recommendations against all targets, see
            ``recx.evaluation.metrics.curves``.
    """

    retrieval: Sequence[str | Metric]
    ranking: Sequence[str | Metric]
    end_to_end: Sequence[str | Metric]
    n_candidates: PositiveInt = 100
    rel_threshold: PositiveFloat = 1.0
    max_grade: Grade | None = None
    threshold: float = 0.5
    negatives: Literal["given", "uniform", "popularity"] = "given"
    negatives_seed: Seed = 0
    tables: Sequence[str] = ()

    def __post_init__(self) -> None:
        check(self, "evaluator")
        for stage in STAGES:
            self.metrics(stage)
        for name in self.tables:
            if name not in TABLES:
                raise InputError(f"evaluator.tables: there is no table {name!r}: {did_you_mean(name, TABLES)}")
            if name == "cascade" and self.max_grade is None:
                raise InputError("evaluator.tables: cascade needs the highest possible grade: set evaluator.max_grade")

    @property
    def named_parts(self) -> list[Metric]:
        """Every metric, of which the settings may only hold the name: what figures depend on in cache keys."""
        return [metric for stage in STAGES for metric in self.metrics(stage)]

    @property
    def cuts(self) -> list[int]:
        """The cuts of all metrics, smallest first, including those above ``n_candidates``."""
        return cuts_of(self.named_parts)

    @property
    def left_out(self) -> tuple[str, ...]:
        """``stage/name`` of the metrics that are not reported because their cut is above ``n_candidates``."""
        return tuple(f"{stage}/{m.name}" for stage in STAGES for m in self.metrics(stage) if not self._reports(m))

    def metrics(self, stage: str) -> list[Metric]:
        """Return the metrics of a stage as configured, including those with a cut above ``n_candidates``.

        Raises:
            InputError: A name is unknown or listed twice, or a metric counts targets that the evaluator does not.
        """
        return list(self._metrics[stage])

    def need_probabilities(self, key: str) -> list[str]:
        """Return the names of the metrics of a stage, or of the ``tables``, that need probabilities as scores."""
        if key == "tables":
            return [name for name in self.tables if name in NEED_PROBABILITIES]
        return [one.name for one in self.metrics(key) if getattr(one, "figure", None) in NEED_PROBABILITIES]

    @cached_property
    def _metrics(self) -> dict[str, list[Metric]]:
        """The metrics of every stage; those of plugins and projects are looked for among all option files."""
        return {stage: self._resolved(stage) for stage in STAGES}

    def _resolved(self, stage: str) -> list[Metric]:
        defaults = {"max_grade": self.max_grade, "threshold": self.threshold, "rel_threshold": self.rel_threshold}
        metrics = resolve_all(getattr(self, stage), defaults, f"evaluator.{stage}", self.negatives != "popularity")
        for metric in metrics:
            own = getattr(metric, "rel_threshold", None) or self.rel_threshold
            if own < self.rel_threshold:
                raise InputError(
                    f"evaluator.{stage}: the metric {metric.name!r} counts targets from {own:g} on and the evaluator "
                    f"from {self.rel_threshold:g}, so users whom the metric counts would be left out: lower "
                    "evaluator.rel_threshold"
                )
        return metrics

    def _reports(self, metric: Metric) -> bool:
        return (getattr(metric, "k", None) or 0) <= self.n_candidates

    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation:
        """Compute every figure of the three stages and of the funnel, with one value per user with a target.

        Where the users' table has a column ``trace``, ``end_to_end`` has the figures of whole traces too (see
        ``recx.evaluation.traces``).

        Raises:
            InputError: There is nothing to judge, or a grade is above ``max_grade``.
            RecxError: The ranker added an item, or a metric returned neither one value per user nor one number.
        """
        truth = GroundTruth.of(fold, self.rel_threshold)
        found = by_blocks(
            self._figures(self._drawn(truth, fold)),
            Blocks(truth, [candidates, recommendations]),
            _stages,
            self._at_once(),
        )
        counts = found["counts"].notes
        values: dict[str, Doubles] = {}
        scalars = {f"retrieval/{name}": recall for name, recall in ann_recalls(candidates.notes).items()}
        notes = {
            **truth.notes,
            "users_without_target": int((~np.isin(recommendations.user, truth.user)).sum()),
            "users_without_list": counts["users_without_list"],
            "cut_above_n_candidates": len(self.left_out),
            **found["tied"].numbers,
        }
        for stage in STAGES:
            for metric in self._reported(stage):
                measured = found[f"{stage}/{metric.name}"]
                values |= measured.values
                scalars |= measured.numbers
                notes |= measured.notes
            scalars[f"{stage}/users"] = float(counts[f"{stage}/users"])
        values |= found["funnel"].values
        traces = Traces.of(fold.history.users, truth.user)
        if traces is not None:
            right = found["first_is_right"].values["first_is_right"]
            values["end_to_end/trace_success"] = traces.success(right)
            scalars |= {f"end_to_end/{name}": number for name, number in traces.numbers(right).items()}
            notes |= traces.notes
        return Evaluation(
            fold.history.users.ids[truth.user],
            values,
            scalars,
            notes,
            slices=slices_of(truth, fold.history),
            tables={name: found[f"tables/{name}"].found[name] for name in self.tables},
        )

    def _drawn(self, truth: GroundTruth, fold: Fold) -> dict[str, Metric]:
        """Return the sampled metrics with drawn negatives, by ``stage/name``."""
        named = {f"{stage}/{metric.name}": metric for stage in STAGES for metric in self._reported(stage)}
        sampled = {name: metric for name, metric in named.items() if isinstance(metric, SampledMetric)}
        if self.negatives == "given" or not sampled:
            return {}
        negatives = Negatives(fold, self.negatives, self.negatives_seed)
        catalogue = round(float(negatives.pools(truth.user).mean())) + 1
        return {name: DrawnMetric(replace(one, catalogue=catalogue), negatives) for name, one in sampled.items()}

    def _figures(self, drawn: Mapping[str, Metric]) -> dict[str, Figure]:
        """Name -> what computes some of the figures from the judged lists of the three stages."""
        known = [(stage, metric) for stage in STAGES for metric in self._reported(stage)]
        metrics = [(stage, drawn.get(f"{stage}/{metric.name}", metric)) for stage, metric in known]
        cuts = cuts_of([*self._reported("ranking"), *self._reported("end_to_end")])
        ranking_cuts = cuts_of(self._reported("ranking"))
        return {
            **{f"{stage}/{metric.name}": partial(_of_stage, stage, metric) for stage, metric in metrics},
            "funnel": lambda of: Measured(funnel(of["retrieval"], of["end_to_end"], ranking_cuts)),
            "tied": lambda of: tied(of["end_to_end"].lists, cuts),
            "counts": _counts,
            "first_is_right": lambda of: Measured({"first_is_right": hit(of["end_to_end"], 1)}),
            **{f"tables/{name}": partial(self._table, name) for name in self.tables},
        }

    def _at_once(self) -> list[str]:
        metrics = [
            f"{stage}/{metric.name}" for stage in STAGES for metric in self._reported(stage) if needs_all(metric)
        ]
        return [*metrics, *(f"tables/{name}" for name in self.tables if name in OF_ALL_ROWS)]

    def _reported(self, stage: str) -> list[Metric]:
        return list(filter(self._reports, self.metrics(stage)))

    def _table(self, name: str, of: Stages) -> Measured:
        settings: dict[str, dict[str, float]] = {
            "confusion_matrix": {"threshold": self.threshold},
            "classification": {"threshold": self.threshold},
            "cascade": {"max_grade": self.max_grade or np.nan},
        }
        return Measured({name: TABLES[name](of["end_to_end"], **settings.get(name, {}))})


def _stages(retrieval: JudgedLists, end_to_end: JudgedLists) -> Stages:
    return {"retrieval": retrieval, "ranking": among_retrieved(end_to_end, retrieval), "end_to_end": end_to_end}


def _of_stage(stage: str, metric: Metric, of: Stages) -> Measured:
    """Compute a metric of a stage, with a value for every judged user."""
    measured = measure(metric, of[stage])
    found = {
        f"{stage}/{name}": of["end_to_end"].spread(one, of[stage]) if isinstance(one, np.ndarray) else one
        for name, one in measured.found.items()
    }
    return replace(measured, found=found, notes={f"{stage}_{name}": n for name, n in measured.notes.items()})


def _counts(of: Stages) -> Measured:
    users = {f"{stage}/users": judged.n_users for stage, judged in of.items()}
    return Measured({}, {**users, "users_without_list": int((of["end_to_end"].lists.lengths == 0).sum())})
