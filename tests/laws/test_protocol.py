"""Whole runs on random worlds equal tests/plain/plain_protocol.py, which computes the protocol by plain loops.

A seed draws a world (ties, repeats, cold users and items, items not yet published, lists offered by the data) and a
chain; everything between the raw events and the figures of each user is held against the loops.
"""

from __future__ import annotations

import csv
import math
import random
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import plain_protocol as plain
import pytest

from recx.core.entities import UNKNOWN_TIME, Entities
from recx.core.errors import InputError
from recx.core.protocols import Feature
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.evaluator import Evaluator
from recx.experiment.experiment import Experiment, Result
from recx.parts.dataset.table import Table
from recx.parts.feature.popularity import Clicks, PeerClicks
from recx.parts.feature.retrieval import Rank, Score
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.given import Given
from recx.parts.retriever.item_knn import ItemKNN
from recx.parts.retriever.popularity import Popularity
from recx.parts.retriever.union import Union
from recx.parts.split.by_query import ByQuery
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.cold_users import ColdUsers
from recx.parts.split.k_fold import KFold
from recx.parts.split.k_fold_events import KFoldEvents
from recx.parts.split.leave_last import LeaveLast
from recx.parts.split.random import Random as RandomShare

START, MINUTE = 1_600_000_000_000, 60_000  # ms
CUTS = (1, 2, 5, None)
FIGURES = ("hit", "recall", "recall_capped", "precision", "f", "dcg", "ndcg", "map", "map_trec", "mrr")
STAGES = ("retrieval", "ranking", "end_to_end")


@dataclass(frozen=True)
class Loaded:
    interactions: Interactions

    def load(self) -> Interactions:
        return self.interactions


@dataclass(frozen=True)
class Shuffle:
    """A ranker with many ties, which keep the order of the candidates."""

    factor: int

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return candidates.reorder((candidates.item * self.factor % 3).astype(np.float32))


@dataclass(frozen=True)
class Chain:
    """Settings of a run, for both sides."""

    experiment: Experiment
    split: Any
    settings: dict[str, Any]
    retrievers: dict[str, tuple[str, dict[str, Any]]]  # name -> function of plain_protocol and its settings
    seen: str
    union: dict[str, Any] | None


# ---- worlds ----


def random_world(rng: random.Random, folder: Path) -> tuple[plain.World, Interactions]:
    """Return the same events for both sides, in half of the worlds read from a file of shuffled rows."""
    n_users, n_items, timed = rng.randint(1, 12), rng.randint(2, 8), rng.random() < 0.75
    ticks = [START + 10 * MINUTE * rng.randint(0, 11) + rng.choice([0, 0, 0, 1]) for _ in range(20)]
    weights = rng.choice([[1.0], [0.5, 1.0, 2.0, 3.0]])
    rows = [
        (user, min(rng.randint(0, n_items - 1), rng.randint(0, n_items - 1)), rng.choice(ticks), rng.choice(weights))
        for user in range(n_users)
        for _ in range(rng.choice([0, 1, 2, 3, 4, 5, 7]))
    ] or [(0, 0, ticks[0], 1.0)]
    rng.shuffle(rows)
    if rng.random() < 0.5:
        return from_file(rng, rows, timed, folder)
    events = plain.sorted_by_user(
        [(user, item, time if timed else None, weight) for user, item, time, weight in rows], n_users, drop=False
    )
    world = plain.World(events, n_items, timed)
    if rng.random() < 0.5:
        world.created = [rng.choice([None, *ticks]) for _ in range(n_items)]
    if rng.random() < 0.5:
        world.group = [rng.randint(0, 2) for _ in range(n_users)]
    if rng.random() < 0.5:
        world.part = [rng.choice(["train", "valid", "test"]) for _ in range(n_users)]
    if rng.random() < 0.6:
        offered = [user for user in range(n_users) if rng.random() < 0.8]
        world.slates = {user: rng.sample(range(n_items), rng.randint(0, n_items)) for user in offered}
    if rng.random() < 0.2:
        world.to_predict = rng.sample(range(n_users), rng.randint(1, n_users))
    return world, interactions_of(world)


