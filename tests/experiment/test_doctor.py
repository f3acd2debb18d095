"""The doctor's counts, by hand, by a slow loop and on real data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import recx
from recx.core.entities import Entities
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests, Split
from recx.evaluation.evaluator import Evaluator
from recx.experiment.doctor import LIMITS, Finding, counts, cuts_of, examine, examined
from recx.parts.dataset.movielens import MovieLens
from recx.parts.dataset.news import News
from recx.parts.dataset.sequences import Sequences
from recx.parts.ranker.identity import Identity
from recx.parts.retriever.popularity import Popularity
from recx.parts.split.by_time import ByTime
from recx.parts.split.by_user import ByUser
from recx.parts.split.cold_items import ColdItems
from recx.parts.split.leave_last import LeaveLast
from recx.parts.split.random import Random

START, SECOND, HOUR, DAY = 1_506_816_000_000, 1000, 3_600_000, 86_400_000


def events(*rows: tuple[Any, ...], items: int | None = None) -> Interactions:
    """Return the data of rows (user, item) or (user, item, time)."""
    frame = pd.DataFrame(rows, columns=["user", "item", "time"][: len(rows[0])])
    return Interactions.from_frame(frame, items=None if items is None else Entities(np.arange(items)))


def healthy() -> Interactions:
    """Return 300 users who click one of 60 items a day, at random moments, on six days."""
    rng = np.random.default_rng(0)
    rows = [
        (user, (7 * user + 11 * day) % 60, START + day * DAY + int(rng.integers(DAY)))
        for user in range(300)
        for day in range(6)
    ]
    world = events(*rows)
    return replace(world, items=replace(world.items, embedding=np.ones((60, 2), np.float32)))


def found(world: Interactions, split: Split | None = None, cuts: tuple[int, ...] = ()) -> dict[str, Finding]:
    made = LeaveLast().split(world, "test") if split is None else split
    return {finding.name: finding for finding in examine(world, made, cuts)}


def seen(finding: Finding) -> tuple[float, float, str]:
    return finding.count, finding.of, finding.verdict


def test_a_healthy_world_is_fine() -> None:
    world = healthy()
    findings = examine(world, ByTime().split(world, "test"), [5, 10])
    assert {finding.name for finding in findings} == set(LIMITS) - {"texts_without_words", "texts_on_both_sides"}
    assert [finding for finding in findings if finding.verdict != "fine"] == []
    assert {finding.why for finding in findings} == {""}


def test_leave_last_shows_fit_later_events() -> None:
    world = events(*[(user, item, START + time) for user, item, time in ((1, 1, 0), (1, 2, 10))])
    assert seen(found(world)["events_later_than_target"]) == (0, 1, "fine")
    rows = [(1, 1, 0), (1, 2, 10), (2, 1, 10), (2, 2, 30), (2, 3, 40)]
    world = events(*[(user, item, START + time) for user, item, time in rows])
    assert seen(found(world)["events_later_than_target"]) == (1, 3, "look")  # two at or after 10, none after 40
    assert found(healthy())["events_later_than_target"].verdict == "fine"  # all targets lie on the last day


def test_rows_that_repeat_an_event() -> None:
    rows = [
        (1, 1, START),
        (1, 1, START),
        (1, 1, START + 5),
        (1, 2, START + 9),
        (2, 1, START),
        (2, 2, START),
        (2, 2, START),
    ]
    findings = found(events(*rows))
    assert seen(findings["duplicate_rows"]) == (2, 7, "bad")
    assert seen(findings["repeated_pairs"]) == (1, 7, "look")
    assert seen(findings["duplicate_rows_dropped"]) == (0, 7, "fine")
    without = found(events(*[row[:2] for row in rows]))
    assert seen(without["duplicate_rows"]) == (0, 7, "fine")
    assert seen(without["repeated_pairs"]) == (3, 7, "look")
    dropped = found(replace(healthy(), notes={"duplicate_rows": 200}))
    assert seen(dropped["duplicate_rows_dropped"]) == (200, 2000, "look")


@pytest.mark.parametrize(
    ("change", "seconds", "before", "after"),
    [
        (lambda time: time // 1000, (1800, "bad"), (0, "fine"), (0, "fine")),
        (lambda time: (time - START) // 1000, (0, "fine"), (1800, "look"), (0, "fine")),  # six days within minutes
        (lambda time: time - START, (0, "fine"), (1800, "look"), (0, "fine")),  # nobody said that it is such a clock
        (lambda time: time * 1000, (0, "fine"), (0, "fine"), (1800, "bad")),
        (lambda time: time // 1000 * 1000, (0, "fine"), (0, "fine"), (0, "fine")),
        (lambda time: np.where(np.arange(1800) == 6, 0, time), (0, "fine"), (1, "look"), (0, "fine")),
        (lambda time: np.where(np.arange(1800) == 6, 0, time // 1000), (1799, "bad"), (1, "look"), (0, "fine")),
        (lambda time: np.where(np.arange(1800) == 5, time * 1000, time), (0, "fine"), (0, "fine"), (1, "look")),
    ],
)
def test_times_that_are_no_dates(
    change: Callable[[Any], Any], seconds: tuple[int, str], before: tuple[int, str], after: tuple[int, str]
) -> None:
    world = healthy()
    findings = found(replace(world, time=change(world.time)))
    names = ("times_like_seconds", "times_before_1990", "times_after_2100")
    assert [(findings[name].count, findings[name].verdict) for name in names] == [seconds, before, after]
    assert all(findings[name].of == 1800 for name in names)


def test_a_world_without_times_has_no_clock() -> None:
    findings = found(events((1, 1), (1, 2), (2, 1), (2, 2)))
    timed = {"targets_after_one_same_gap", "median_hours_to_target", "events_later_than_target"}
    timed |= {
        "targets_older_than_history",
        "times_like_seconds",
        "times_before_1990",
        "times_after_2100",
        "users_with_tied_last_events",
    }
    assert set(LIMITS) - set(findings) == timed | {
        "items_without_embedding",
        "texts_without_words",
        "texts_on_both_sides",
    }


def test_users_with_few_or_no_events() -> None:
    world = events((1, 1), (2, 1), (2, 2), (3, 3), (4, 4))
    more = replace(world, indptr=np.append(world.indptr, 5), users=Entities(np.arange(5)))
    findings = found(more)
    assert seen(findings["users_without_events"]) == (1, 5, "look")
    assert seen(findings["users_with_one_event"]) == (3, 4, "bad")


def test_last_events_that_tie() -> None:
    rows = [
        (1, 1, START),
        (1, 2, START),
        (2, 1, START),
        (2, 2, START + 1),
        (3, 1, START),
        (3, 2, START),
        (3, 3, START + 1),
    ]
    assert seen(found(events(*rows, (4, 1, START)))["users_with_tied_last_events"]) == (1, 3, "bad")


def test_a_bot_is_seen_among_people() -> None:
    rows = [(user, item, START + item * HOUR + user) for user in range(60) for item in range(4)]
    bot = [(99, item % 5, START + item) for item in range(401)]
    findings = found(events(*rows, *bot))
    assert seen(findings["events_of_overactive_users"]) == (401, 641, "bad")
    assert found(events(*rows, *bot[:400]))["events_of_overactive_users"].count == 0
    assert found(events(*bot))["events_of_overactive_users"].count == 0  # alone it is what is usual


def test_items_of_no_user_and_of_every_user() -> None:
    rows = [(user, item) for user in range(9) for item in (0, 1 + user)]
    findings = found(events(*rows, items=200))
    assert seen(findings["items_without_events"]) == (190, 200, "look")
    assert seen(findings["events_on_top_1_percent"]) == (10, 18, "look")
    assert found(events(*rows))["events_on_top_1_percent"].count == 0  # of ten items there is no hundredth


def test_items_without_an_embedding() -> None:
    world = healthy()
    embedding = np.ones((60, 2), np.float32)
    embedding[:3] = np.nan
    findings = found(replace(world, items=replace(world.items, embedding=embedding)))
    assert seen(findings["items_without_embedding"]) == (3, 60, "look")


def test_ids_that_were_rounded() -> None:
    long = [int(float(number)) for number in np.random.default_rng(0).integers(2**62, 2**63 - 1, 20)]
    findings = found(events(*[(user, item) for user in range(30) for item in long]))
    assert seen(findings["ids_that_lost_precision"]) == (20, 50, "bad")
    texts = found(events(("a", "1.2E+18"), ("a", "b"), ("a", "c")))
    assert seen(texts["ids_that_lost_precision"]) == (1, 4, "bad")


def test_unreachable_targets() -> None:
    # Target 9 is new, target 1 was had before, user 3 has had all four items.
    rows = [(1, 1), (1, 9), (2, 1), (2, 2), (2, 1), (3, 1), (3, 2), (3, 3), (3, 9), (3, 2)]
    world = events(*rows)
    findings = found(world)
    assert seen(findings["targets_unseen"]) == (0, 3, "fine")  # user 3 had item 9
    assert seen(findings["targets_already_had"]) == (2, 3, "bad")
    assert seen(findings["users_who_saw_everything"]) == (1, 3, "bad")
    assert seen(found(events(*rows[:5]))["targets_unseen"]) == (1, 2, "bad")


def test_items_that_the_data_offers_are_reachable() -> None:
    world = events((1, 1), (1, 9), (2, 1), (2, 8))
    slates = RankedLists(
        np.arange(2, dtype=np.int32), np.array([0, 2, 4]), np.array([0, 2, 0, 2], np.int32), np.zeros(4, np.float32)
    )
    offered = replace(world, slates=slates)
    findings = found(offered, LeaveLast().split(offered, "test"), (1, 2, 3))
    assert seen(findings["targets_unseen"]) == (1, 2, "bad")  # item 9 is offered to user 1, item 8 to nobody
    assert seen(findings["cuts_beyond_catalogue"]) == (2, 3, "look")


def test_requests_of_users_without_a_history() -> None:
    world = healthy()
    cold = ByUser(share=0.1).split(world, "test")
    findings = found(world, cold)
    assert seen(findings["users_unseen"]) == (30, 30, "look")
    assert "median_hours_to_target" not in findings
    assert found(world, ByUser(share=0.1, given=1).split(world, "test"))["users_unseen"].count == 0


def test_the_gap_before_the_target() -> None:
    gaps = (30, 30, 30, 7200, 3600)
    rows = [(user, user + n, START + HOUR * user + n * gap * SECOND) for user, gap in enumerate(gaps) for n in (0, 1)]
    findings = found(events(*rows))
    assert seen(findings["median_hours_to_target"]) == (round(30 / 3600, 4), 4, "fine")
    assert seen(findings["targets_after_one_same_gap"]) == (3, 5, "look")
    late = found(events(*[(user, n, START + HOUR * (user + 3 * n) + user * n) for user in range(5) for n in (0, 1)]))
    assert seen(late["median_hours_to_target"]) == (3, 4, "look")
    assert late["targets_after_one_same_gap"].count == 0


@pytest.mark.parametrize(("splitter", "expected"), [(LeaveLast(), 2), (Random(), 0)], ids=["leave_last", "random"])
def test_a_split_that_ignores_time_has_no_gap_before_the_target(splitter: LeaveLast | Random, expected: int) -> None:
    world = healthy()
    evaluator = Evaluator(["recall_at_5"], ["ndcg_at_5"], ["ndcg_at_5"])
    chain = recx.Experiment(News(), splitter, Popularity(), Identity(), evaluator)
    findings = {finding.name for finding in examined(chain, world, splitter.split(world, "test"))}
    assert len(findings & {"median_hours_to_target", "targets_after_one_same_gap"}) == expected
    assert "targets_older_than_history" in findings


@pytest.mark.parametrize(
    ("cuts", "expected"),
    [((), (0, 0, "fine")), ((5, 59), (0, 2, "fine")), ((5, 60, 100), (2, 3, "look")), ((60,), (1, 1, "bad"))],
)
def test_cuts_against_the_catalogue(cuts: tuple[int, ...], expected: tuple[float, float, str]) -> None:
    assert seen(found(healthy(), cuts=cuts)["cuts_beyond_catalogue"]) == expected


@pytest.mark.parametrize(("users", "verdict"), [(29, "bad"), (30, "look"), (199, "look"), (200, "fine")])
def test_how_many_are_judged(users: int, verdict: str) -> None:
    rows = [(user, item) for user in range(users) for item in (1, 2)]
    assert seen(found(events(*rows))["requests"]) == (users, users, verdict)


def test_a_prediction_has_no_targets_to_look_at() -> None:
    world = healthy()
    findings = found(world, LeaveLast().split(world, "predict"))
    of_targets = {"targets_unseen", "targets_already_had", "median_hours_to_target", "targets_after_one_same_gap"}
    assert set(LIMITS) - set(findings) == of_targets | {
        "targets_older_than_history",
        "events_later_than_target",
        "requests",
        "texts_without_words",
        "texts_on_both_sides",
    }


def test_empty_data_can_be_examined() -> None:
    nothing = Interactions(
        indptr_of(np.zeros(0)),
        np.zeros(0, np.int32),
        np.zeros(0, np.int64),
        np.zeros(0, np.float32),
        *[Entities(np.zeros(0, int))] * 2,
    )
    split = Split(None, Fold(nothing, nothing, Requests(np.zeros(0, np.int32), np.zeros(0, np.int64))))
    assert {finding.count for finding in examine(nothing, split, [])} == {0}


def test_every_finding_that_is_not_fine_says_why() -> None:
    for why in (limit["why"] for limit in LIMITS.values()):
        assert why.count(". ") == 0
        assert not why.endswith(".")


@dataclass(frozen=True)
class Custom:
    name: str
    k: int | None = None

    def __call__(self, judged: Any) -> float:
        return 0.0


@dataclass(frozen=True)
class Judge:
    def evaluate(self, candidates: Any, recommendations: Any, fold: Any) -> Any: ...


def test_the_cuts_are_those_of_the_metrics() -> None:
    metrics = ["ndcg_at_10", "mrr", Custom("a", 7), Custom("b")]
    evaluator = Evaluator(metrics, ["top_3_accuracy", "recall_at_10"], ["hit_at_100"], n_candidates=50)
    assert cuts_of(evaluator) == [3, 7, 10, 100]
    assert cuts_of(Judge()) == []


rows_of_users = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5), st.integers(0, 3)), min_size=1, max_size=30)


@given(rows_of_users)
def test_counts_equal_those_of_a_slow_loop(rows: list[tuple[int, int, int]]) -> None:
    everyone = [(9, 0, 0), (9, 1, 1)]  # so that there is a request
    world = events(*[(user, item, START + time) for user, item, time in [*rows, *everyone]])
    made = counts(examine(world, LeaveLast().split(world, "test"), []))
    by_user: dict[int, list[tuple[int, int]]] = {}
    for user, item, time in sorted([*rows, *everyone], key=lambda row: row[2]):
        by_user.setdefault(user, []).append((item, time))
    requested = {user: clicks for user, clicks in by_user.items() if len(clicks) > 1}
    past = {user: clicks[:-1] if user in requested else clicks for user, clicks in by_user.items()}
    clicked = {item for clicks in past.values() for item, _ in clicks}
    catalogue = {item for clicks in by_user.values() for item, _ in clicks}
    twins = [(click, clicks[:n]) for clicks in by_user.values() for n, click in enumerate(clicks)]
    expected = {
        "duplicate_rows": sum(click in before for click, before in twins),
        "repeated_pairs": sum(click[0] in {i for i, _ in before} and click not in before for click, before in twins),
        "users_with_one_event": sum(len(clicks) == 1 for clicks in by_user.values()),
        "users_with_tied_last_events": sum(clicks[-1][1] == clicks[-2][1] for clicks in requested.values()),
        "targets_unseen": sum(clicks[-1][0] not in clicked for clicks in requested.values()),
        "targets_already_had": sum(clicks[-1][0] in {i for i, _ in clicks[:-1]} for clicks in requested.values()),
        "users_who_saw_everything": sum({i for i, _ in past[user]} == catalogue for user in requested),
        "requests": len(requested),
    }
    assert {name: made[name] for name in expected} == expected


def test_a_split_at_random_is_said_to_leak_time() -> None:
    world = healthy()
    split = Random(share=0.3).split(world, "test")
    fold = split.fold
    assert fold.target is not None
    last = {user: max(fold.history.time[fold.history.user == user]) for user in fold.requests.user.tolist()}
    older = sum(time < last[user] for user, time in zip(fold.target.user, fold.target.time, strict=True))
    finding = found(world, split)["targets_older_than_history"]
    assert seen(finding) == (older, len(fold.target), "look")
    assert "a model may know what came after them" in finding.why
    assert found(world)["targets_older_than_history"].count == 0


def test_items_that_a_split_asks_for_need_no_earlier_events() -> None:
    world = healthy()
    for compete, count in (("cold", 0), ("all", 1)):
        split = ColdItems(which="random", share=0.3, compete=compete).split(world, "test")
        assert found(world, split)["targets_unseen"].share == count


def of_real(shared_data: Callable[[str], Path]) -> dict[str, Interactions]:
    return {
        "day1": News(str(shared_data("globo-tianchi-day1"))).load(),
        "25k": News(str(shared_data("globo-tianchi-25k"))).load(),
        "ml-100k": MovieLens(str(shared_data("ml-100k"))).load(),
        "beauty": Sequences(str(shared_data("beauty/Beauty.txt.gz"))).load(),
    }


def test_real_data_gets_the_verdicts_it_deserves(shared_data: Callable[[str], Path]) -> None:
    globo = {
        "events_on_top_1_percent": "look",
        "targets_after_one_same_gap": "look",
        "events_later_than_target": "look",
    }
    expected = {
        "day1": globo,
        "25k": globo,
        "ml-100k": {"users_with_tied_last_events": "bad", "events_later_than_target": "look"},
        "beauty": {},
    }
    for name, world in of_real(shared_data).items():
        findings = found(world, cuts=(5, 10, 50)).values()
        assert {finding.name: finding.verdict for finding in findings if finding.verdict != "fine"} == expected[name]


def test_known_counts_of_real_data(shared_data: Callable[[str], Path]) -> None:
    worlds = of_real(shared_data)
    assert seen(found(worlds["ml-100k"])["users_with_tied_last_events"]) == (415, 943, "bad")
    assert seen(found(worlds["day1"])["targets_after_one_same_gap"]) == (31_374, 31_374, "look")
    by_day = found(worlds["25k"], ByTime().split(worlds["25k"], "test"))  # its last day is nearly empty
    assert seen(by_day["requests"]) == (1, 25_000, "bad")


def test_the_generated_site_is_fine_and_its_card_has_the_counts() -> None:
    from recx.experiment import protocol_card

    metrics = ["hit_at_5"]
    evaluator = Evaluator(metrics, metrics, metrics)
    chain = recx.Experiment(News(readers=1000, articles=200), LeaveLast(), Popularity(), Identity(), evaluator)
    result = chain.run()
    findings = examine(result.interactions, result.split, [5])
    assert {f.name for f in findings if f.verdict != "fine"} == {"events_later_than_target"}
    assert result.findings == findings
    assert protocol_card.card(result, {})["doctor"] == counts(findings)
