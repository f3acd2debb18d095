"""The map: dataset -> split -> retriever -> ranker -> evaluator. Read this file first.

``Experiment.run`` is the whole flow, and ``Result`` what it returns. ``recx/core/protocols.py`` defines what each
part must do, ``recx/core/types.py`` what passes between them. ``recx/jobs/launch.py`` runs an experiment that
Hydra composed: folder, tracker, printed table. ``recx/experiment/caching.py`` puts the stage cache around the parts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from recx.core.bounds import PositiveInt, check
from recx.core.contracts import check_type
from recx.core.errors import InputError, did_you_mean
from recx.core.evaluation import Evaluation
from recx.core.filters import Filter
from recx.core.fit_summary import summary_of
from recx.core.judged_lists import JudgedLists
from recx.core.preflight import preflight
from recx.core.progress import Stages
from recx.core.protocols import (
    Dataset,
    Engine,
    Evaluator,
    FittedRanker,
    FittedRetriever,
    FoldName,
    Ranker,
    Retriever,
    Splitter,
    is_trained,
)
from recx.core.types import Array, Fold, Interactions, RankedLists, Split
from recx.evaluation import calibration
from recx.experiment.blocks import Serving, serve
from recx.experiment.doctor import Finding, examined
from recx.experiment.engine.local import Local
from recx.experiment.files import per_user_of
from recx.experiment.list_files import ListTable
from recx.experiment.loading import load
from recx.experiment.past_sample import drawn
from recx.experiment.shown import Overview

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Experiment:
    """One chain of parts.

    Attributes:
        dataset: Loads the data.
        splitter: Splits it into the history, the requests and the targets of a fold.
        retriever: Finds candidates for each request.
        ranker: Orders the candidates; one that learns is trained on the past fold.
        evaluator: Compares the lists with the targets.
        fold: ``test`` evaluates the last step, ``valid`` the one before; ``predict`` holds nothing out.
        n_candidates: How many items the retriever may pass to the ranker for each request.
        refit: Whether to fit the retriever again on all that is known at the fold, after the ranker was trained one
            step earlier; False serves with the earlier model.
        engine: Serves the blocks of requests.
        at_once: How many requests are a block; None: ``blocks.REQUESTS``.
        filters: What is left out of the data, by name, in this order.
    """

    dataset: Dataset
    splitter: Splitter
    retriever: Retriever
    ranker: Ranker | FittedRanker
    evaluator: Evaluator
    fold: FoldName = "test"
    n_candidates: PositiveInt = 100
    refit: bool = True
    engine: Engine = field(default_factory=Local)
    at_once: PositiveInt | None = None
    filters: Mapping[str, Filter] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check(self)
        if not callable(getattr(self.dataset, "load", None)):
            raise InputError(
                f"the dataset is a {type(self.dataset).__name__} and has no method load(): give an object whose load() "
                "returns Interactions, such as Interactions.from_frame(frame)"
            )

    def run(self) -> Result:
        """Run the chain once.

        Raises:
            InputError: The data or the settings cannot be used.
            RecxError: A part violated its protocol.
        """
        stage = Stages()
        preflight(self.retriever, self.ranker, self.engine)
        interactions, split = self.load_and_split(stage)
        late, ranker = self.fit(split, stage)
        now = split.fold
        candidates, recommendations = self._serve(late, ranker, now, stage)
        report = None
        if now.target is not None:
            with stage("evaluate"):
                report = self.evaluator.evaluate(candidates, recommendations, now)
        made = (candidates, recommendations, report, stage.total())
        return Result(self, interactions, split, late, ranker, *made, peaks=stage.peaks, passes=stage.passes)

    def load_and_split(self, stage: Stages | None = None) -> tuple[Interactions, Split]:
        """Load, filter and split the data, without the names, which could give the answer away to a part.

        Args:
            stage: Times both steps; None: they are not timed.

        Raises:
            InputError: The data or the settings cannot be used.
        """
        stage = stage or Stages()
        with stage("load"):
            interactions = load(self.dataset, self.filters)
        with stage("split"):
            split = self.splitter.split(interactions.unnamed(), self.fold)
            return interactions, drawn(check_type(split, Split, "the splitter's split"), self.ranker)

    def fit(self, split: Split, stage: Stages) -> tuple[FittedRetriever, FittedRanker]:
        """Return what serves the split, fitted, each stage timed; raises InputError where a ranker cannot learn."""
        past, fitted, ranker = split.past, None, self.ranker  # it learns from labels that its retriever has not seen
        if is_trained(ranker):
            if past is None:
                raise InputError(
                    "the ranker learns from the step before the fold, and this split has none: choose ranker=identity, "
                    "or a split with a past (python -m recx help splits-and-filters)"
                )
            fitted = self._fit_retriever(past, stage, "past")
            [candidates] = self._serve(fitted, None, past, stage, "past")
            with stage("fit_ranker"):
                ranker = ranker.fit(candidates, past)
        elif past is not None and not self.refit:
            fitted = self._fit_retriever(past, stage, "past")
        fitted = None if self.refit else fitted  # so that there is one at a time
        return self._fit_retriever(split.fold, stage) if fitted is None else fitted, ranker

    def _fit_retriever(self, fold: Fold, stage: Stages, of: str = "") -> FittedRetriever:
        with stage("fit_retriever", of):
            return self.retriever.fit(fold.learnable)

    def _serve(
        self, retriever: FittedRetriever, ranker: FittedRanker | None, fold: Fold, stage: Stages, of: str = ""
    ) -> tuple[RankedLists, ...]:
        check_type(retriever, FittedRetriever, "the retriever's fit")
        serving = Serving(retriever, ranker, fold.history, self.n_candidates, of)
        return serve(self.engine, serving, fold.requests, stage, self.at_once)


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """What one run of an experiment produced.

    Attributes:
        experiment: The chain.
        interactions: The data, filtered, before the split.
        split: The fold, and the one before it.
        retriever: The fitted retriever that found the candidates.
        ranker: The fitted ranker that ordered them.
        candidates: The lists of the retriever.
        recommendations: The candidates in the ranker's order.
        report: The evaluation of both; None when predicting.
        seconds: Stage -> its time, and ``total``.
        hits: Stage -> how many results came from the stage cache; None if no cache was in use.
        peaks: Stage -> the process's peak memory (MiB) up to its end.
        passes: Stage -> how often it ran.
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

    def __repr__(self) -> str:
        return self._overview.text()

    def _repr_html_(self) -> str:
        return self._overview.html()

    @property
    def _overview(self) -> Overview:
        parts = " + ".join(type(part).__name__ for part in (self.experiment.retriever, self.experiment.ranker))
        users = len(self.split.fold.requests if self.report is None else self.report.users)
        lists = {"candidates": self.candidates, "recommendations": self.recommendations}
        means = None if self.report is None else self.report.means
        return Overview(f"fold {self.experiment.fold}, {users:,} users, {parts}", means, lists, self.seconds)

    def frame(self, name: str) -> pd.DataFrame:
        """Return lists or figures with raw ids, as ``recx.results.load`` reads them from the run's files.

        Args:
            name: ``candidates`` or ``recommendations``: a row per user and item, with rank from 1, score, further
                columns, the latter also the retriever's. ``per_user``: one per evaluated user, a column per metric.

        Raises:
            InputError: There is no such frame, or the run evaluated nothing.
        """
        frames = ("recommendations", "candidates", "per_user")
        if name in frames[:2]:
            return ListTable(self.recommendations, self.candidates, self.interactions).frame(name)
        if name not in frames:
            raise InputError(f"a result has no frame {name!r}: {did_you_mean(name, frames)}")
        if self.report is None:
            raise InputError("fold=predict has no frame 'per_user', since it has no targets: choose fold=test")
        return per_user_of(self.report).to_pandas()

    @cached_property
    def notes(self) -> dict[str, float]:
        """Counts of what the parts dropped, repaired or found unusual."""
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
        """The checks of the data and of the evaluated fold (see ``recx.experiment.doctor``)."""
        return examined(self.experiment, self.interactions, self.split)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Feature -> the weight that the ranker learned; {} for a ranker without weights."""
        return {name: float(weight) for name, weight in summary_of(self.ranker).weights.items()}

    @cached_property
    def collinear(self) -> list[tuple[str, ...]]:
        """Groups of features whose weights cannot be read singly, since the features explain one another."""
        return [tuple(group) for group in summary_of(self.ranker).collinear]

    @cached_property
    def importances(self) -> dict[str, float]:
        """Feature -> its share of the importance of all features; {} for a ranker that does not report it."""
        return {name: float(share) for name, share in summary_of(self.ranker).importances.items()}

    @cached_property
    def curves(self) -> dict[str, Sequence[float]]:
        """The training of the fitted parts: a figure's name -> its value after each epoch."""
        return {**summary_of(self.retriever).curves, **summary_of(self.ranker).curves}

    @cached_property
    def tables(self) -> dict[str, Mapping[str, Array]]:
        """Curves and tables of the report, of the fitted parts and of the ranker's calibration."""
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

        They are those of the report, the number of evaluated users, those of the ranker (``weight/``, ``importance/``,
        ``calibration/``), ``time/`` in seconds and ``data/`` counts.
        """
        requests, target = self.split.fold.requests, self.split.fold.target
        counts = {
            "users": self.interactions.n_users,
            "items": self.interactions.n_items,
            "events": int((self.interactions.weight > 0).sum()),
            "requests": len(requests),
            **({} if target is None else {"targets": int((target.weight > 0).sum())}),
            "candidates": len(self.candidates),
            "candidates_per_request": len(self.candidates) / max(1, len(requests)),
            **({} if self.hits is None else {"cache_hits": sum(self.hits.values())}),
        }
        counts = {**counts, **self.notes, **counts}  # sizes come first, and no note can replace one
        return {
            **({} if self.report is None else {**self.report.means, "num_queries": float(len(self.report.users))}),
            **summary_of(self.ranker).metrics,
            **calibration.figures(self._held_out),
            **{f"time/{stage}": float(seconds) for stage, seconds in self.seconds.items()},
            **{f"data/{name}": float(count) for name, count in counts.items()},
        }