def from_file(rng: random.Random, rows: list[Any], timed: bool, folder: Path) -> tuple[plain.World, Interactions]:
    names = [(f"u{user}", f"i{item + 8}", time, weight) for user, item, time, weight in rows]  # i10 sorts before i8
    path, drop = folder / "events.csv", rng.random() < 0.5
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("user", "item", "time", "weight"), *names])
    users, items = list(dict.fromkeys(row[0] for row in names)), sorted({row[1] for row in names})
    numbers = [(users.index(user), items.index(item), time if timed else None, w) for user, item, time, w in names]
    loaded = Table(
        str(path), time="time" if timed else None, order="given", weight="weight", duplicates="drop" if drop else "keep"
    ).load()
    assert loaded.users.ids.tolist() == users
    assert loaded.items.ids.tolist() == items
    return plain.World(plain.sorted_by_user(numbers, len(users), drop), len(items), timed), loaded


def interactions_of(world: plain.World) -> Interactions:
    rows = [event for events in world.events for event in events]
    users, items = {}, {}
    if world.created:
        items["created_at"] = np.array([UNKNOWN_TIME if time is None else time for time in world.created])
    if world.group:
        users["group"] = np.array(world.group, dtype=np.int32)
    if world.part:
        users["part"] = np.array(world.part, dtype=object)
    slates = None
    if world.slates:
        shown = world.slates.values()
        slates = RankedLists(
            np.array(list(world.slates), dtype=np.int32),
            indptr_of(np.array([len(slate) for slate in shown])),
            np.array([item for slate in shown for item in slate], dtype=np.int32),
            np.zeros(sum(map(len, shown)), dtype=np.float32),
        )
    return Interactions(
        indptr=indptr_of(np.array([len(events) for events in world.events])),
        item=np.array([item for item, _, _ in rows], dtype=np.int32),
        time=np.array([time for _, time, _ in rows], dtype=np.int64) if world.timed else None,
        weight=np.array([weight for _, _, weight in rows], dtype=np.float32),
        users=Entities(np.arange(len(world.events)), users),
        items=Entities(np.arange(world.n_items), items),
        slates=slates,
        to_predict=None if world.to_predict is None else np.array(world.to_predict, dtype=np.int32),
    )


# ---- chains ----


AT_THE_END = ("k_fold_events", "random_share")
"""Splits without regard to time, which ask after all history."""


def random_chain(rng: random.Random, world: plain.World, interactions: Interactions) -> Chain:
    request_time, past = rng.choice(["target", "last_event"]), rng.choice(["step", "none"])
    kinds = ["leave_last", "by_user", "by_query", "k_fold", "k_fold_events", "random_share"]
    name = rng.choice([*kinds, *(["by_time", "cold_users"] if world.timed else [])])
    part, settings, ours = random_split(rng, world, name)
    timed = {} if name in AT_THE_END else {"request_time": request_time}
    splitter = part(**ours, **timed, past=past)
    seen, union = rng.choice(["drop", "keep"]), None
    kind = rng.choice(["popularity", "item_knn", "union", *(["given"] if world.slates else [])])
    if kind == "union":
        union = {
            "method": rng.choice(["reciprocal_rank", "score"]),
            "smoothing": rng.choice([0.0, 60.0]),
            "weights": rng.choice([{}, {"item_knn": 2.0}]),
        }
        made = {name: random_retriever(rng, name, seen, exact=True) for name in ("popularity", "item_knn")}
        retriever: Any = Union({name: of[0] for name, of in made.items()}, **union)
    else:
        made = {kind: random_retriever(rng, kind, seen)}
        retriever = made[kind][0]
    n_candidates, threshold = rng.choice([1, 3, 100]), rng.choice([1.0, 1.0, 2.0])
    names = [figure if k is None else f"{figure}_at_{k}" for figure in FIGURES for k in CUTS]
    experiment = Experiment(
        dataset=Loaded(interactions),
        splitter=splitter,
        retriever=retriever,
        ranker=rng.choice([Identity(), Shuffle(2)]),
        evaluator=Evaluator(names, names, names, n_candidates, rel_threshold=threshold),
        fold=rng.choice(["test", "test", "test", "valid", "valid", "predict"]),
        n_candidates=n_candidates,
        refit=rng.random() < 0.7,
    )
    return Chain(experiment, getattr(plain, name), settings, {name: of[1] for name, of in made.items()}, seen, union)


