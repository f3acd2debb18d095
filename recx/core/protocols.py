"""What a part must be able to do. A part is a frozen dataclass of its settings with one verb.

A verb takes data and returns new data; ``fit`` returns another object, the fitted part. There is nothing to inherit
and nowhere to register: a class that has the verb is a part. ``recx.testing`` has contract tests for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from recx.core.evaluation import Evaluation
from recx.core.judged_lists import JudgedLists
from recx.core.run_context import RunContext
from recx.core.types import Array, Doubles, Floats, Fold, Interactions, RankedLists, Requests, Split, Vectors

FoldName = Literal["predict", "test", "valid"]
Seen = Literal["drop", "keep"]
CacheMode = Literal["off", "on", "read"]


class Dataset(Protocol):
    def load(self) -> Interactions: ...


class Splitter(Protocol):
    def split(self, interactions: Interactions, fold: FoldName) -> Split: ...


class FittedRetriever(Protocol):
    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        """Return at most ``k`` items for each request, best first."""
        ...


class Retriever(Protocol):
    def fit(self, history: Interactions) -> FittedRetriever: ...


@runtime_checkable
class SlateRetriever(Protocol):
    """A retriever whose candidates may be the lists that the data itself offers, which the protocol card says."""

    @property
    def retrieves_slates(self) -> bool: ...


class FittedRanker(Protocol):
    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        """Return the very candidates in a new order, made with ``candidates.reorder(score)``."""
        ...


@runtime_checkable
class Ranker(Protocol):
    """A ranker that needs no training has no ``fit``: it is a ``FittedRanker`` from the start."""

    def fit(self, candidates: RankedLists, fold: Fold) -> FittedRanker:
        """Learn to put ``fold.target`` first."""
        ...


@runtime_checkable
class Saveable(Protocol):
    """A fitted retriever or ranker that is worth keeping: it is saved with the run, in a folder of its stage's name.

    One that has something to report of its fit also has a ``summary`` (see ``recx.core.fit_summary``).
    """

    def save(self, folder: Path) -> None:
        """Write all that it takes to serve again into a folder that is not there yet; no pickle."""
        ...


@runtime_checkable
class Reloadable(Protocol):
    """A ranker that can load what its fitted ranker saved."""

    def load(self, folder: Path) -> FittedRanker:
        """Return the fitted ranker that was saved into a folder.

        Raises:
            InputError: its files are missing or damaged.
        """
        ...


@runtime_checkable
class Explainable(Protocol):
    """A fitted ranker whose scores are sums of one contribution a feature, up to a constant."""

    @property
    def names(self) -> Sequence[str]:
        """The names of the features."""
        ...

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        """Return what each feature contributes to the score of each row [n_rows, n_names].

        Raises:
            InputError: it was fitted on other features than its settings name.
        """
        ...


@runtime_checkable
class Preflight(Protocol):
    """A ranker or pruner that may lack what it needs, which is to be told before any data is read."""

    def preflight(self) -> None:
        """Get what it needs.

        Raises:
            InputError: it cannot be had.
        """
        ...


@runtime_checkable
class HasDiagnostics(Protocol):
    """A ranker that computes more than its lists depend on, such as intervals, which no trial of a sweep shows."""

    def without_diagnostics(self) -> Ranker:
        """Return the ranker that makes the same lists and computes nothing else."""
        ...


class Feature(Protocol):
    """A feature's name is its key in the configuration (``conf/feature``), so it stands in one place only."""

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        """Return one number a row [n_rows], from what was known before the request."""
        ...


@runtime_checkable
class FeatureSet(Protocol):
    """Several features at once, such as all columns that a slate's rows came with."""

    def names(self, candidates: RankedLists) -> Sequence[str]:
        """Return the features' names, from what all candidates have in common."""
        ...

    def __call__(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Floats:
        """Return one number a row and name [n_rows, n_names], from what was known before the request."""
        ...


@runtime_checkable
class Featured(Protocol):
    """A ranker that learns from features."""

    @property
    def features(self) -> Mapping[str, Feature | FeatureSet]: ...


class FittedEncoder(Protocol):
    def encode(self, texts: Array) -> Vectors:
        """Return a vector for each text [n, d], of length 1, or 0 where there is nothing to say (an empty text)."""
        ...


class Encoder(Protocol):
    """Turns texts into vectors that are near each other (by cosine) where the texts are."""

    def fit(self, texts: Array) -> FittedEncoder:
        """Learn from texts [n] which words count; what was trained elsewhere learns nothing."""
        ...


class Metric(Protocol):
    @property
    def name(self) -> str: ...

    def __call__(self, judged: JudgedLists) -> Doubles | float:
        """Return one value a user [n_users], or one number for all."""
        ...


class Evaluator(Protocol):
    def evaluate(self, candidates: RankedLists, recommendations: RankedLists, fold: Fold) -> Evaluation: ...


@runtime_checkable
class Thresholded(Protocol):
    """An evaluator for which targets are relevant from a grade of its choice on; for others they are from 1 on."""

    @property
    def rel_threshold(self) -> float: ...


@runtime_checkable
class Cutting(Protocol):
    """An evaluator whose metrics cut the lists."""

    @property
    def cuts(self) -> Sequence[int]:
        """The cuts of all its metrics, smallest first."""
        ...


class Run(Protocol):
    """A run that is being tracked."""

    @property
    def address(self) -> str | None:
        """Where a person can look at this run, or None."""
        ...

    def log_metrics(self, metrics: Mapping[str, float]) -> None: ...

    def log_curves(self, curves: Mapping[str, Sequence[float]]) -> None: ...

    def log_table(self, name: str, columns: Mapping[str, Sequence[Any]]) -> None: ...

    def log_tags(self, tags: Mapping[str, str]) -> None: ...

    def log_files(self, folder: Path, *, inner: bool = True) -> None: ...


class Tracker(Protocol):
    def run(self, name: str, params: Mapping[str, Any], context: RunContext) -> AbstractContextManager[Run]:
        """Yield a new run with these settings; ``context`` says which run or sweep it belongs to and its name."""
        ...


@runtime_checkable
class SweepTracker(Protocol):
    """A tracker that keeps the trials of a sweep together.

    The trials' own runs get the parent's ``run_id`` and the sweep's id in their ``RunContext``.
    """

    def sweep(self, name: str, params: Mapping[str, Any], sweep_id: str) -> AbstractContextManager[Run]:
        """Yield the run of the whole sweep: a new one, or the one of this id that was begun before."""
        ...


class Pruner(Protocol):
    """Says which trials of a sweep are not worth going on with.

    A course is what a trial's first fit passed to ``recx.core.pruning.reached``: epoch, from 1 -> value; larger is
    better.
    """

    def prune(self, course: Mapping[int, float], others: Sequence[Mapping[int, float]]) -> bool:
        """Whether to end a trial at the last epoch of its course.

        others: the courses of earlier trials that ran to their end. The same courses must get the same answer.
        """
        ...
