from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from recx.core.errors import InputError, RecxError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment.experiment import Experiment
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.union import Union
from recx.parts.split.leave_last import LeaveLast


@dataclass(frozen=True)
class Table:
    """Three users with four events each, an hour apart."""

    def load(self) -> Interactions:
        rows = [(user, (user + place) % 5, place) for user in range(3) for place in range(4)]
        return Interactions.from_frame(pd.DataFrame(rows, columns=["user", "item", "time"]))


@dataclass(frozen=True)
class Everything:
    """Retrieves the first items; keeps the number of events of every history that it was fitted on."""

    fitted_on: list[int] = field(default_factory=list)
    events: int = 0

    def __len__(self) -> int:
        return 0  # a fitted part may well be empty, which is no reason to fit it again

    def fit(self, history: Interactions) -> Everything:
        self.fitted_on.append(len(history))
        return replace(self, events=len(history))

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        k = min(k, history.n_items)
        item = np.tile(np.arange(k, dtype=np.int32), len(requests))
        score = np.full(len(item), self.events, dtype=np.float32)
        return RankedLists(requests.user, indptr_of(np.full(len(requests), k)), item, score)


@dataclass(frozen=True)
class Learner:
    """Keeps what it is fitted on and reverses the order."""

    folds: list[tuple[float, Fold]] = field(default_factory=list)

    def fit(self, candidates: RankedLists, fold: Fold) -> Reverse:
        self.folds.append((float(candidates.score[0]), fold))
        return Reverse()


@dataclass(frozen=True)
class Reverse:
    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return candidates.reorder(candidates.rank)


@dataclass(frozen=True)
class Wrong:
    """Breaks its promise in some way."""

    how: str

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        if self.how == "drops":
            return candidates.top(1)
        if self.how == "swaps":
            return replace(candidates, item=(candidates.item + 2) % np.int32(5))
        return candidates.take(np.arange(candidates.n_lists)[::-1])


@dataclass(frozen=True)
class Either(Learner, Reverse):
    """Both learns and ranks as it is; its settings say which."""

    trains: bool = True


def chain(**settings: Any) -> Experiment:
    evaluator = Evaluator(["recall_at_2"], ["hit_at_1"], ["hit_at_1", "hit_at_2"])
    parts = {"dataset": Table(), "splitter": LeaveLast(), "retriever": Everything(), "ranker": Identity()}
    return Experiment(**{**parts, "evaluator": evaluator, "n_candidates": 3, **settings})


def test_the_ranker_learns_one_step_earlier_from_a_retriever_that_knew_no_more() -> None:
    learner, retriever = Learner(), Everything()
    result = chain(ranker=learner, retriever=retriever).run()
    ((events, past),) = learner.folds
    assert events == len(past.history) == 6
    assert past.target is not None
    assert past.target.item.tolist() == [2, 3, 4]
    assert result.split.fold.history.item.tolist() == [0, 1, 2, 1, 2, 3, 2, 3, 4]
    assert retriever.fitted_on == [6, 9]
    assert result.candidates.score[0] == 9
    assert result.recommendations.item.tolist() == [2, 1, 0] * 3


@dataclass(frozen=True)
class Named:
    """Adds a column of some name."""

    name: str

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return replace(candidates, columns={self.name: candidates.score})


def test_no_column_of_a_part_hides_one_of_the_table_of_lists() -> None:
    assert chain(ranker=Named("mine")).run().frame("recommendations")["mine"].notna().all()
    with pytest.raises(InputError, match="the ranker returned a column 'retriever_rank', and recommendations"):
        chain(ranker=Named("retriever_rank")).run()
    with pytest.raises(InputError, match="the retriever returned a column 'retriever_rank'"):
        chain(retriever=Union({"retriever": Everything()})).run()


@pytest.mark.parametrize("ranker", [Learner(), Identity()])
def test_without_a_refit_every_ranker_is_served_by_the_earlier_retriever(ranker: Any) -> None:
    retriever = Everything()
    result = chain(ranker=ranker, retriever=retriever, refit=False).run()
    assert retriever.fitted_on == [6]
    assert result.candidates.score[0] == 6


