"""Why a run showed a user what it did: from the run's files and its data loaded again, without fitting anything.

The candidates, their order and the ranker's weights are those that the run saved; the features are computed anew, which
gives what they gave then, since they depend on the history and the request alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.contracts import checked
from recx.core.errors import InputError, RecxError, did_you_mean
from recx.core.judged_lists import JudgedLists
from recx.core.protocols import Explainable, FittedRanker, Ranker, Reloadable
from recx.core.ragged import indptr_of
from recx.core.types import Array, Doubles, Fold, Interactions, Ints, RankedLists
from recx.evaluation.ground_truth import GroundTruth
from recx.experiment import build, protocol_card
from recx.experiment.saved_runs import SavedRun

if TYPE_CHECKING:
    import pandas as pd

    from recx.experiment.experiment import Experiment

Frame = dict[str, list[Any]]
"""Column name -> one value a row."""


@dataclass(frozen=True)
class Explanation:
    """All of one user's run, for people to read and for JSON.

    history: time (ms, None without) and item, the newest first. targets: item, grade, retrieved and rank (None: lost in
    retrieval); empty when predicting. candidates: rank, item, target (its grade), score, retrieved (the retriever's
    rank), retriever_score and what else the retriever told; the best first. contributions: feature -> what it
    contributes to the score of every candidate (a weight times the standardised feature where the ranker is linear),
    the features that move this user's scores most first; empty where the ranker explains no scores.
    """

    user: str
    text: str
    history: Frame
    targets: Frame
    candidates: Frame
    contributions: dict[str, list[float]]


@dataclass(frozen=True)
class Reopened:
    """A finished run with its data loaded again. ranker: None where it explains no scores."""

    run: SavedRun
    interactions: Interactions
    fold: Fold
    truth: GroundTruth | None
    ranker: Explainable | None

    @classmethod
    def of(cls, run: SavedRun) -> Reopened:
        """Load the data of a run again and split it as the run did.

        Raises:
            InputError: a file of the run is missing or damaged, or the data is no longer what it was.
        """
        experiment = _experiment(run)
        interactions, split = experiment.load_and_split()
        if protocol_card.data_hash(interactions) != run.data_hash:
            raise InputError(
                f"{run.folder}: the data is no longer what the run was made from, so nothing could be explained by it: "
                "put the data back, or run the experiment again"
            )
        ranker = explainable_of(run.folder, experiment.ranker)
        truth = None if split.fold.target is None else GroundTruth.for_evaluator(experiment.evaluator, split.fold)
        return cls(run, interactions, split.fold, truth, ranker)

    @cached_property
    def candidates(self) -> RankedLists:
        """What the retriever found, one list a request."""
        return self._lists(self.run.candidates, "candidates.parquet")

    @cached_property
    def recommendations(self) -> RankedLists:
        """The candidates in the ranker's order, one list a request."""
        after = self._lists(self.run.recommendations, "recommendations.parquet")
        n_items = self.interactions.n_items
        found, shown = (np.sort(lists.list_of_row * n_items + lists.item) for lists in (self.candidates, after))
        if not np.array_equal(found, shown):
            raise InputError(
                f"{self.run.folder}: recommendations.parquet holds other items than candidates.parquet: run the "
                "experiment again"
            )
        return after

    def explain(self, user: str) -> Explanation:
        """Explain what a user, named by its id or name, was shown.

        Raises:
            InputError: the run did not ask for such a user.
        """
        number = self._number_of(user)
        place = int(np.searchsorted(self.fold.requests.user, number))
        before, after = self.candidates[place : place + 1], self.recommendations[place : place + 1]
        row = np.empty(self.interactions.n_items, dtype=np.int64)
        row[before.item] = np.arange(len(before))
        order = row[after.item]  # the candidates' rows, the best first
        grades = self._grades(number)
        shown = self.interactions.items.shown
        candidates: Frame = {
            "rank": after.rank.tolist(),
            "item": shown[after.item].tolist(),
            "target": [grades.get(int(item), 0.0) for item in after.item],
            "score": after.score.tolist(),
            "retrieved": before.rank[order].tolist(),
            "retriever_score": before.score[order].tolist(),
            **{name: _told(column[order]) for name, column in before.columns.items()},
        }
        texts = self.interactions.users.table.get("text")
        return Explanation(
            user=str(self.interactions.users.shown[number]),
            text="" if texts is None else str(texts[number]),
            history=self._history(number),
            targets=self._targets(grades, before, after),
            candidates=candidates,
            contributions=self._contributions(before, place, order),
        )

    def worst(self, n: int) -> Frame:
        """Return the ``n`` users whose first target the ranker put furthest down, though it was retrieved.

        user, target, retrieved and rank (of that target), shown_first (the item at rank 1) and pulled_down: the three
        features that speak most for the first item over the target, with the differences of their contributions.

        Raises:
            InputError: the run predicted, so nobody knows what the users wanted.
        """
        if self.truth is None:
            raise InputError(f"{self.run.folder}: the run predicted (fold=predict), so it lost nobody that is known")
        judged = self.truth.judge(self.recommendations)
        hits = judged.relevant_hits(None)
        users, first = np.unique(judged.hit_user[hits], return_index=True)
        rank = judged.hit_rank[hits][first]
        chosen = np.argsort(-rank, kind="stable")[: min(n, int((rank > 1).sum()))]
        users, rank = users[chosen], rank[chosen]
        target = judged.lists.item[judged.hit_row[hits][first[chosen]]]
        return self._lost(judged, users, target, rank)

    def _lost(self, judged: JudgedLists, users: Array, target: Ints, rank: Array) -> Frame:
        places = np.searchsorted(self.fold.requests.user, judged.lists.user[users])
        best = judged.lists.item[judged.lists.indptr[users]]
        retrieved, pulled = [], []
        for place, wanted, first in zip(places.tolist(), target, best, strict=True):
            lists = self.candidates[place : place + 1]
            rows = [int(np.flatnonzero(lists.item == item)[0]) for item in (first, wanted)]
            retrieved.append(rows[1] + 1)
            pulled.append(self._pull(lists, place, rows))
        shown = self.interactions.items.shown
        return {
            "user": self.interactions.users.shown[judged.lists.user[users]].tolist(),
            "target": shown[target].tolist(),
            "retrieved": retrieved,
            "rank": rank.tolist(),
            "shown_first": shown[best].tolist(),
            "pulled_down": pulled,
        }

    def _pull(self, lists: RankedLists, place: int, rows: Sequence[int]) -> dict[str, float]:
        """Return the three features that speak most for the first of two rows over the second."""
        if self.ranker is None:
            return {}
        table = self._table(self.ranker, lists, place)
        difference = table[rows[0]] - table[rows[1]]
        return {self.ranker.names[at]: float(difference[at]) for at in np.argsort(-difference, kind="stable")[:3]}

    def _contributions(self, before: RankedLists, place: int, order: Array) -> dict[str, list[float]]:
        if self.ranker is None:
            return {}
        table = self._table(self.ranker, before, place)[order]
        reach = np.ptp(table, axis=0) if len(table) else np.zeros(table.shape[1])
        return {self.ranker.names[at]: table[:, at].tolist() for at in np.argsort(-reach, kind="stable")}

    def _table(self, ranker: Explainable, lists: RankedLists, place: int) -> Doubles:
        """Return the contributions to one request's scores [n_rows, n_features].

        Raises:
            InputError: the ranker was fitted on other features than the configuration names.
        """
        try:
            return ranker.contributions(lists, self.fold.history, self.fold.requests[place : place + 1])
        except InputError as error:
            raise InputError(f"{self.run.folder}: {error}") from error

    def _history(self, number: int) -> Frame:
        history = self.fold.history
        rows = slice(int(history.indptr[number]), int(history.indptr[number + 1]))
        item = history.item[rows][::-1]
        time = [None] * len(item) if history.time is None else history.time[rows][::-1].tolist()
        return {"time": time, "item": self.interactions.items.shown[item].tolist()}

    def _grades(self, number: int) -> dict[int, float]:
        """Return the user's targets: item -> grade."""
        target = self.fold.target
        if target is None:
            return {}
        rows = slice(int(target.indptr[number]), int(target.indptr[number + 1]))
        pairs = zip(target.item[rows].tolist(), target.weight[rows].tolist(), strict=True)
        grades: dict[int, float] = {}
        for item, grade in pairs:
            grades[item] = max(grade, grades.get(item, grade))
        return grades

    def _targets(self, grades: dict[int, float], before: RankedLists, after: RankedLists) -> Frame:
        def rank_in(lists: RankedLists, item: int) -> int | None:
            found = np.flatnonzero(lists.item == item)
            return int(found[0]) + 1 if len(found) else None

        return {
            "item": [str(self.interactions.items.shown[item]) for item in grades],
            "grade": list(grades.values()),
            "retrieved": [rank_in(before, item) for item in grades],
            "rank": [rank_in(after, item) for item in grades],
        }

    def _number_of(self, user: str) -> int:
        asked = self.fold.requests.user
        entities = self.interactions.users
        for names in (entities.ids, entities.shown):
            named = names[asked].astype(str)
            found = np.flatnonzero(named == user)
            if len(found):
                return int(asked[found[0]])
        raise InputError(
            f"user={user}: the run did not ask for such a user (it asked for {len(asked):,}): "
            f"{did_you_mean(user, named.tolist())}"
        )

    def _lists(self, frame: pd.DataFrame, file: str) -> RankedLists:
        """Return the lists of a run's file as they passed between its parts.

        Raises:
            InputError: they are no lists, or not of this data.
        """
        try:
            return checked(self._parsed(frame), self.fold.requests, self.interactions.n_items, "the run")
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, RecxError) as error:
            raise InputError(f"{self.run.folder / file} is damaged ({error}): run the experiment again") from error

    def _parsed(self, frame: pd.DataFrame) -> RankedLists:
        import pandas as pd

        users, items = self.interactions.users.ids, self.interactions.items.ids
        asked = self.fold.requests.user
        line = pd.Index(users[asked]).get_indexer(pd.Index(frame["user"]))
        item = pd.Index(items).get_indexer(pd.Index(frame["item"]))
        if (line < 0).any() or (item < 0).any():
            raise InputError(f"{self.run.folder}: its lists are of other users or items than its data: run it again")
        order = np.argsort(line, kind="stable")
        columns = {
            name: frame[name].to_numpy(dtype=np.float32)[order]
            for name in frame.columns
            if name not in ("user", "rank", "item", "score")
        }
        return RankedLists(
            user=asked,
            indptr=indptr_of(np.bincount(line, minlength=len(asked))),
            item=item[order].astype(np.int32),
            score=frame["score"].to_numpy(dtype=np.float32)[order],
            columns=columns,
        )


def explainable_of(folder: Path, ranker: Ranker | FittedRanker) -> Explainable | None:
    """Return the fitted ranker of a run, read from its folder where it was saved; None if it explains no scores.

    Raises:
        InputError: its files are missing or damaged.
    """
    fitted = ranker.load(folder / "ranker") if isinstance(ranker, Reloadable) else ranker
    return fitted if isinstance(fitted, Explainable) else None


def _experiment(run: SavedRun) -> Experiment:
    try:
        return build.experiment(run.config)
    except InputError as error:
        raise InputError(f"{run.folder / 'config.yaml'}: {error}") from error


def _told(column: Array) -> list[float | None]:
    """Return a source's numbers, None where an item is not from there."""
    return [None if value != value else float(value) for value in column]
