"""Calibrated lists: by hand, against the definitions item by item, and the metric that they lower."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from recx.core.entities import ClassLists
from recx.core.errors import InputError
from recx.core.ragged import indptr_of
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.evaluation.ground_truth import GroundTruth
from recx.evaluation.metrics.miscalibration import miscalibration
from recx.parts.reranker import calibrated as module
from recx.parts.reranker.calibrated import Calibrated
from recx.parts.reranker.popularity_groups import popularity_groups
from tests.parts.reranker.worlds import history_of, items_of, lists_of, random_world, shares


def requests(lists: RankedLists, now: int | None = 100) -> Requests:
    return Requests(lists.user, None if now is None else np.full(lists.n_lists, now))


def categories(*codes: int) -> dict[str, Any]:
    return {"category": np.array(codes, dtype=np.int32)}


def kl(p: dict[int, float], q: dict[int, float]) -> float:
    return sum(share * np.log(share / (0.99 * q.get(g, 0) + 0.01 * share)) for g, share in p.items())


def js(p: dict[int, float], q: dict[int, float]) -> float:
    if not q:
        return float(np.log(2))
    mean = {g: (p.get(g, 0) + q.get(g, 0)) / 2 for g in {*p, *q}}
    return sum(x / 2 * np.log(x / mean[g]) for of in (p, q) for g, x in of.items() if x > 0)


def proportions(groups: list[list[int]]) -> dict[int, float]:
    known = [of for of in groups if of]
    total: dict[int, float] = {}
    for of in known:
        for g in of:
            total[g] = total.get(g, 0) + 1 / len(of) / len(known)
    return total


def test_the_list_takes_on_the_proportions_of_the_history() -> None:
    # Of the history, two thirds are of category 0 and a third of 1; the ranker has items of 0 first.
    world = history_of([[(0, 0), (1, 1), (4, 2)]], 6, table=categories(0, 0, 0, 0, 1, 1))
    shown = lists_of({2: 4, 3: 3, 1: 2, 5: 1})
    assert items_of(Calibrated(1.0, top=3).rank(shown, world, requests(shown))) == [[2, 5, 3, 1]]
    # Relevance 1, 2/3, 1/3, 0. First item 2 (no other of category 0 is as relevant, and of 1 the divergence is larger).
    # Second: item 3 leaves only category 0, KL = 2/3 ln(2/3 / (.99 + .02/3)) + 1/3 ln(1/3 / (.01/3)) = 1.2670; item 5
    # halves, KL = 2/3 ln(2/3 / (.495 + .02/3)) + 1/3 ln(1/3 / (.495 + .01/3)) = 0.0555. At 0.5: 0.3333 - 0.6335
    # against -0.0277.
    assert items_of(Calibrated(0.5).rank(shown, world, requests(shown))) == [[2, 5, 3, 1]]
    # At 0.2: 0.5333 - 0.2534 against -0.0111, and so on: the ranker's order.
    assert items_of(Calibrated(0.2, top=2).rank(shown, world, requests(shown))) == [[2, 3, 1, 5]]
    found = Calibrated(0.5).rank(shown, world, requests(shown))
    assert found.score.tolist() == [4, 3, 2, 1]


@pytest.mark.parametrize("divergence", ["kl", "js"])
@pytest.mark.parametrize("calibration", [0.3, 0.8, 1.0])
@pytest.mark.parametrize("by", ["category", "genres", "popularity"])
def test_lists_are_those_of_the_definition(
    divergence: str, calibration: float, by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(11)
    users, shown = random_world(5)
    code = rng.integers(-1, 4, 15).astype(np.int32)
    genres = [sorted(rng.permutation(4)[: rng.integers(4)].tolist()) for _ in range(15)]
    world = history_of(users, 15, table=categories(*code) if by == "category" else None)
    if by == "genres":
        lists = ClassLists(indptr_of(np.array([len(of) for of in genres])), np.concatenate(genres).astype(np.int32))
        world = replace(world, items=replace(world.items, lists={"genres": lists}))
    asked = Requests(shown.user, np.arange(shown.n_lists) % 21)
    of = Calibrated(calibration, "popularity" if by == "popularity" else "category", divergence, 0.3, 0.3, 7)  # type: ignore[arg-type]
    monkeypatch.setattr(module, "LISTS", 4)
    found = items_of(of.rank(shown, world, asked))
    for user, (start, stop) in enumerate(zip(shown.indptr[:-1], shown.indptr[1:], strict=True)):
        if by == "popularity":
            one, all_items = asked[np.array([user])], np.arange(15, dtype=np.int32)
            of_items = [[int(g)] for g in popularity_groups(world, one, all_items, np.array([0, 15]), 0.3, 0.7)]
        else:
            of_items = [[int(g)] if g >= 0 else [] for g in code] if by == "category" else genres
        scores = dict(zip(shown.item[start:stop].tolist(), shares(shown.score[start:stop]), strict=True))
        had = [of_items[item] for item, _ in users[user]]
        if any(had):
            check_places(of, proportions(had), found[user], scores, of_items)
        else:
            assert found[user] == list(scores)


def check_places(
    of: Calibrated, p: dict[int, float], found: list[int], scores: dict[int, float], groups: list[list[int]]
) -> None:
    """Check that no other item had a larger value at a place; of those that differ by rounding, any may come first."""
    divergence, left = {"kl": kl, "js": js}[of.divergence], list(scores)
    for place, item in enumerate(found[: of.top]):
        above = [groups[i] for i in found[:place]]
        values = {
            v: (1 - of.calibration) * scores[v] - of.calibration * divergence(p, proportions([*above, groups[v]]))
            for v in left
        }
        assert values[item] == pytest.approx(max(values.values()), abs=1e-12)
        left.remove(item)
    assert found[of.top :] == left


def test_without_calibration_the_rankers_order_stays() -> None:
    users, shown = random_world(3)
    world = history_of(users, 15, table=categories(*np.arange(15) % 3))
    for by in ("category", "popularity"):
        assert items_of(Calibrated(0.0, by).rank(shown, world, requests(shown))) == items_of(shown)  # type: ignore[arg-type]


def test_the_metric_of_miscalibration_falls() -> None:
    users, shown = random_world(9, n_users=80)
    world = history_of(users, 15, table=categories(*np.arange(15) % 4))
    truth = GroundTruth.of(Fold(world, history_of([[(0, 0)]] * 80, 15), requests(shown)))

    def mean(lists: RankedLists) -> float:
        return float(np.nanmean(miscalibration(truth.match(lists), 5)))

    rising = [mean(Calibrated(x, top=5).rank(shown, world, requests(shown))) for x in (0.0, 0.3, 1.0)]
    assert rising[0] == mean(shown)
    assert rising[0] > rising[1] > rising[2]


def bare(world: Interactions) -> Interactions:
    return replace(world, items=replace(world.items, table=categories(*[-1] * world.n_items)))


def test_data_without_categories_or_clicks_is_refused() -> None:
    shown, world = lists_of({0: 1.0}), history_of([[(0, 0)]], 2)
    for unclassed in (world, bare(world)):
        with pytest.raises(InputError, match=r"reranker\.by=category, .* write reranker\.by=popularity"):
            Calibrated().rank(shown, unclassed, requests(shown))
    with pytest.raises(InputError, match="compares items by their clicks"):
        Calibrated(by="popularity").rank(shown, history_of([[]], 2), requests(shown))


@pytest.mark.parametrize(
    ("key", "value"), [("calibration", 1.1), ("by", "x"), ("divergence", "x"), ("head", 0.0), ("tail", 1.0), ("top", 0)]
)
def test_bad_settings_are_refused(key: str, value: object) -> None:
    with pytest.raises(InputError, match=rf"reranker\.{key}="):
        Calibrated(**{key: value})  # type: ignore[arg-type]


def test_head_and_tail_must_leave_room() -> None:
    with pytest.raises(InputError, match=r"reranker\.head=0\.6, reranker\.tail=0\.5: .* lower one of them"):
        Calibrated(head=0.6, tail=0.5)