def random_split(rng: random.Random, world: plain.World, name: str) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """Return the part, the settings of the loops and those of the part."""
    if name == "leave_last":
        n = rng.choice([1, 1, 2])
        return LeaveLast, {"n": n}, {"n": n}
    if name == "by_time":
        window, least = rng.choice([10, 25, 60]), rng.choice([0, 1, 2])
        plainly = {"window": window * MINUTE, "min_history": least}
        return ByTime, plainly, {"window": f"{window}m", "min_history": least}
    share, seed = rng.choice([0.2, 0.4]), rng.randint(0, 3)
    if name == "cold_users":
        n = rng.choice([None, 1])
        return ColdUsers, {"share": share, "n": n}, {"share": share, "n": n}
    if name == "random_share":
        settings = {"share": share, "min_history": rng.choice([0, 1, 2]), "seed": seed}
        return RandomShare, settings, settings
    if name.startswith("k_fold"):
        k, least = rng.choice([2, 3, 5]), rng.choice([0, 1])
        settings = {"k": k, "part": rng.randrange(k), "min_history": least, "seed": seed}
        if name == "k_fold_events":
            return KFoldEvents, settings, settings
        grouped = bool(world.group) and rng.random() < 0.5
        settings["n"] = rng.choice([1, 2, *([] if least else [None])])
        return KFold, {**settings, "grouped": grouped}, {**settings, "group": "group" if grouped else None}
    if name == "by_query":
        return ByQuery, {"share": share, "seed": seed}, {"share": share, "seed": seed}
    given, grouped = rng.choice([0, 1, 2]), bool(world.group) and rng.random() < 0.5
    settings = {"share": share, "given": given, "seed": seed}
    return ByUser, {**settings, "grouped": grouped}, {**settings, "group": "group" if grouped else None}


def random_retriever(
    rng: random.Random, name: str, seen: str, exact: bool = False
) -> tuple[Any, tuple[Any, dict[str, Any]]]:
    """Return the part, the function of the loops and its settings.

    With ``exact``, all scores are sums of powers of 2, so that equal scores are equal on both sides.
    """
    if name == "given":
        seed = rng.randint(0, 3)
        return Given(seed), (None, {"seed": seed})
    if name == "popularity":
        window, half_life = rng.choice([None, 10, 40]), None if exact else rng.choice([None, None, 10, 0.5])
        texts = {"window": window and f"{window}m", "half_life": half_life and f"{round(half_life * 60)}s"}
        settings = {"window": window and window * MINUTE, "half_life": half_life and half_life * MINUTE}
        return Popularity(**texts, seen=seen), (plain.popularity, settings)
    half_life = None if exact else rng.choice([None, None, 20])
    normalise = "none" if exact else rng.choice(["none", "none", "cosine", "lift"])
    settings = {
        "neighbours": rng.choice([1, 2, 200]) if normalise == "none" and half_life is None else 200,
        "distance": rng.choice([1, 2, 3]),
        "position_decay": rng.choice([0.5, 1.0]),
        "backward": rng.choice([0.0, 0.5, 1.0]),
        "shrink": rng.choice([0.0, 1.0]),
        "last": rng.choice([1, 2, 4]),
        "recency": rng.choice([0.5, 1.0]),
    }
    ours = ItemKNN(**settings, normalise=normalise, half_life=half_life and f"{half_life}m", seen=seen)
    power = {"none": 0.0, "cosine": 0.5, "lift": 1.0}[normalise]
    return ours, (plain.item_knn, {**settings, "half_life": half_life and half_life * MINUTE, "power": power})


# ---- the comparison ----


def check(seed: int, folder: Path) -> str:
    """Run one world on both sides; return which split, retriever and fold it was."""
    rng = random.Random(seed)
    world, interactions = random_world(rng, folder)
    chain = random_chain(rng, world, interactions)
    experiment = chain.experiment
    label = f"{chain.split.__name__} {type(experiment.retriever).__name__} {experiment.fold}"
    back, part = plain.STEPS[experiment.fold], experiment.splitter
    request_time = getattr(part, "request_time", "end")
    now = plain.fold_of(world, chain.split, chain.settings, back, True, request_time)
    past = plain.fold_of(world, chain.split, chain.settings, back + 1, False, request_time)
    past = past if part.past == "step" else None
    if past and now and back and world.slates:
        past = plain.without_askers(past, now)
    judged = now and {user: gains for user in now.requests if (gains := relevant(now, user, experiment.evaluator))}
    result = run_or_refusal(experiment)
    if isinstance(result, str):
        assert not judged, (label, result)
        assert now is None or now.targets, (label, result)
        assert any(reason in result for reason in REFUSALS), result
        return f"{label} refused"
    assert now, label
    check_fold(now, result.split.fold, interactions)
    assert (past is None) == (result.split.past is None)
    if past:
        check_fold(past, result.split.past, interactions)
    assert result.split.notes["past_requests"] == (len(past.requests) if past else 0)
    check_candidates(world, chain, now, now if experiment.refit or not past else past, result)
    check_features(world, now, result)
    if now.targets is None:
        assert result.report is None
        return label
    check_figures(chain, now, judged, result)
    return label