@pytest.mark.parametrize("refit", [True, False])
def test_a_ranker_that_learns_nothing_needs_no_past(refit: bool) -> None:
    retriever = Everything()
    chain(splitter=LeaveLast(past="none"), retriever=retriever, refit=refit).run()
    assert retriever.fitted_on == [9]


def test_a_ranker_that_learns_asks_for_a_past() -> None:
    with pytest.raises(InputError, match="the ranker learns from the step before"):
        chain(ranker=Learner(), splitter=LeaveLast(past="none")).run()


def test_the_settings_of_a_ranker_may_leave_it_untrained() -> None:
    learning, as_it_is = Either(), Either(trains=False)
    expected = chain(ranker=learning).run()
    result = chain(ranker=as_it_is, splitter=LeaveLast(past="none")).run()
    assert (len(learning.folds), as_it_is.folds) == (1, [])
    assert result.recommendations.item.tolist() == expected.recommendations.item.tolist() == [2, 1, 0] * 3
    with pytest.raises(InputError, match="the ranker learns from the step before"):
        chain(ranker=learning, splitter=LeaveLast(past="none")).run()


def test_predicting_judges_nothing_and_knows_everything() -> None:
    learner = Learner()
    result = chain(ranker=learner, fold="predict").run()
    assert result.report is None
    assert len(result.split.fold.history) == 12
    assert learner.folds[0][0] == 9
    assert "evaluate" not in result.seconds


def test_the_seconds_of_every_stage_are_kept() -> None:
    result = chain(ranker=Learner()).run()
    assert list(result.seconds) == [
        *("load", "split", "fit_retriever", "retrieve", "fit_ranker", "rank", "evaluate", "total")
    ]
    assert sum(result.seconds.values()) - result.seconds["total"] <= result.seconds["total"]


@pytest.mark.parametrize("how", ["drops", "swaps"])
def test_a_ranker_that_returns_other_pairs_is_found_out_even_when_predicting(how: str) -> None:
    with pytest.raises(RecxError, match="exactly the candidates that it was given"):
        chain(ranker=Wrong(how), fold="predict").run()


def test_a_ranker_that_mixes_up_the_users_is_found_out() -> None:
    with pytest.raises(RecxError, match="the ranker must return one list for each request"):
        chain(ranker=Wrong("mixes")).run()


@pytest.mark.parametrize(
    ("stage", "method", "sentence"),
    [
        ("dataset", "load", "the dataset's load must return Interactions, and returned NoneType"),
        ("splitter", "split", "the splitter's split must return Split, and returned NoneType"),
        ("retriever", "fit", "the retriever's fit must return FittedRetriever, and returned NoneType"),
        ("retriever", "retrieve", "the retriever must return RankedLists, and returned NoneType"),
        ("ranker", "rank", "the ranker must return RankedLists, and returned NoneType"),
    ],
)
def test_a_part_that_returns_nothing_is_named(
    stage: str, method: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment = chain()
    monkeypatch.setattr(type(getattr(experiment, stage)), method, lambda *arguments: None)
    with pytest.raises(RecxError, match=f"^{sentence}"):
        experiment.run()


def test_a_result_is_shown_in_five_lines_and_as_a_table() -> None:
    result = chain().run()
    assert repr(result).startswith("Result: fold test, 3 users, Everything + ")
    assert len(repr(result).splitlines()) <= 5
    assert "<table>" in result._repr_html_()
    assert "<table>" not in chain(fold="predict").run()._repr_html_()


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "10"])
def test_n_candidates_must_be_a_whole_number_from_1_up(n: Any) -> None:
    with pytest.raises(InputError, match="n_candidates="):
        chain(n_candidates=n)


def test_an_unknown_fold_is_named() -> None:
    with pytest.raises(InputError, match="fold=train: "):
        chain(fold="train")
