"""Why a run showed a user what it did: from the run's files and its data, without fitting anything.

Candidates, their order and the ranker's weights are read from the run's files. Features are computed again, with the
same results, since they depend on the history and the request only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from recx.core.contracts import check_lists
from recx.core.errors import InputError, RecxError, did_you_mean
from recx.core.judged_lists import JudgedLists
from recx.core.precision import floats_of
from recx.core.protocols import Explainable
from recx.core.ragged import indptr_of
from recx.core.types import Array, Doubles, Fold, Interactions, Ints, RankedLists
from recx.evaluation.ground_truth import GroundTruth
from recx.experiment import build, protocol_card
from recx.experiment.kept_ranker import explainable_of
from recx.experiment.list_files import BEFORE, EARLIER, FILE
from recx.experiment.saved_runs import SavedRun

if TYPE_CHECKING:
    import pandas as pd

Frame = dict[str, list[Any]]
"""Column name -> one value per row."""

EARLIER_SETTINGS = {"lists": "all", "model": "off"}
"""Keys that the configurations of an earlier recx lack."""
UNUSED = {"_target_": "recx.storage.cache.settings.StageCache", "mode": "off"}
HERE = {"_target_": "recx.experiment.engine.local.Local"}
"""The stage cache of a run that is explained: no stage is asked for twice, whatever the run itself used."""


@dataclass(frozen=True)
class Explanation:
    """Everything about one user in a run, for people to read and for JSON.

    Attributes:
        user: The user's id or name.
        text: The user's text, such as a query; "" if there is none.
        history: time (ms, or None) and item, newest first.
        targets: item, grade, retrieved (the retriever's rank) and rank (None: lost in retrieval); empty when
            predicting.
        candidates: rank, item, target (its grade), score, retrieved (the retriever's rank), retriever_score and further
            columns of the retriever; best first.
        contributions: Feature -> its contribution to the score of every candidate (for a linear ranker, the weight
            times the standardised feature), features with the largest range first; collinear features are added up
            and named ``a + b``. Empty if the ranker is not explainable.
    """

    user: str
    text: str
    history: Frame
    targets: Frame
    candidates: Frame
    contributions: dict[str, list[float]]


@dataclass(frozen=True)
class Reopened:
    """A finished run with its data loaded again.

    Attributes:
        run: The run's files.
        interactions: The data.
        fold: The fold of the run.
        truth: The targets as the evaluator grades them; None when predicting.
        ranker: The fitted ranker; None if it is not explainable.
    """

    run: SavedRun
    interactions: Interactions
    fold: Fold
    truth: GroundTruth | None
    ranker: Explainable | None

    @classmethod
    def of(cls, run: SavedRun) -> Reopened:
        """Load the data of a run again and split it as the run did.

        Raises:
            InputError: A file of the run is missing or damaged, or the data has changed.
        """
        run.check_whole()
        try:
            experiment = build.experiment(
                {"lists": "all", "model": "off", **run.config, "cache": UNUSED, "engine": HERE}
            )
        except InputError as error:
            raise InputError(f"{run.folder / 'config.yaml'}: {error}") from error
        interactions, split = experiment.load_and_split()
        if protocol_card.data_hash(interactions) != run.data_hash:
            raise InputError(
                f"{run.folder}: the data has changed since the run, so it cannot explain the results: restore it, or "
                "run the experiment again"
            )
        ranker = explainable_of(run.folder, experiment.ranker)
        truth = None if split.fold.target is None else GroundTruth.for_evaluator(experiment.evaluator, split.fold)
        return cls(run, interactions, split.fold, truth, ranker)

    @cached_property
    def candidates(self) -> RankedLists:
        """The lists of the retriever, one per request."""
        return self._lists(self.run.candidates, EARLIER if self.run.is_earlier else FILE)

    @cached_property
    def recommendations(self) -> RankedLists:
        """The candidates in the ranker's order, one list per request."""
        frame, n_items = self.run.recommendations, self.interactions.n_items
        after = self._lists(frame.drop(columns=[name for name in BEFORE if name in frame]), FILE)
        if self.run.is_earlier:
            found, shown = (np.sort(lists.list_of_row * n_items + lists.item) for lists in (self.candidates, after))
            if not np.array_equal(found, shown):
                raise InputError(f"{self.run.folder}: {FILE} and {EARLIER} have different items: run it again")
        return after

    def explain(self, user: str) -> Explanation:
        """Explain what a user was shown.

        Args:
            user: The user's id or name.

        Raises:
            InputError: The run has no request of this user.
        """
        number = self._number_of(user)
        place = int(np.searchsorted(self.fold.requests.user, number))
        before, after = self.candidates[place : place + 1], self.recommendations[place : place + 1]
        row = np.empty(self.interactions.n_items, dtype=np.int64)
        row[before.item] = np.arange(len(before))
        order = row[after.item]  # the candidates' rows, best first
        grades = self._grades(number)
        shown = self.interactions.items.shown
        candidates: Frame = {
            "rank": after.rank.tolist(),
            "item": shown[after.item].tolist(),
            "target": [grades.get(int(item), 0.0) for item in after.item],
            "score": after.score.tolist(),
            "retrieved": before.rank[order].tolist(),
            "retriever_score": before.score[order].tolist(),
            **{
                name: [None if number != number else number for number in column[order].tolist()]
                for name, column in before.columns.items()
            },
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
        """Return the users whose first target was retrieved but ranked lowest.

        Args:
            n: Number of users.

        Returns:
            user, target, retrieved and rank (of that target), shown_first (the item at rank 1) and pulled_down: the
            three features that favour the first item most over the target, with the differences of their contributions.

        Raises:
            InputError: The run predicted, so its targets are unknown.
        """
        if self.truth is None:
            raise InputError(f"{self.run.folder}: with fold=predict its targets are unknown: choose another run")
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
        """Return the three features that favour the first of two rows most over the second."""
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
        """Return the contributions to one request's scores [n_rows, n_features]."""
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
        grades: dict[int, float] = {}
        for item, grade in zip(target.item[rows].tolist(), target.weight[rows].tolist(), strict=True):
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
        users, entities = self.fold.requests.user, self.interactions.users
        for names in (entities.ids, entities.shown):
            named = names[users].astype(str)
            found = np.flatnonzero(named == user)
            if len(found):
                return int(users[found[0]])
        raise InputError(
            f"user={user}: the run has no request of this user (it has {len(users):,}): "
            f"{did_you_mean(user, named.tolist())}"
        )

    def _lists(self, frame: pd.DataFrame, file: str) -> RankedLists:
        """Return the lists of a run's file as they passed between its parts."""
        try:
            return check_lists(self._parsed(frame), self.fold.requests, self.interactions.n_items, "the run")
        except InputError:
            raise
        except (KeyError, TypeError, ValueError, RecxError) as error:
            raise InputError(f"{self.run.folder / file} is damaged ({error}): run the experiment again") from error

    def _parsed(self, frame: pd.DataFrame) -> RankedLists:
        import pandas as pd

        users, items = self.interactions.users.ids, self.interactions.items.ids
        requested = self.fold.requests.user
        row = pd.Index(users[requested]).get_indexer(pd.Index(frame["user"]))
        item = pd.Index(items).get_indexer(pd.Index(frame["item"]))
        if (row < 0).any() or (item < 0).any():
            raise InputError(f"{self.run.folder}: its lists have users or items that its data lacks: run it again")
        order = np.argsort(row, kind="stable")
        names = [name for name in frame.columns if name not in ("user", "rank", "item")]
        columns = {name: floats_of(frame[name].to_numpy(), name)[order] for name in names}
        indptr = indptr_of(np.bincount(row, minlength=len(requested)))
        return RankedLists(requested, indptr, item[order].astype(np.int32), columns.pop("score"), columns)
