"""The map: dataset -> split -> retriever -> ranker -> evaluator. Read this file first.

``Experiment.run`` is the whole flow, and ``Result`` what it returns. ``recx/core/protocols.py`` says what each
part must do, ``recx/core/types.py`` what passes between them. ``recx/jobs/launch.py`` runs an experiment that
Hydra composed: folder, tracker, printed table. ``recx/experiment/caching.py`` puts the stage cache around the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from recx.core.bounds import PositiveInt, check
from recx.core.contracts import check_same_pairs, checked
from recx.core.errors import InputError
from recx.core.evaluation import Evaluation
from recx.core.fit_summary import summary_of
from recx.core.judged_lists import JudgedLists
from recx.core.progress import Stages
from recx.core.protocols import (
    Dataset,
    Evaluator,
    FittedRanker,
    FittedRetriever,
    FoldName,
    Preflight,
    Ranker,
    Retriever,
    Splitter,
)
from recx.core.types import Array, Fold, Interactions, RankedLists, Split
from recx.evaluation import calibration
from recx.experiment.doctor import Finding, cuts_of, examine


@dataclass(frozen=True)
class Experiment:
    """One chain of parts.

    fold: ``test`` judges the last step, ``valid`` the one before, ``predict`` holds nothing out and judges nothing.
    n_candidates: how many items the retriever may hand to the ranker for each request.
    refit: fit the retriever once more, on all that is known at the fold, after the ranker has been trained one step
        earlier. False serves with the earlier model.
    """

    dataset: Dataset
    splitter: Splitter
    retriever: Retriever
    ranker: Ranker | FittedRanker
    evaluator: Evaluator
    fold: FoldName = "test"
    n_candidates: PositiveInt = 100
    refit: bool = True

    def __post_init__(self) -> None:
        check(self)

    def run(self) -> Result:
        """Run the chain once.

        Raises:
            InputError: the data or the settings cannot be used.
            RecxError: a part broke a promise of its protocol.
        """
        stage = Stages()
        if isinstance(self.ranker, Preflight):
            self.ranker.preflight()
        interactions, split = self.load_and_split(stage)
        early, ranker = self._learn_from_past(split.past, stage)

        now, late = split.fold, early
        if late is None:
            with stage("fit_retriever"):
                late = self.retriever.fit(now.history)
        with stage("retrieve"):
            candidates = self._retrieve(late, now)
        with stage("rank"):
            recommendations = ranker.rank(candidates, now.history, now.requests)
            checked(recommendations, now.requests, now.history.n_items, "the ranker")
            check_same_pairs(candidates, recommendations)

        report = None
        if now.target is not None:
            with stage("evaluate"):
                report = self.evaluator.evaluate(candidates, recommendations, now)
        made = (candidates, recommendations, report, stage.total())
        return Result(self, interactions, split, late, ranker, *made, peaks=stage.peaks, passes=stage.passes)

    def load_and_split(self, stage: Stages | None = None) -> tuple[Interactions, Split]:
        """Load the data and split it; the splitter does not see the names, which could give the answer away.

        Args:
            stage: Times both steps; None: nothing times them.

        Raises:
            InputError: the data or the settings cannot be used.
        """
        stage = stage or Stages()
        with stage("load"):
            interactions = self.dataset.load()
        with stage("split"):
            return interactions, self.splitter.split(interactions.unnamed(), self.fold)

    def _learn_from_past(self, past: Fold | None, stage: Stages) -> tuple[FittedRetriever | None, FittedRanker]:
        """Train the ranker one step back, on labels later than all that this retriever saw."""
        if not isinstance(self.ranker, Ranker):
            if self.refit or past is None:
                return None, self.ranker  # needs no training
            with stage("fit_retriever", "past"):
                return self.retriever.fit(past.history), self.ranker
        if past is None:
            raise InputError(
                f"the ranker {type(self.ranker).__name__} learns from the step before the fold, and this split has "
                "none: choose ranker=identity, or a split with a past"
            )
        with stage("fit_retriever", "past"):
            early = self.retriever.fit(past.history)
        with stage("retrieve", "past"):
            candidates = self._retrieve(early, past)
        with stage("fit_ranker"):
            ranker = self.ranker.fit(candidates, past)
        return None if self.refit else early, ranker

    def _retrieve(self, retriever: FittedRetriever, fold: Fold) -> RankedLists:
        k = min(self.n_candidates, fold.history.n_items)
        candidates = retriever.retrieve(fold.history, fold.requests, k)
        return checked(candidates, fold.requests, fold.history.n_items, "the retriever")


@dataclass(frozen=True, eq=False)
class Result:
    """What one run of an experiment made.

    retriever, ranker: as they were used (fitted). report: None when predicting. seconds: by stage, and ``total``.
    hits: stage -> outcomes that came from the stage cache; None where none was in use. peaks: stage -> the most memory
    (MiB) that the process had held when the stage was done. passes: stage -> how often it was gone through.
    """

    experiment: Experiment
    interactions: Interactions
    split: Split
    retriever: FittedRetriever
    ranker: FittedRanker
    candidates: RankedLists
    recommendations: RankedLists
    report: Evaluation | None
    seconds: Mapping[str, float]
    hits: Mapping[str, int] | None = None
    peaks: Mapping[str, float] = field(default_factory=dict)
    passes: Mapping[str, int] = field(default_factory=dict)

    @cached_property
    def notes(self) -> dict[str, float]:
        """Every count that a part noted of what it dropped, mended or found odd."""
        return {
            **self.interactions.notes,
            **self.split.notes,
            **summary_of(self.retriever).notes,
            **self.candidates.notes,
            **self.recommendations.notes,
            **summary_of(self.ranker).notes,
            **({} if self.report is None else self.report.notes),
        }

    @cached_property
    def findings(self) -> list[Finding]:
        """What there is to say about the data and about the fold that is judged (see ``recx.experiment.doctor``)."""
        return examine(self.interactions, self.split, cuts_of(self.experiment.evaluator))

    @cached_property
    def weights(self) -> dict[str, float]:
        """What the ranker learnt for each feature, by name; {} for a ranker without weights."""
        return {name: float(weight) for name, weight in summary_of(self.ranker).weights.items()}

    @cached_property
    def importances(self) -> dict[str, float]:
        """Each feature's share of the importance of all, by name; {} for a ranker that does not report it."""
        return {name: float(share) for name, share in summary_of(self.ranker).importances.items()}

    @cached_property
    def curves(self) -> dict[str, Sequence[float]]:
        """What the fitted parts tell of their training: a figure's name -> its value after each epoch."""
        return {**summary_of(self.retriever).curves, **summary_of(self.ranker).curves}

    @cached_property
    def tables(self) -> dict[str, Mapping[str, Array]]:
        """Every curve and table: the report's, what the fitted parts learnt, and how well the ranker is calibrated."""
        return {
            **({} if self.report is None else self.report.tables),
            **summary_of(self.retriever).tables,
            **summary_of(self.ranker).tables,
            **calibration.tables(self._held_out),
        }

    @cached_property
    def _held_out(self) -> dict[str, JudgedLists]:
        past = self.split.past
        return {} if past is None else calibration.judged(summary_of(self.ranker).held_out, past)

    @cached_property
    def metrics(self) -> dict[str, float]:
        """Every figure of the run by its full name.

        They are the report's, the number of users judged, what the ranker learnt (``weight/``, ``importance/``,
        ``calibration/``), ``time/`` in seconds and ``data/`` counts.
        """
        requests, target = self.split.fold.requests, self.split.fold.target
        counts = {
            "users": self.interactions.n_users,
            "items": self.interactions.n_items,
            "events": len(self.interactions),
            "requests": len(requests),
            **({} if target is None else {"targets": len(target)}),
            "candidates": len(self.candidates),
            "candidates_per_request": len(self.candidates) / max(1, len(requests)),
            **({} if self.hits is None else {"cache_hits": sum(self.hits.values())}),
        }
        counts = {**counts, **self.notes, **counts}  # sizes stand first, and no note can take their name
        return {
            **({} if self.report is None else {**self.report.means, "num_queries": float(len(self.report.users))}),
            **summary_of(self.ranker).metrics,
            **calibration.figures(self._held_out),
            **{f"time/{stage}": float(seconds) for stage, seconds in self.seconds.items()},
            **{f"data/{name}": float(count) for name, count in counts.items()},
        }
