"""Every statement of the protocol card is recomputed from the lists and the folds, for all splits and settings.

Fault 06, and variants of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

import recx
from recx.config.compose import compose, plain
from recx.core.types import Interactions, RankedLists, Requests
from recx.evaluation.rules import rules
from recx.experiment import build, protocol_card
from recx.experiment.experiment import Experiment, Result
from recx.experiment.saved_runs import load
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.random import Random
from recx.parts.retriever.union import Union
from recx.parts.split.folds import deal
from recx.plugin import UNKNOWN_EVENTS

MINUTE, DAY = 60_000, 86_400_000
SPLITS = [
    ["split=leave_last"],
    ["split=leave_last", "split.n=2", "split.request_time=last_event"],
    ["split=leave_last", "split.past=none", "refit=false"],
    ["split=by_time", "split.window=12h"],
    ["split=by_time", "split.window=12h", "split.min_history=0"],
    ["split=by_user"],
    ["split=by_user", "split.given=2", "refit=false"],
    ["split=by_query", "seed=3"],
]
CHAINS = [
    ["retriever=popularity", "ranker=identity"],
    ["retriever=item_knn", "retriever.seen=keep", "ranker=identity"],
    ["retriever=union", "ranker=linear", "feature=basic", "ranker.seed=7", "ranker.resamples=0"],
    ["retriever=random", "seen=keep", "ranker=identity", "n_candidates=7", "retriever.seed=5"],
]

CASES = [
    (split, CHAINS[(place + later) % len(CHAINS)], fold)
    for place, split in enumerate(SPLITS)
    for later, fold in enumerate(("test", "valid"), start=1)
]
"""Each split with two chains; the ranker that learns meets none without a past, which has nothing to learn from."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with clicks, many of which repeat, with times and without."""
    where, rng = tmp_path_factory.mktemp("clicks"), np.random.default_rng(0)
    rows = []
    for user in range(90):
        time, item = 1_500_000_000_000 + int(rng.integers(2 * DAY)), int(rng.integers(25))
        for _ in range(int(rng.integers(1, 8))):
            item = int(rng.integers(25)) if rng.random() < 0.7 else item
            time += int(rng.integers(1, 600)) * MINUTE // 10
            rows.append((user, item, time))
    frame = pd.DataFrame(rows, columns=["user", "item", "time"])
    frame.to_csv(where / "timed.csv", index=False)
    frame[["user", "item"]].to_csv(where / "untimed.csv", index=False)
    return where


def run(folder: Path, words: list[str], monkeypatch: pytest.MonkeyPatch) -> tuple[Result, dict[str, Any]]:
    monkeypatch.chdir(folder)
    config = plain(compose(["+experiment=table", *words]))
    result = build.experiment(config).run()
    return result, protocol_card.card(result, config)


def clicked(result: Result) -> int:
    """Count the candidates that their user has clicked before."""
    history, lists = result.split.fold.history, result.candidates
    n = 0
    for place, user in enumerate(lists.user):
        own = set(history.item[history.indptr[user] : history.indptr[user + 1]].tolist())
        n += sum(item in own for item in lists.item[lists.indptr[place] : lists.indptr[place + 1]].tolist())
    return n