REFUSALS = (
    "no user has both a target",
    "no query of this part has an answer",
    "the data has no part",
    "nothing to judge",
    "nothing to learn",
    "users with a target has a list",
)


def run_or_refusal(experiment: Experiment) -> Result | str:
    try:
        return experiment.run()
    except InputError as error:
        return str(error)


def relevant(fold: plain.Fold, user: int, evaluator: Evaluator) -> dict[int, float]:
    """Return the gains of a user who has a relevant target, else nothing."""
    gains = plain.gains_of(fold.targets[user]) if fold.targets else {}
    return gains if any(gain >= evaluator.rel_threshold for gain in gains.values()) else {}


def check_fold(expected: plain.Fold, found: Fold, interactions: Interactions) -> None:
    assert dict(zip(found.requests.user.tolist(), times_of(found.requests), strict=True)) == expected.requests
    assert events_of(found.history) == expected.history
    assert (None if found.target is None else events_of(found.target)) == expected.targets


def times_of(requests: Requests) -> list[int | None]:
    return [None] * len(requests) if requests.time is None else requests.time.tolist()


def events_of(interactions: Interactions) -> list[list[plain.Event]]:
    time = [None] * len(interactions) if interactions.time is None else interactions.time.tolist()
    rows = list(zip(interactions.item.tolist(), time, interactions.weight.tolist(), strict=True))
    borders = interactions.indptr.tolist()
    return [rows[start:stop] for start, stop in pairwise(borders)]


def lists_of(lists: RankedLists) -> dict[int, list[tuple[int, float]]]:
    rows = list(zip(lists.item.tolist(), lists.score.tolist(), strict=True))
    return {
        user: rows[start:stop]
        for user, start, stop in zip(lists.user.tolist(), lists.indptr, lists.indptr[1:], strict=False)
    }


def check_candidates(world: plain.World, chain: Chain, now: plain.Fold, fitted_on: plain.Fold, result: Result) -> None:
    found = lists_of(result.candidates)
    assert list(found) == list(now.requests)
    k = min(chain.experiment.n_candidates, world.n_items)
    for user, rows in found.items():
        if "given" in chain.retrievers:
            slate = world.slates.get(user, [])
            assert rows == [(item, 0) for item in plain.shuffled_slate(slate, user, **chain.retrievers["given"][1])]
            continue
        allowed = plain.eligible(world, now, user, chain.seen)
        scores = {name: of(world, fitted_on, now, user, **how) for name, (of, how) in chain.retrievers.items()}
        lists = {name: plain.best(score, allowed, k) for name, score in scores.items()}
        expected = plain.merged(lists, **chain.union, k=k) if chain.union else next(iter(lists.values()))
        everything = scores[next(iter(scores))]
        if chain.union:
            everything = dict(plain.merged(lists, **chain.union, k=world.n_items))
        assert [score for _, score in rows] == pytest.approx([score for _, score in expected], rel=1e-5)
        assert [everything[item] for item, _ in rows] == pytest.approx([score for _, score in expected], rel=1e-5)
        assert {item for item, _ in rows} <= set(allowed)
        if exact(chain):
            assert [item for item, _ in rows] == [item for item, _ in expected]
        if chain.union:
            columns = result.candidates.take(np.array([list(found).index(user)])).columns
            for name, of_source in lists.items():
                place = {item: (rank, score) for rank, (item, score) in enumerate(of_source, start=1)}
                known = [place.get(item, (math.nan, math.nan)) for item, _ in rows]
                for kind, values in zip(("rank", "score"), zip(*known, strict=True), strict=False):
                    assert columns[f"{name}_{kind}"].tolist() == pytest.approx(list(values), nan_ok=True)


def exact(chain: Chain) -> bool:
    """Return whether scores that should be equal are equal on both sides, so that ties can be compared."""
    rounded = any(how.get("power") or how.get("half_life") for _, how in chain.retrievers.values())
    return not (rounded or (chain.union and chain.union["method"] == "score"))


