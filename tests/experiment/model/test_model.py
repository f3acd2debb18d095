"""A model recommends what its run would, for known users and for new histories, and refuses what is ambiguous."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import recx
from recx.core.errors import InputError
from recx.core.types import Fold, Interactions
from recx.experiment.blocks import Serving
from recx.experiment.model.asking import Population
from recx.experiment.model.model import Model
from recx.parts.feature.popularity import Clicks
from recx.parts.ranker.linear import Linear
from recx.parts.retriever.faiss import Faiss
from recx.parts.retriever.item_knn import ItemKNN

from .conftest import NEWS, Made


def events_of(model: Model, *users: int) -> pd.DataFrame:
    """Return the events of some users, by their numbers, as a person would give them."""
    known = model.known.history
    rows = np.concatenate([np.arange(known.indptr[user], known.indptr[user + 1]) for user in users])
    assert known.time is not None
    ids = known.users.ids[known.user[rows]]
    return pd.DataFrame({"user": ids, "item": known.items.ids[known.item[rows]], "time": known.time[rows]})


def active(model: Model) -> Any:
    history = model.known.history
    return history.users.ids[history.lengths > 0]


@pytest.mark.parametrize(
    "overrides",
    [
        (*NEWS, "model=full"),
        pytest.param(("+experiment=tools", "dataset.tasks=120", "dataset.tools=30", "model=full"), id="tools"),
        pytest.param(("+experiment=rerank", "model=full"), id="rerank", marks=pytest.mark.slow),
    ],
)
def test_the_kept_chain_makes_the_lists_of_its_run(made: Made, overrides: tuple[str, ...]) -> None:
    result, model = made(*overrides)
    chain, fold = model.kept.chain, result.split.fold
    lists = Serving(chain.retriever, chain.ranker, fold.history, chain.n_candidates)(fold.requests).lists
    for mine, its in zip(lists, (result.candidates, result.recommendations), strict=True):
        for name in ("user", "indptr", "item", "score"):
            assert np.array_equal(getattr(mine, name), getattr(its, name))
        assert all(np.array_equal(mine.columns[name], its.columns[name], equal_nan=True) for name in its.columns)


def test_a_user_alone_gets_the_list_that_the_user_gets_among_all(news: Model) -> None:
    users = active(news)[:40]
    together = news.recommend(users, k=30)
    for user in users[::7].tolist():
        alone = news.recommend([user], k=30)
        among = together[together["user"] == user].reset_index(drop=True)
        assert alone["score"].to_numpy() == pytest.approx(among["score"].to_numpy(), abs=1e-5)
        gap = np.diff(-among["score"]) > 1e-5
        assert (alone["item"] == among["item"])[1:-1][gap[1:] & gap[:-1]].all()


def test_the_events_of_a_known_user_given_anew_change_nothing(news: Model) -> None:
    for number in (3, 50, 120):
        user = news.known.history.users.ids[number]
        pd.testing.assert_frame_equal(news.recommend(history=events_of(news, number)), news.recommend([user]))


def test_fitting_again_for_a_given_history_gives_the_same_lists(news: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    given = events_of(news, 3, 7, 120)
    fast = news.recommend(history=given, k=30)
    slow = Population(news.kept.chain, news.known.history)
    monkeypatch.setitem(slow.__dict__, "_per_user", None)
    monkeypatch.setitem(news.__dict__, "population", slow)
    pd.testing.assert_frame_equal(news.recommend(history=given, k=30), fast)


def test_the_events_of_a_new_user_count_for_that_user_only(news: Model) -> None:
    before = news.recommend(active(news)[:5])
    given = events_of(news, 3, 50).assign(user=10**9)
    found = news.recommend(history=given)
    assert found["known"].all()
    assert set(found["user"]) == {10**9}
    assert not set(found["item"]) & set(given["item"])
    pd.testing.assert_frame_equal(news.recommend(active(news)[:5]), before)


def test_a_new_history_and_an_explanation_fit_nothing(news: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    user = active(news)[0]
    first = news.recommend([user])

    def refuse(*_: object) -> None:
        raise AssertionError("something is fitted")

    news.recommend(history=events_of(news, 5))
    for part in (Clicks, Linear, Faiss, ItemKNN):
        monkeypatch.setattr(part, "fit", refuse)
    pd.testing.assert_frame_equal(news.recommend([user]), first)
    news.recommend(history=events_of(news, 6).assign(user=10**9))
    news.explain(user, first["item"][0])


def test_a_user_of_whom_nothing_is_known_is_served_and_marked(news: Model) -> None:
    found = news.recommend([10**9, int(active(news)[0])], k=3)
    assert found["user"].tolist() == [10**9] * 3 + [int(active(news)[0])] * 3
    assert found["known"].tolist() == [False] * 3 + [True] * 3


def test_as_of_a_time_no_later_event_counts(news: Model) -> None:
    history = news.known.history
    assert history.time is not None
    at = int(np.median(history.time))
    users = active(news)[:20]
    found = news.recommend(users, at=at)
    earlier = history.keep(history.time < at)
    chain = news.kept.chain
    assert len(earlier) < len(history)
    slow = Population(chain, earlier).asked(users, None, at).answers(10)
    assert found["item"].tolist() == earlier.items.ids[slow.item].tolist()
    assert found["score"].to_numpy() == pytest.approx(slow.score, abs=1e-5)
    assert found["known"].tolist() == np.repeat(earlier.lengths[slow.user] > 0, slow.lengths).tolist()


def test_lists_of_allowed_items_hold_no_others_and_as_many_as_there_are(news: Model) -> None:
    items = news.known.history.items.ids[::3]
    found = news.recommend(active(news)[:20], items=items, k=30)
    assert set(found["item"]) <= set(items.tolist())
    whole = news.recommend(active(news)[:20], k=30)
    assert (
        whole["item"]
        .isin(items)
        .groupby(whole["user"], sort=False)
        .sum()
        .le(found.groupby("user", sort=False).size())
        .all()
    )
    assert news.recommend(items=[]).empty


def test_what_is_left_out_is_counted_and_said(news: Model) -> None:
    item = int(news.known.history.items.ids[0])
    with pytest.warns(UserWarning, match="0 events of the history and 1 of the allowed items"):
        found = news.recommend(active(news)[:1], items=[item, -1])
    assert found.attrs == {"unknown_items": 1, "rows_of_weight_0": 0, "duplicate_rows": 0}
    given = events_of(news, 3)
    given.loc[0, "item"] = -1
    with pytest.warns(UserWarning, match="1 events of the history and 0 of the allowed items"):
        assert news.recommend(history=given).attrs["unknown_items"] == 1
    given = events_of(news, 3).assign(weight=1.0)
    given.loc[0, "weight"] = 0.0
    with pytest.warns(UserWarning, match="1 events of the history are left out: their weights are 0 or less"):
        assert news.recommend(history=given).attrs["rows_of_weight_0"] == 1
    with pytest.warns(UserWarning, match="their weights are 0 or less"):
        news.explain(given["user"][0], item, history=given)


@pytest.mark.parametrize("duplicates", ["drop", "keep"])
def test_a_given_event_that_is_repeated_counts_as_often_as_in_the_data(
    news: Model, duplicates: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(news.kept.config, "dataset", {"duplicates": duplicates})
    given = events_of(news, 3)
    twice = pd.concat([given, given.head(1)])
    if duplicates == "keep":
        assert len(news.asked(None, twice, None).history) == len(given) + 1
        return
    with pytest.warns(UserWarning, match="1 events of the history are left out: they repeat the user, item and time"):
        found = news.recommend(history=twice)
    assert found.attrs["duplicate_rows"] == 1
    pd.testing.assert_frame_equal(found, news.recommend(history=given))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"users": ["1"]}, "the ids of users are texts, as '1' is, and those of the model numbers"),
        ({"users": [1, float("nan")]}, "one is missing"),
        ({"users": [None]}, "one is missing"),
        ({"users": [1.5]}, "these are floating"),
        ({"users": [1, "a"]}, "these are mixed-integer"),
        ({"users": 1}, "put it into brackets"),
        ({"users": "abc"}, "put it into brackets"),
        ({"k": 0}, "k=0: it must be a whole number from 1"),
        ({"k": True}, "k=True"),
        ({"items": ["a"]}, "the ids of items are texts"),
        ({"at": "soon"}, "'soon' is no time"),
        ({"history": pd.DataFrame({"user": [1], "item": [1], "time": [1], "x": [1]})}, "a column 'x'"),
        ({"history": pd.DataFrame({"user": [1], "item": [1]})}, "give both or neither times"),
    ],
)
def test_what_cannot_be_used_is_refused_in_a_sentence(news: Model, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says):
        news.recommend(**arguments)


def test_each_user_gets_one_list_and_nobody_none(news: Model) -> None:
    user = int(active(news)[0])
    pd.testing.assert_frame_equal(news.recommend([user, user]), news.recommend([user]))
    assert news.recommend([]).empty
    assert len(news.recommend([user], k=10**9)) == 30


def test_similar_items_are_those_of_the_first_source_that_knows_them(news: Model) -> None:
    item = int(np.argmax(news.known.history.clicks))
    ids = news.known.history.items.ids
    found = news.similar(ids[item], 3)
    weights = news.kept.chain.retriever.sources["item_knn"].weights[[item]].toarray()[0]  # type: ignore[attr-defined]
    assert found.attrs == {"by": "item_knn"}
    assert found["item"].tolist() == ids[np.argsort(-weights, kind="stable")[:3]].tolist()
    assert found["score"].is_monotonic_decreasing
    with pytest.raises(InputError, match="item -1: the model does not know it"):
        news.similar(-1)


def test_an_explanation_adds_up(news: Model) -> None:
    user = int(active(news)[0])
    top = news.recommend([user], k=30)
    one, other = (news.explain(user, item) for item in top["item"][:2])
    assert (one.rank, other.rank) == (1, 2)
    assert one.score == pytest.approx(top["score"][0])
    gap = sum(one.contributions.values()) - sum(other.contributions.values())
    assert gap == pytest.approx(top["score"][0] - top["score"][1], abs=1e-5)
    assert one.candidates == 30
    assert one.columns["item_knn_rank"] == one.columns["item_knn_rank"] or one.retrieved is not None
    absent = next(item for item in news.known.history.items.ids.tolist() if item not in set(top["item"]))
    missing = news.explain(user, absent)
    assert (missing.retrieved, missing.rank, missing.contributions) == (None, None, {})
    assert "not retrieved" in repr(missing)
    assert "<table>" in one._repr_html_()


def test_a_model_shows_what_it_is(news: Model) -> None:
    assert repr(news).splitlines()[0].split() == ["Model", "FittedUnion", "+", "FittedLinear"]
    assert "30 candidates per request" in repr(news)
    assert "FittedUnion" in news._repr_html_()


def test_load_model_finds_the_model_of_a_run(here: Path) -> None:
    recx.run([*NEWS, "tracker=console", "cache=off", "retriever=popularity", "ranker=identity"])
    assert recx.load_model("last").kept.folder.name == "model"


def test_a_history_may_be_interactions(news: Model) -> None:
    given = events_of(news, 3)
    made = Interactions.from_frame(given, order="given")
    pd.testing.assert_frame_equal(news.recommend(history=made), news.recommend(history=given))
    assert isinstance(news.known, Fold)


def test_without_the_data_of_the_run_a_given_history_is_all_that_is_known(made: Made, tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"user": random.integers(0, 40, 400), "item": random.integers(0, 30, 400)})
    frame["time"] = 1_700_000_000_000 + random.permutation(400) * 60_000
    frame.to_csv(tmp_path / "events.csv", index=False)
    model = made(
        "+experiment=table", f"dataset.path={tmp_path / 'events.csv'}", "retriever=item_knn", "ranker=identity"
    )[1]
    (tmp_path / "events.csv").unlink()
    with pytest.warns(UserWarning, match="are all that is known, since those of the run are not here"):
        found = model.recommend([3], history=frame, k=3)
    assert found["user"].tolist() == [3, 3, 3]
    assert not set(found["item"]) & set(frame["item"][frame["user"] == 3])
    with pytest.raises(InputError, match=r"events\.csv"):
        model.recommend([3])
    last = frame["time"].max()
    with pytest.warns(UserWarning, match="are all that is known"):  # when the other items were clicked first is kept
        alone = model.recommend(history=pd.DataFrame({"user": ["new"], "item": [5], "time": [last]}), k=10)
    assert len(alone) == 10
