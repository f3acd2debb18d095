from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from recx.core.errors import InputError, RecxError
from recx.core.fit_summary import FitSummary
from recx.core.types import Fold, Interactions, RankedLists, Requests
from recx.parts.ranker.blend import Blend, FittedBlend
from recx.parts.ranker.identity import Identity


@dataclass(frozen=True)
class Fixed:
    """Scores items by a table."""

    table: tuple[float, ...]

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        return candidates.reorder(np.array(self.table, dtype=np.float64)[candidates.item])


@dataclass(frozen=True)
class Learning:
    """Learns nothing but that it was fitted."""

    table: tuple[float, ...]
    sample: tuple[int, int] | None = (10, 0)

    def fit(self, candidates: RankedLists, fold: Fold) -> Fixed:
        return Fixed(self.table)


def lists(rows: Mapping[int, list[int]]) -> RankedLists:
    items = [item for found in rows.values() for item in found]
    return RankedLists(
        user=np.array(list(rows), dtype=np.int32),
        indptr=np.cumsum([0, *(len(found) for found in rows.values())]),
        item=np.array(items, dtype=np.int32),
        score=np.arange(len(items), 0, -1, dtype=np.float32),
    )


NONE: Any = None


def shown(ranked: RankedLists) -> list[list[int]]:
    return [ranked.item[a:b].tolist() for a, b in pairwise(ranked.indptr)]


def test_standardised_scores_add_up() -> None:
    a = Fixed((0.0, 1.0, 5.0, 0, 0, 0, 0, 0, 0, 0))  # mean 2, standard deviation sqrt(14 / 3)
    b = Fixed((300.0, 200.0, 100.0, 0, 0, 0, 0, 0, 0, 0))  # mean 200, sqrt(20000 / 3)
    blended = Blend({"a": a, "b": b}, {"b": 2.0}).rank(lists({0: [0, 1, 2]}), NONE, NONE)
    of_a, of_b = np.array([-2, -1, 3]) / np.sqrt(14 / 3), np.array([1, 0, -1]) / np.sqrt(2 / 3)
    total = of_a + 2 * of_b  # 1.52, -0.46, -1.06
    assert shown(blended) == [[0, 1, 2]]
    assert blended.score.tolist() == pytest.approx(total.tolist())


def test_a_rankers_scale_does_not_count() -> None:
    candidates, small = lists({0: [0, 1, 2, 3]}), (4.0, 3.0, 9.0, 1.0, 0, 0, 0, 0, 0, 0)
    huge = tuple(1e200 * score + 3e200 for score in small)
    other = Fixed((1.0, 2.0, 0.5, 4.0, 0, 0, 0, 0, 0, 0))
    orders = [shown(Blend({"a": Fixed(table), "b": other}).rank(candidates, NONE, NONE)) for table in (small, huge)]
    assert orders[0] == orders[1]


def test_equal_scores_and_empty_lists_change_nothing() -> None:
    candidates = lists({0: [4, 2], 1: [], 2: [7]})
    flat = Fixed((0.1,) * 10)
    blended = Blend({"a": flat, "b": Fixed((0.0,) * 10)}).rank(candidates, NONE, NONE)
    assert shown(blended) == [[4, 2], [], [7]]
    assert blended.score.tolist() == [0, 0, 0]


@given(st.lists(st.floats(-1e6, 1e6), min_size=10, max_size=10), st.permutations(range(10)))
def test_one_ranker_alone_keeps_its_order(scores: list[float], items: list[int]) -> None:
    candidates = lists({0: list(items)})
    alone = Fixed(tuple(scores))
    ranked = alone.rank(candidates, NONE, NONE)
    blended = FittedBlend({"a": alone}, {"a": 1.0}).rank(candidates, NONE, NONE)
    by_item = dict(zip(ranked.item.tolist(), ranked.score.tolist(), strict=True))
    kept = [by_item[item] for item in blended.item.tolist()]
    assert all(a >= b - 1e-9 * max(map(abs, scores)) for a, b in pairwise(kept))


def test_only_what_is_trained_is_trained() -> None:
    table = (0.0, 1.0, 2.0, 0, 0, 0, 0, 0, 0, 0)
    blend = Blend({"a": Learning(table), "b": Identity()}, {"b": 0.0})
    candidates = lists({0: [0, 1, 2]})
    fitted = blend.fit(candidates, None)
    assert (blend.trains, Blend({"b": Identity()}).trains) == (True, False)
    assert shown(fitted.rank(candidates, NONE, NONE)) == [[2, 1, 0]]