def candidates_of(split: list[str], data: Interactions, fold: str) -> set[int]:
    """Return the users who would have been asked if they had enough events."""
    back = 1 if fold == "test" else 2
    if "split=by_time" in split:
        assert data.time is not None
        stop = int(data.time.max()) + 1 - (back - 1) * DAY // 2
        moments = zip(data.user.tolist(), data.time.tolist(), strict=True)
        return {user for user, time in moments if stop - DAY // 2 <= time < stop}
    if "split=by_user" in split:  # a fifth of the users, by chance
        step = deal(data.n_users, 0.2, 0)
        return set(np.flatnonzero(step == back).tolist())
    return set(range(data.n_users))


@pytest.mark.parametrize(("split", "chain", "fold"), CASES, ids=str)
def test_the_card_tells_the_truth(
    split: list[str], chain: list[str], fold: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trained = "ranker=linear" in chain
    words = ["dataset.path=timed.csv", "dataset.time=time", f"fold={fold}", *split, *chain]
    result, card = run(folder, words, monkeypatch)
    now, past, data = result.split.fold, result.split.past, result.interactions
    target = now.target
    assert target is not None
    assert now.requests.time is not None
    # What was asked and judged
    assert card["fold"] == fold
    asked = {user for user in range(data.n_users) if target.indptr[user] < target.indptr[user + 1]}
    users = card["users"]
    assert (users["known"], users["asked"], users["judged"]) == (data.n_users, len(asked), len(asked))
    without = sum(length == 0 for length in result.candidates.lengths.tolist())
    assert users["judged_without_list"] == without
    left_out = dict(users["left_out"])
    assert left_out.pop("users_without_target") == 0
    if "split=by_query" not in split:
        [count] = left_out.values()
        assert count == len(candidates_of(split, data, fold) - asked)
    assert card["items"] == data.n_items == len(set(data.item.tolist()))
    for name, step in (("fold", now), ("past", past)):
        said = card["steps"][name]
        if step is None:
            assert said is None
            continue
        assert step.target is not None
        assert step.requests.time is not None
        assert (said["history_events"], said["targets"]) == (len(step.history.item), len(step.target.item))
        assert said["requests"] == len(step.requests.user)
        ends = [pd.Timestamp(said[f"{end}_request"]).value // 10**6 for end in ("first", "last")]
        assert ends == [min(step.requests.time.tolist()), max(step.requests.time.tolist())]
    # What was shown
    shown = clicked(result)
    assert card["seen"] == ("keep" if "retriever.seen=keep" in chain or "seen=keep" in chain else "drop")
    assert shown == 0 or card["seen"] == "keep"
    assert card["ranking"].startswith("full")
    assert max(result.candidates.lengths) <= card["n_candidates"] == (7 if "n_candidates=7" in chain else 100)
    # What a fit has seen
    assert card["refit"] == ("refit=false" not in split or past is None)
    fitted_on = now.history if card["refit"] or past is None else past.history
    assert fitted_on.time is not None
    assert target.time is not None
    first = [int(target.time[target.indptr[user]]) for user in sorted(asked)]
    assert card["later_events"] == max(sum(time >= at for time in fitted_on.time.tolist()) for at in first)
    if "split=by_time" in split:
        assert card["later_events"] == 0
    # What a request knows
    expected = "1 ms after the last event" if "split.request_time=last_event" in split else "when the first target"
    assert card["context"]["time"].startswith(expected)
    # Seeds and ties
    seed = 3 if "seed=3" in split else 0
    assert card["seed"] == seed
    apart = {"ranker.seed": 7} if trained else {"retriever.seed": 5} if "retriever.seed=5" in chain else {}
    assert card.get("seeds_apart", {}) == apart
    assert "loaded" not in card
    assert card["made_elsewhere"] == {}
    for lists in (result.candidates, result.recommendations):
        for start, stop in zip(lists.indptr[:-1], lists.indptr[1:], strict=True):
            assert (np.diff(lists.score[start:stop]) <= 0).all()


def test_without_times_nobody_knows_what_is_later(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["dataset.path=untimed.csv", "retriever=item_knn", "ranker=identity"]
    _, card = run(folder, words, monkeypatch)
    assert card["later_events"] is None
    assert card["context"]["time"] == "none: requests follow all history"
    assert card["steps"]["fold"]["first_request"] is None


@pytest.mark.parametrize("split", ["random", "k_fold_events", "cold_items", "session", "k_fold"])
def test_the_card_says_what_a_split_holds_out(split: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["dataset.path=timed.csv", "dataset.time=time", f"split={split}", "retriever=popularity", "ranker=identity"]
    result, card = run(folder, [*words, *(["split.which=random"] if split == "cold_items" else [])], monkeypatch)
    ignores = split not in ("session", "k_fold")
    assert card["held_out"].startswith(("One step is", "The users are dealt", "The events are dealt"))
    assert ("leaks_time" in card) == ignores
    assert card["context"]["time"].startswith(
        "1 ms after the last event of all" if ignores else "when the first target"
    )
    allowed = result.split.fold.requests.allowed
    assert card["ranking"].startswith(
        "full" if split != "cold_items" else "the items that the split allows compete, 5 of 25"
    )
    assert (allowed is None) == (split != "cold_items")
    if split == "session":
        assert card["later_events"] == 0
        assert len(result.split.fold.learnable) < len(result.split.fold.history)


def test_a_prediction_has_no_later_events(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["dataset.path=timed.csv", "dataset.time=time", "fold=predict", "retriever=popularity", "ranker=identity"]
    _, card = run(folder, words, monkeypatch)
    assert card["later_events"] is None
    assert card["users"]["judged"] is None
    assert card["context"]["time"].startswith("1 ms after the last event")


@dataclass(frozen=True)
class Unruly:
    """A retriever that says ``drop`` and shows the whole catalogue."""

    seen: str = "drop"

    def fit(self, history: Interactions) -> Unruly:
        return self

    def retrieve(self, history: Interactions, requests: Requests, k: int) -> RankedLists:
        n = len(requests) * history.n_items
        item = np.tile(np.arange(history.n_items, dtype=np.int32), len(requests))
        borders = history.n_items * np.arange(len(requests) + 1)
        return RankedLists(requests.user, borders, item, np.zeros(n, np.float32))


@dataclass(frozen=True)
class Silent:
    """A retriever without the setting ``seen``."""

    source: Any
    retrieves_slates: ClassVar = False

    def fit(self, history: Interactions) -> Any:
        return self.source.fit(history)


@pytest.mark.parametrize(
    ("retriever", "said"),
    [
        (Popularity(seen="drop"), "drop"),
        (Popularity(seen="keep"), "keep"),
        (Union({"a": Popularity(seen="drop"), "b": ItemKNN(seen="drop")}), "drop"),
        (Union({"a": Popularity(seen="drop"), "b": ItemKNN(seen="keep")}), "keep"),
        (Unruly(), "keep"),
        (Silent(Random(seen="keep")), "keep"),
        (Union({"a": Silent(Popularity())}), "drop"),
    ],
    ids=str,
)
def test_seen_is_what_the_retrievers_do(
    retriever: Any, said: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["dataset.path=timed.csv", "dataset.time=time", "retriever=popularity", "ranker=identity"]
    result, _ = run(folder, words, monkeypatch)
    chain: Experiment = replace(result.experiment, retriever=retriever)
    made = chain.run()
    # The top-level setting says the opposite, as it does where a part is set apart.
    other = "keep" if said == "drop" else "drop"
    card = protocol_card.card(made, {"seen": other, "seed": 0})
    assert card["seen"] == said
    assert clicked(made) == 0 or said == "keep"
    different = protocol_card.card(replace(chain, retriever=Popularity(seen=other)).run(), {"seed": 0})
    assert rules(card) != rules(different)


def test_slates_are_whole_and_made_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["+experiment=agents", "dataset.traces=30", "tracker=console", "cache=off", "n_candidates=5"]
    result = recx.run([*words, "ranker=identity", "hydra.run.dir=run"])
    card = load(tmp_path / "run").protocol
    assert max(result.candidates.lengths) > 5
    assert card["n_candidates"] is None
    assert card["ranking"].startswith("slates")
    slates = result.split.fold.history.slates
    assert slates is not None
    assert set(result.candidates.item.tolist()) <= set(slates.item.tolist())
    assert card["made_elsewhere"] == {"slates": UNKNOWN_EVENTS}
    both = replace(result.experiment, retriever=Union({"a": result.experiment.retriever, "b": Random()}))
    assert protocol_card.card(both.run(), {})["ranking"].startswith("full")
    alone = replace(result.experiment, retriever=Union({"a": result.experiment.retriever}))
    assert protocol_card.card(alone.run(), {})["ranking"].startswith("slates")


def test_news_say_whose_context_is_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = ["dataset.readers=100", "dataset.articles=50", "ranker=identity", "retriever=popularity"]
    recx.run(["+experiment=news", "tracker=console", "cache=off", "hydra.run.dir=run", *small])
    card = load(tmp_path / "run").protocol
    assert card["context"]["users"]["region"] == "of the user's first event; unknown where that is held out"
    assert card["made_elsewhere"] == {"embeddings of items": UNKNOWN_EVENTS}
    assert "context" not in rules(card)