def check_features(world: plain.World, now: plain.Fold, result: Result) -> None:
    candidates, history, requests = result.candidates, result.split.fold.history, result.split.fold.requests
    rows = [(user, item, rank) for user, row in lists_of(candidates).items() for rank, (item, _) in enumerate(row, 1)]

    def values(feature: Feature) -> list[float]:
        found: list[float] = feature.fit(history)(candidates, requests).tolist()
        return found

    for text, window in (("20m", 20 * MINUTE), (None, None)):
        counts = [plain.clicks_within(now, item, now.requests[user], window) for user, item, _ in rows]
        expected = [math.log1p(count) for count in counts]
        assert values(Clicks(text)) == pytest.approx(expected, rel=1e-6)
    if world.group and world.timed:
        peers = [{of for of, group in enumerate(world.group) if group == world.group[user]} for user, _, _ in rows]
        expected = [
            math.log1p(plain.clicks_within(now, item, now.requests[user], 20 * MINUTE, users))
            for (user, item, _), users in zip(rows, peers, strict=True)
        ]
        assert values(PeerClicks("group", "20m")) == pytest.approx(expected, rel=1e-6)
    assert values(Rank()) == pytest.approx([1 / (10 + r) for *_, r in rows], rel=1e-6)
    shares = [
        score / (max(abs(score) for _, score in row) or 1) for row in lists_of(candidates).values() for _, score in row
    ]
    assert values(Score()) == pytest.approx(shares, rel=1e-6)


def check_figures(chain: Chain, now: plain.Fold, judged: dict[int, dict[int, float]], result: Result) -> None:
    report, evaluator = result.report, chain.experiment.evaluator
    candidates = {user: [item for item, _ in row] for user, row in lists_of(result.candidates).items()}
    recommended = {user: [item for item, _ in row] for user, row in lists_of(result.recommendations).items()}
    for user, items in candidates.items():
        factor = getattr(chain.experiment.ranker, "factor", 0)
        assert recommended[user] == sorted(items, key=lambda item: -(item * factor % 3))
    assert report.users.tolist() == result.interactions.users.ids[list(judged)].tolist()
    expected: dict[str, list[float]] = {}
    for k in (k for k in CUTS if (k or 0) <= chain.experiment.n_candidates):
        for user, gains in judged.items():
            of = plain.stages(candidates[user], recommended[user], gains, evaluator.rel_threshold, k)
            for name in (f"{stage}/{figure}" for stage in STAGES for figure in FIGURES):
                expected.setdefault(name if k is None else f"{name}_at_{k}", []).append(of.get(name, math.nan))
            for name in ("lost_in_ranking", "lift_ndcg") if k else ("candidate_recall", "lost_in_retrieval"):
                expected.setdefault(f"funnel/{name}_at_{k}" if k else f"funnel/{name}", []).append(of[f"funnel/{name}"])
    assert set(report.values) == set(expected)
    for name, values in expected.items():
        assert report.values[name].tolist() == pytest.approx(values, abs=1e-9, nan_ok=True), name
    counts = {
        "targets_seen_in_history": sum(
            item in {event[0] for event in now.history[user]} for user, gains in judged.items() for item in gains
        ),
        "users_without_target": len(now.requests) - len(judged),
        "users_without_list": sum(not candidates[user] for user in judged),
        "cut_above_n_candidates": 3 * len(FIGURES) * sum((k or 0) > chain.experiment.n_candidates for k in CUTS),
    }
    assert {name: report.notes[name] for name in counts} == counts
    if result.interactions.time is not None:
        assert result.split.notes["later_events"] == max(plain.later_events(now))


def check_worlds(seeds: range, folder: Path) -> dict[str, int]:
    seen: dict[str, int] = {}
    for seed in seeds:
        try:
            label = check(seed, folder)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        seen[label] = seen.get(label, 0) + 1
    return seen


def test_runs_on_random_worlds_equal_plain_loops(tmp_path: Path) -> None:
    seen = check_worlds(range(3 * hypothesis.settings.default.max_examples), tmp_path)
    splits = ("leave_last", "by_time", "by_user", "by_query", "k_fold ", "k_fold_events", "random_share", "cold_users")
    retrievers = ("Popularity", "ItemKNN", "Union", "Given")
    for wanted in (*splits, *retrievers, "test", "valid", "predict"):
        assert sum(count for label, count in seen.items() if wanted in label and "refused" not in label) >= 5, wanted