def test_a_ranker_without_a_weight_is_neither_trained_nor_asked() -> None:
    blend = Blend({"a": Learning((0.0,) * 10), "b": Identity()}, {"a": 0.0})
    assert not blend.trains
    candidates = lists({0: [3, 1, 2]})
    assert shown(blend.rank(candidates, NONE, NONE)) == [[3, 1, 2]]
    assert list(blend.fit(candidates, NONE).rankers) == ["b"]


def test_what_must_be_trained_does_not_rank_before() -> None:
    with pytest.raises(RecxError, match="ranker=blend: a must be trained first"):
        Blend({"a": Learning((0.0,) * 10), "b": Identity()}).rank(lists({0: [0]}), NONE, NONE)


@dataclass(frozen=True)
class Reporting(Fixed):
    """Counts, needs something, has diagnostics and features, and knows for whom it ranks."""

    features: Mapping[str, Any] = field(default_factory=lambda: {"clicks": 1})
    plain: bool = False
    of: str = "all"
    trees: int = 7

    @property
    def summary(self) -> FitSummary:
        weights, notes = {"clicks": 0.5}, {"users_fitted_on": 3, "trees_grown": self.trees}
        return FitSummary(notes=notes, curves={"trees/loss": [2.0, 1.0]}, weights=weights)

    def preflight(self) -> None:
        raise InputError("it needs a library")

    def without_diagnostics(self) -> Reporting:
        return replace(self, plain=True)

    def for_users(self, history: Any) -> Reporting:
        return replace(self, of=history)

    def with_features(self, features: Mapping[str, Any]) -> Reporting:
        return replace(self, features=features)

    def rank(self, candidates: RankedLists, history: Interactions, requests: Requests) -> RankedLists:
        ranked = super().rank(candidates, history, requests)
        return replace(ranked, notes={**ranked.notes, "values_cut": 2})


ONE = Reporting((0.0, 1.0, 2.0, 0, 0, 0, 0, 0, 0, 0))


def test_counts_and_curves_of_all_are_reported() -> None:
    fitted = FittedBlend({"trees": ONE, "retriever": Identity()}, {"trees": 1.0, "retriever": 1.0})
    assert fitted.summary.notes == {"trees_users_fitted_on": 3, "trees_grown": 7}
    assert fitted.summary.curves == {"trees/loss": [2.0, 1.0]}
    assert fitted.summary.weights == {"clicks": 0.5}
    assert FittedBlend({"a": ONE, "b": ONE}, {"a": 1.0, "b": 1.0}).summary.weights == {}
    candidates = replace(lists({0: [0, 1]}), notes={"found": 2})
    assert fitted.rank(candidates, NONE, NONE).notes == {"found": 2, "trees_values_cut": 2}


def test_what_the_rankers_can_do_the_blend_can() -> None:
    blend = Blend({"a": ONE, "b": Identity()})
    with pytest.raises(InputError, match="it needs a library"):
        blend.preflight()
    assert blend.without_diagnostics().rankers == {"a": replace(ONE, plain=True), "b": Identity()}
    assert blend.for_users("some").rankers == {"a": replace(ONE, of="some"), "b": Identity()}
    assert blend.features == {"clicks": 1}
    fitted = FittedBlend(blend.rankers, {"a": 1.0, "b": 1.0})
    assert fitted.with_features({"clicks": 2}).features == {"clicks": 2}
    assert Blend({"a": ONE, "b": replace(ONE, features={"age": 1})}).features == {}


def test_a_sample_is_that_of_all() -> None:
    table = (0.0,) * 10
    one, other = Learning(table), Learning(table, (10, 1))
    assert Blend({"a": one, "b": one, "c": Identity()}).sample == (10, 0)
    assert Blend({"a": one, "b": other}).sample is None
    assert Blend({"a": one, "b": Learning(table, None)}).sample is None


@pytest.mark.parametrize(
    ("rankers", "weights", "said"),
    [
        ({}, {}, "ranker.rankers is empty: name at least one ranker"),
        ({"a": Identity()}, {"b": 1.0}, r"ranker.weights names \['b'\], which is not a ranker: choose from a"),
        ({"a": Identity()}, {"a": 0.0}, "ranker.weights are all 0"),
        ({"a": Identity()}, {"a": -1.0}, "ranker.weights"),
    ],
)
def test_settings_that_rank_nothing_are_refused(rankers: dict, weights: dict, said: str) -> None:
    with pytest.raises(InputError, match=said):
        Blend(rankers, weights)
