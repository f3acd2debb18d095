"""A run explained from its files: contributions sum to the scores, and lost users are named."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import recx
from recx.core.errors import InputError
from recx.core.types import Doubles, Fold, Interactions, RankedLists, Requests
from recx.experiment.contributions import AddedUp
from recx.experiment.experiment import Result
from recx.experiment.explain import Reopened
from recx.experiment.kept_ranker import explainable_of
from recx.experiment.saved_runs import SavedRun
from recx.parts.ranker.identity import Identity

TINY = ["+experiment=news", "tracker=console", "dataset.readers=200", "dataset.articles=100", "n_candidates=20"]


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def run_in(home: Path, *overrides: str) -> tuple[Result, SavedRun]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        result = recx.run([*TINY, *overrides])
        return result, SavedRun(sorted(home.glob("outputs/2*/*"))[-1])


@pytest.fixture(scope="module")
def one(home: Path) -> tuple[Result, SavedRun]:
    return run_in(home)


@pytest.fixture(scope="module")
def reopened(one: tuple[Result, SavedRun]) -> Reopened:
    return Reopened.of(one[1])


def names(result: Result) -> list[str]:
    return [str(name) for name in result.interactions.users.ids[result.recommendations.user]]


def test_the_lists_come_back_as_they_passed_between_the_parts(one: tuple[Result, SavedRun], reopened: Reopened) -> None:
    for mine, its in [
        (reopened.candidates, one[0].candidates),
        (reopened.recommendations, one[0].recommendations),
    ]:
        for field in ("user", "indptr", "item", "score"):
            assert np.array_equal(getattr(mine, field), getattr(its, field))
        assert mine.columns.keys() == its.columns.keys()


def test_contributions_add_up_to_the_score_that_was_saved(one: tuple[Result, SavedRun], reopened: Reopened) -> None:
    for user in names(one[0])[:40]:
        explanation = reopened.explain(user)
        total = np.sum(list(explanation.contributions.values()), axis=0)
        assert total == pytest.approx(explanation.candidates["score"], abs=1e-4)


def test_ranks_targets_and_history_are_those_of_the_run(one: tuple[Result, SavedRun], reopened: Reopened) -> None:
    result = one[0]
    fold, ids = result.split.fold, result.interactions.items.ids
    assert fold.target is not None
    lost = 0
    for place, user in enumerate(names(result)):
        explanation = reopened.explain(user)
        number = int(fold.requests.user[place])
        [target] = ids[fold.target.item[fold.target.indptr[number] : fold.target.indptr[number + 1]]]
        assert explanation.targets["item"] == [str(target)]
        shown = ids[result.recommendations[place : place + 1].item].tolist()
        assert explanation.candidates["item"] == shown
        [rank] = explanation.targets["rank"]
        assert rank == (shown.index(target) + 1 if target in shown else None)
        assert sum(grade > 0 for grade in explanation.candidates["target"]) == (rank is not None)
        assert len(explanation.history["item"]) == fold.history.lengths[number]
        lost += rank is None
    assert lost / len(fold.requests) == pytest.approx(result.metrics["funnel/lost_in_retrieval"])


def test_the_worst_are_those_whose_target_was_put_furthest_down(
    one: tuple[Result, SavedRun], reopened: Reopened
) -> None:
    worst = reopened.worst(7)
    explained = [reopened.explain(user) for user in names(one[0])]
    ranks = sorted((e.targets["rank"][0] for e in explained if e.targets["rank"][0]), reverse=True)
    assert worst["rank"] == ranks[:7]
    for user, target, retrieved, rank, first, pulled in zip(*worst.values(), strict=True):
        explanation = reopened.explain(str(user))
        assert explanation.targets == {
            "item": [str(target)],
            "grade": [1.0],
            "retrieved": [retrieved],
            "rank": [rank],
        }
        assert explanation.candidates["item"][0] == first
        strongest = max(explanation.contributions.values(), key=lambda values: values[0] - values[rank - 1])
        assert max(pulled.values()) == pytest.approx(strongest[0] - strongest[rank - 1])
        assert len(pulled) == 3
    assert max(reopened.worst(10_000)["rank"]) == ranks[0]
    assert min(reopened.worst(10_000)["rank"]) > 1


def test_a_ranker_without_contributions_has_none(home: Path) -> None:
    result, saved = run_in(home, "ranker=identity")
    reopened = Reopened.of(saved)
    explanation = reopened.explain(names(result)[0])
    assert explanation.contributions == {}
    assert explanation.candidates["rank"] == explanation.candidates["retrieved"]
    assert all(pulled == {} for pulled in reopened.worst(3)["pulled_down"])


@dataclass(frozen=True)
class Summing:
    """A fitted ranker, as a plugin may have one: "even" contributes 2 to items of even numbers, "all" 1 to each."""

    names: tuple[str, ...] = ("all", "even")

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return candidates.reorder(self.contributions(candidates, history, requests).sum(axis=1))

    def contributions(self, candidates: RankedLists, history: Interactions, requests: Requests) -> Doubles:
        return np.stack([np.ones(len(candidates)), 2.0 * (candidates.item % 2 == 0)], axis=1)


@dataclass(frozen=True)
class Fitting:
    def fit(self, candidates: RankedLists, fold: Fold) -> Summing:
        return Summing()


def test_any_ranker_that_offers_contributions_is_explained(reopened: Reopened, tmp_path: Path) -> None:
    assert explainable_of(tmp_path, Summing()) == AddedUp(Summing())
    assert explainable_of(tmp_path, Identity()) is None
    assert explainable_of(tmp_path, Fitting()) is None  # its run kept no model
    user = str(reopened.interactions.users.shown[reopened.fold.requests.user[0]])
    items = reopened.recommendations[:1].item
    found = replace(reopened, ranker=Summing()).explain(user).contributions
    assert list(found) == ["even", "all"]  # what moves the scores most comes first
    assert found["even"] == [2.0 if item % 2 == 0 else 0.0 for item in items.tolist()]
    assert found["all"] == [1.0] * len(items)


def test_a_prediction_has_no_targets(home: Path) -> None:
    result, saved = run_in(home, "fold=predict")
    reopened = Reopened.of(saved)
    assert reopened.explain(names(result)[0]).targets["item"] == []
    with pytest.raises(InputError, match="fold=predict"):
        reopened.worst(3)


def test_an_unknown_user_is_refused(reopened: Reopened) -> None:
    with pytest.raises(InputError, match="user=nobody: the run has no request of this user"):
        reopened.explain("nobody")


def test_a_column_of_a_source_is_none_where_the_item_is_not_from_there(
    one: tuple[Result, SavedRun], reopened: Reopened
) -> None:
    columns = [reopened.explain(user).candidates["faiss_score"] for user in names(one[0])[:20]]
    assert any(value is None for column in columns for value in column)
    assert all(value is None or math.isfinite(value) for column in columns for value in column)


def test_data_that_changed_since_is_refused(one: tuple[Result, SavedRun], tmp_path: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(one[1].folder, folder)
    card = json.loads((folder / "protocol.json").read_text())
    (folder / "protocol.json").write_text(json.dumps(card | {"data_hash": "0" * 32}))
    with pytest.raises(InputError, match="the data has changed since the run"):
        Reopened.of(SavedRun(folder))


@pytest.mark.parametrize(("lists", "kept"), [("top:5", "the first 5 of each list"), ("off", "no lists")])
def test_a_run_that_did_not_keep_its_lists_says_what_it_kept(home: Path, lists: str, kept: str) -> None:
    _, saved = run_in(home, f"lists={lists}")
    with pytest.raises(InputError, match=rf"^{saved.folder}: this run kept {kept} \(lists={lists}\)"):
        Reopened.of(saved)
