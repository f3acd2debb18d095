from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from recx.core.errors import InputError, RecxError
from recx.core.types import Array, Floats, Fold, Interactions, RankedLists, Requests
from recx.parts.feature.columns import Columns
from recx.parts.feature.fitted import PerItem
from recx.parts.shared.design_matrix import Features, check_names, design_matrix

Problem = tuple[RankedLists, Fold]


@dataclass(frozen=True)
class Constant:
    """The same array for every block."""

    values: Array

    def fit(self, history: Interactions) -> Constant:
        return self

    def __call__(self, candidates: RankedLists, requests: Requests) -> Floats:
        return self.values


def test_a_column_a_feature_in_the_order_named(generated: Callable[..., Problem], column: Callable) -> None:
    lists, fold = generated(users=5)
    table = design_matrix({"second": column("b"), "first": column("a")}, lists, fold.history, fold.requests)
    assert table.dtype == np.float32
    assert np.array_equal(table, np.stack([lists.columns["b"], lists.columns["a"]], axis=1))


@pytest.mark.parametrize("threads", ["1", "3"])
def test_blocks_and_threads_change_nothing(
    generated: Callable[..., Problem], column: Callable, monkeypatch: pytest.MonkeyPatch, threads: str
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", threads)
    lists, fold = generated(users=50)
    features = {name: column(name) for name in "abcd"}
    whole = design_matrix(features, lists, fold.history, fold.requests)
    monkeypatch.setattr("recx.parts.shared.design_matrix.LISTS", 7)
    assert np.array_equal(design_matrix(features, lists, fold.history, fold.requests), whole)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_a_value_that_is_not_finite_names_the_feature_and_the_user(
    value: float, lists_of: Callable, fold_of: Callable
) -> None:
    lists = lists_of({3: {10: [0.0], 11: [0.0]}, 8: {10: [0.0]}})
    fold = fold_of({3: {10: 1}, 8: {10: 1}})
    feature = Constant(np.array([0.0, 1.0, value]))
    with pytest.raises(RecxError, match=r"^feature odd is .* for user u8: a feature must be finite"):
        design_matrix({"odd": feature}, lists, fold.history, fold.requests)


def test_one_number_a_row_is_asked_for(lists_of: Callable, fold_of: Callable) -> None:
    lists, fold = lists_of({3: {10: [0.0], 11: [0.0]}}), fold_of({3: {10: 1}})
    for made, shape in ((np.zeros(1), r"\(1,\)"), (None, r"\(\)")):
        with pytest.raises(RecxError, match=f"feature short returned an array of {shape} for 2 candidates"):
            design_matrix({"short": Constant(made)}, lists, fold.history, fold.requests)


def test_a_history_is_fitted_on_once_whatever_the_blocks_of_requests(
    generated: Callable[..., Problem], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recx.parts.shared.design_matrix.LISTS", 7)
    lists, fold = generated(users=50)
    fitted: list[Interactions] = []

    @dataclass(frozen=True)
    class Telling:
        weights: list[float]  # cannot be hashed

        def fit(self, history: Interactions) -> PerItem:
            fitted.append(history)
            return PerItem(np.arange(history.n_items) * self.weights[0])

    features = {"one": Telling([1.0]), "two": Telling([2.0])}
    whole = design_matrix(features, lists, fold.history, fold.requests)
    for block in (slice(0, 20), slice(20, 50)):
        part = design_matrix(features, lists[block], fold.history, fold.requests[block])
        assert np.array_equal(part, whole[lists.indptr[block.start] : lists.indptr[block.stop]])
    assert fitted == [fold.history] * 2
    assert np.array_equal(whole, np.outer(lists.item, [1, 2]))


def test_other_columns_than_those_of_the_fit_are_refused(
    generated: Callable[..., Problem], column: Callable, lists_of: Callable
) -> None:
    lists = generated(users=5)[0]
    features: Features = {"slate": Columns(), "more": column("a")}
    check_names(features, lists, ("a", "b", "c", "d", "more"), "mine")
    swapped = replace(lists, columns=dict(reversed(lists.columns.items())))
    other = replace(lists, columns={**lists.columns, "e": lists.columns["a"]})
    fewer = replace(lists, columns={"a": lists.columns["a"]})
    for given, named in ((swapped, "d, c, b, a, more"), (other, "e"), (fewer, "b, c, d")):
        with pytest.raises(InputError, match=rf"^ranker=mine learned from other features .* \({named}\): choose"):
            check_names(features, given, ("a", "b", "c", "d", "more"), "mine")


def test_no_lists_make_an_empty_table(generated: Callable[..., Problem], column: Callable) -> None:
    lists, fold = generated(users=5)
    table = design_matrix({"a": column("a")}, lists[0:0], fold.history, fold.requests[0:0])
    assert table.shape == (0, 1)
