"""ALS, BPR and LMF of implicit make the lists that implicit makes, by the rules of all retrievers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from implicit.cpu.als import AlternatingLeastSquares
from implicit.cpu.bpr import BayesianPersonalizedRanking
from implicit.cpu.lmf import LogisticMatrixFactorization
from recx_implicit import retriever as module
from recx_implicit.fitted import FittedALS
from recx_implicit.retriever import ALS, BPR, LMF
from scipy import sparse
from threadpoolctl import threadpool_limits

from recx.plugin import Entities, InputError, Interactions, RecxError, Requests, Retriever
from recx.testing import check_retriever, tiny_world

OWN = {
    ALS(factors=4, regularization=0.1, alpha=3.0, seed=5): lambda: AlternatingLeastSquares(
        4, 0.1, 3.0, random_state=5, num_threads=1
    ),
    BPR(factors=4, iterations=30, seed=5): lambda: BayesianPersonalizedRanking(
        4, iterations=30, random_state=5, num_threads=1
    ),
    BPR(factors=4, iterations=9, verify=False): lambda: BayesianPersonalizedRanking(
        4, iterations=9, verify_negative_samples=False, random_state=0, num_threads=1
    ),
    LMF(factors=4, negatives=5, seed=5): lambda: LogisticMatrixFactorization(
        4, neg_prop=5, random_state=5, num_threads=1
    ),
}
"""Settings of a retriever -> the same model of implicit."""
SMALL = [ALS(factors=4), BPR(factors=4, iterations=9), LMF(factors=4, iterations=9)]


def name_of(value: object) -> str:
    return type(value).__name__ if isinstance(value, ALS | BPR | LMF) else "own"


def everyone(history: Interactions) -> Requests:
    return Requests(np.arange(history.n_users, dtype=np.int32))


def with_clicks(history: Interactions, user: int, items: list[int]) -> Interactions:
    """Return the history with these clicks more of a user."""
    at = int(history.indptr[user + 1])
    return replace(
        history,
        indptr=history.indptr + len(items) * (np.arange(history.n_users + 1) > user),
        item=np.insert(history.item, at, items).astype(np.int32),
        weight=np.insert(history.weight, at, np.ones(len(items))).astype(np.float32),
    )


@pytest.mark.parametrize(("retriever", "make"), OWN.items(), ids=name_of)
@pytest.mark.parametrize("seen", ["drop", "keep"])
def test_the_lists_are_implicits_own(history: Interactions, retriever: Any, make: Any, seen: str) -> None:
    fitted = replace(retriever, seen=seen).fit(history)
    users, items = np.flatnonzero(history.lengths), np.flatnonzero(history.clicks)
    dense = np.zeros((history.n_users, history.n_items), dtype=np.float32)
    dense[history.user, history.item] = 1
    matrix = sparse.csr_matrix(dense[users][:, items])
    with threadpool_limits(1, "blas"):
        model = make()
        model.fit(matrix, show_progress=False)
        item, score = model.recommend(np.arange(len(users)), matrix, 10, filter_already_liked_items=seen == "drop")
    lists = fitted.retrieve(history, Requests(users.astype(np.int32)), 10)
    assert lists.lengths.tolist() == [10] * len(users)
    assert np.array_equal(lists.item.reshape(-1, 10), items[item])
    assert np.allclose(lists.score.reshape(-1, 10), score, atol=1e-6)
    assert lists.notes[f"{fitted.option}_requests_without_factors"] == 0

    near, cosine = model.similar_items(3, 6)
    found = fitted.similar(int(items[3]), 5)
    assert found.item.tolist() == items[near[1:]].tolist()  # the first is the item itself
    assert np.allclose(found.score, cosine[1:], atol=1e-6)
    assert len(fitted.similar(7, 5).item) == 0


@pytest.mark.parametrize("retriever", SMALL, ids=name_of)
@pytest.mark.parametrize("times", [True, False])
def test_the_contract_is_kept(retriever: Retriever, times: bool) -> None:
    check_retriever(retriever, tiny_world(times=times))


@pytest.mark.parametrize("retriever", SMALL, ids=name_of)
def test_users_get_the_items_of_their_group(history: Interactions, retriever: Any) -> None:
    better = replace(retriever, iterations=400) if isinstance(retriever, BPR) else retriever
    lists = better.fit(history).retrieve(history, everyone(history), 2)
    assert (lists.item % 2 == lists.user[lists.list_of_row] % 2).mean() > 0.8


@pytest.mark.parametrize("retriever", SMALL, ids=name_of)
def test_a_user_without_factors_gets_no_list_and_is_counted(history: Interactions, retriever: Retriever) -> None:
    lists = retriever.fit(history).retrieve(history, everyone(history), 3)
    assert np.flatnonzero(lists.lengths == 0).tolist() == [5]
    [count] = [value for name, value in lists.notes.items() if name.endswith("_requests_without_factors")]
    assert count == 1


def test_als_solves_for_users_with_other_clicks_than_at_the_fit(history: Interactions) -> None:
    fitted = ALS(factors=4).fit(history)
    later = with_clicks(history, 5, [1, 3, 9])
    before, after = (fitted.retrieve(one, everyone(one), 8) for one in (history, later))
    assert before.notes == {"als_requests_without_factors": 1, "als_requests_solved_anew": 0}
    assert after.notes == {"als_requests_without_factors": 0, "als_requests_solved_anew": 1}
    others = np.delete(np.arange(history.n_users), 5)
    assert np.array_equal(before.take(others).item, after.take(others).item)

    clicked = np.isin(np.flatnonzero(history.clicks), [1, 3, 9]).astype(float)
    y = fitted.item_factors.astype(float)  # (Y'Y + Y'(C - I)Y + r I) x = Y'C p, of which C = I with alpha = 1
    x = np.linalg.solve(y.T @ y + 0.01 * np.eye(4), y.T @ clicked)
    expected = np.where(clicked > 0, -np.inf, y @ x)
    own = after.take(np.array([5]))
    assert own.item.tolist() == np.flatnonzero(history.clicks)[np.argsort(-expected)[:8]].tolist()
    assert np.allclose(own.score, np.sort(expected)[::-1][:8], atol=1e-4)


def test_als_solves_with_arrays_that_cannot_be_written(history: Interactions) -> None:
    fitted = ALS(factors=4).fit(history)
    expected = fitted.retrieve(with_clicks(history, 5, [1, 3]), everyone(history), 5)
    locked = fitted.item_factors.copy()
    locked.flags.writeable = False
    again = replace(fitted, item_factors=locked).retrieve(with_clicks(history, 5, [1, 3]), everyone(history), 5)
    assert np.array_equal(again.score, expected.score)


@pytest.mark.parametrize("retriever", SMALL[1:], ids=name_of)
def test_bpr_and_lmf_know_users_as_they_were_at_the_fit(history: Interactions, retriever: Any) -> None:
    fitted = replace(retriever, seen="keep").fit(history)
    later = with_clicks(history, 4, [1, 3, 9])
    before, after = (fitted.retrieve(one, everyone(one), 8) for one in (history, later))
    assert np.array_equal(before.item, after.item)


@pytest.mark.parametrize("retriever", SMALL, ids=name_of)
def test_users_are_found_by_their_ids_in_another_history(history: Interactions, retriever: Any) -> None:
    fitted = replace(retriever, seen="keep").fit(history)
    chosen, unknown = 12, 999
    rows = slice(int(history.indptr[chosen]), int(history.indptr[chosen + 1]))
    clicked = history.item[rows]
    other = replace(
        history,
        indptr=np.array([0, len(clicked), 2 * len(clicked)]),
        item=np.tile(clicked, 2),
        weight=np.ones(2 * len(clicked), dtype=np.float32),
        users=Entities(np.array([unknown, history.users.ids[chosen]])),
    )
    lists = fitted.for_users(other).retrieve(other, everyone(other), 6)
    expected = fitted.retrieve(history, Requests(np.array([chosen], dtype=np.int32)), 6)
    assert np.array_equal(lists.take(np.array([1])).item, expected.item)
    assert lists.lengths.tolist() == [6 if isinstance(fitted, FittedALS) else 0, 6]


def test_weights_count_if_asked_for(history: Interactions) -> None:
    of_ones = replace(history, weight=np.ones(len(history), dtype=np.float32))
    for one, kept in ((ALS(factors=4), True), (LMF(factors=4), True), (ALS(factors=4, value="weight"), False)):
        same = np.array_equal(one.fit(history).item_factors, one.fit(of_ones).item_factors)
        assert same is kept


@pytest.mark.parametrize("kind", [ALS, BPR, LMF])
def test_too_few_users_or_items_are_refused_before_the_fit(history: Interactions, kind: Any) -> None:
    with pytest.raises(InputError, match=r"retriever\.factors=23, but the history has only 59 users and 23 items"):
        kind(factors=23).fit(history)
    empty = history.keep(np.zeros(len(history), dtype=bool))
    with pytest.raises(InputError, match=r"only 0 users and 0 items with events.*choose retriever=popularity"):
        kind(factors=1).fit(empty)
    one = history.keep(np.arange(len(history)) < 1)
    with pytest.raises(InputError, match=r"only 1 user and 1 item with events"):
        kind(factors=1).fit(one)


def test_factors_that_diverge_are_an_error(history: Interactions) -> None:
    with pytest.raises(RecxError, match="retriever=bpr: the factors diverged"):
        BPR(factors=4, learning_rate=1e30).fit(history)


def test_a_history_of_other_items_is_refused(history: Interactions) -> None:
    fitted = ALS(factors=4).fit(history)
    other = replace(history, items=Entities(np.arange(history.n_items + 1)))
    with pytest.raises(InputError, match="retriever=als was fitted on 24 items, and this history has 25"):
        fitted.retrieve(other, everyone(other), 3)


def test_a_damaged_model_is_refused(history: Interactions) -> None:
    fitted = ALS(factors=4).fit(history)
    fitted.check_read()
    for damaged in (
        replace(fitted, item_factors=fitted.item_factors[1:]),
        replace(fitted, user_factors=fitted.user_factors[1:]),
        replace(fitted, clicks=fitted.clicks[1:]),
    ):
        with pytest.raises(ValueError, match="of other users"):
            damaged.check_read()


@pytest.mark.parametrize("retriever", SMALL, ids=name_of)
def test_fits_are_equal_whatever_the_number_of_threads(
    history: Interactions, retriever: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for threads in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        found.append(retriever.fit(history).item_factors)
    assert np.array_equal(*found)


@pytest.mark.parametrize(("reproducible", "threads"), [(True, 1), (False, 3)])
def test_all_threads_learn_where_fits_need_not_be_equal(
    history: Interactions, reproducible: bool, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def fit(model: Any, *_: Any, **__: Any) -> None:
        asked.append(model.num_threads)
        raise InterruptedError

    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    for name, kind in (("BayesianPersonalizedRanking", BPR), ("LogisticMatrixFactorization", LMF)):
        own = getattr(module, name)
        monkeypatch.setattr(module, name, type(name, (own,), {"fit": fit}))
        with pytest.raises(InterruptedError):
            kind(factors=4, reproducible=reproducible).fit(history)
    assert asked == [threads, threads]
