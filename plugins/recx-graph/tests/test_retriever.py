"""LightGCN makes the lists of its definition, by the rules of all retrievers, for users of the fit and for others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from recx_graph.fitted import FittedLightGCN
from recx_graph.learner import Training
from recx_graph.retriever import LightGCN

from recx.plugin import Doubles, Entities, Floats, InputError, Interactions, Requests
from recx.testing import check_retriever, check_training, tiny_world

Layers = Callable[[Doubles, Doubles, int], list[Doubles]]

SMALL = LightGCN(factors=4, layers=2, epochs=4, learning_rate=0.01, validation_users=0)


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


def vectors_of(fitted: FittedLightGCN, history: Interactions) -> Floats:
    return fitted.vectors(history, np.arange(history.n_users, dtype=np.int32))[0]


@pytest.mark.parametrize("times", [True, False])
@pytest.mark.parametrize("validation_users", [0, 10])
def test_the_contract_is_kept(times: bool, validation_users: int) -> None:
    check_retriever(replace(SMALL, validation_users=validation_users), tiny_world(times=times))


@pytest.mark.parametrize("seen", ["drop", "keep"])
@pytest.mark.parametrize("value", ["one", "weight"])
def test_the_lists_are_those_of_the_last_vectors(
    history: Interactions, dense_layers: Layers, seen: Any, value: Any
) -> None:
    settings = replace(SMALL, seen=seen, value=value)
    training = Training.of(settings, history)
    for epoch in range(settings.epochs):
        training.epoch(epoch)
    edges = training.graph.edges.toarray().astype(float)
    last = np.mean(dense_layers(edges, training.weight.numpy().astype(float), settings.layers), axis=0)
    score = np.full((history.n_users, history.n_items), -np.inf)
    users, items = np.flatnonzero(history.lengths), np.flatnonzero(history.clicks)
    score[np.ix_(users, items)] = last[: len(users)] @ last[len(users) :].T
    if seen == "drop":
        score[history.user, history.item] = -np.inf

    lists = settings.fit(history).retrieve(history, everyone(history), 10)
    for user in users:
        own = lists.take(np.array([user]))
        assert own.item.tolist() == np.argsort(-score[user], kind="stable")[:10].tolist()
        assert np.allclose(own.score, np.sort(score[user])[::-1][:10], atol=1e-5)
    assert np.flatnonzero(lists.lengths == 0).tolist() == [5]
    assert lists.notes == {"lightgcn_requests_without_vector": 1}


def test_a_user_who_was_not_there_gets_one_step_of_propagation(history: Interactions, dense_layers: Layers) -> None:
    """As if the user were in the graph, its first vector 0, and the items' vectors were those without it."""
    fitted = SMALL.fit(history)
    training = Training.of(SMALL, history)
    for epoch in range(SMALL.epochs):
        training.epoch(epoch)
    edges = training.graph.edges.toarray().astype(float)
    layers = dense_layers(edges, training.weight.numpy().astype(float), SMALL.layers)
    n_users, items = len(edges), np.flatnonzero(history.clicks)
    clicked = [1, 3, 9]
    expected = np.zeros(SMALL.factors)
    for layer in layers[:-1]:  # the user's vector after each layer comes from the items' in the one before
        for i in np.searchsorted(items, clicked):
            expected += layer[n_users + i] / np.sqrt(len(clicked) * edges[:, i].sum())
    expected /= SMALL.layers + 1
    later = with_clicks(history, 5, clicked)
    assert np.allclose(vectors_of(fitted, later)[5], expected, atol=1e-6)
    lists = fitted.retrieve(later, everyone(later), 5)
    assert lists.lengths.tolist() == [5] * history.n_users
    assert lists.notes == {"lightgcn_requests_without_vector": 0}


def test_without_layers_it_is_matrix_factorisation_and_knows_the_users_of_the_fit_alone(history: Interactions) -> None:
    settings = replace(SMALL, layers=0)
    training = Training.of(settings, history)
    for epoch in range(settings.epochs):
        training.epoch(epoch)
    weight, users, n_users = training.weight.numpy(), np.flatnonzero(history.lengths), training.graph.n_users
    fitted, later = settings.fit(history), with_clicks(with_clicks(history, 5, [1, 3]), 4, [1, 3])
    for clicks in (history, later):  # of the fit, and after it
        found, known = fitted.vectors(clicks, np.arange(history.n_users, dtype=np.int32))
        assert np.array_equal(found[users], weight[:n_users])
        assert np.flatnonzero(~known).tolist() == [5]
    assert np.array_equal(fitted.item_vectors, weight[n_users:])
    assert fitted.retrieve(later, everyone(later), 5).lengths[5] == 0


def test_clicks_on_items_without_a_vector_count_nothing(history: Interactions) -> None:
    fitted = SMALL.fit(history)
    assert np.array_equal(vectors_of(fitted, history), vectors_of(fitted, with_clicks(history, 4, [7])))
    only = with_clicks(history, 5, [7])
    assert fitted.retrieve(only, everyone(only), 5).lengths[5] == 0


def test_later_clicks_count_for_their_user_alone(history: Interactions) -> None:
    fitted = SMALL.fit(history)
    before, after = (vectors_of(fitted, one) for one in (history, with_clicks(history, 4, [1, 3, 9])))
    others = np.arange(history.n_users) != 4
    assert np.array_equal(before[others], after[others])
    assert not np.allclose(before[4], after[4])


def test_users_are_found_by_their_ids_in_another_history(history: Interactions) -> None:
    fitted = replace(SMALL, seen="keep").fit(history)
    chosen = 12
    clicked = history.item[history.indptr[chosen] : history.indptr[chosen + 1]]
    other = replace(
        history,
        indptr=np.array([0, len(clicked), 2 * len(clicked), 2 * len(clicked)]),
        item=np.tile(clicked, 2),
        weight=np.ones(2 * len(clicked), dtype=np.float32),
        users=Entities(np.array([999, history.users.ids[chosen], history.users.ids[13]])),
    )
    found, known = fitted.vectors(other, np.arange(3, dtype=np.int32))
    assert known.tolist() == [True, True, True]
    assert np.allclose(found[1], vectors_of(fitted, history)[chosen], atol=1e-7)
    own = fitted.own[np.searchsorted(fitted.users, [history.users.ids[chosen], history.users.ids[13]])]
    assert np.allclose(found[1] - found[0], own[0], atol=1e-6)
    assert np.array_equal(found[2], own[1])


def test_users_get_the_items_of_their_group(history: Interactions) -> None:
    lists = replace(SMALL, epochs=60).fit(history).retrieve(history, everyone(history), 2)
    assert (lists.item % 2 == lists.user[lists.list_of_row] % 2).mean() > 0.8


def test_similar_items_are_those_with_the_largest_cosine(history: Interactions) -> None:
    fitted = SMALL.fit(history)
    items, vectors = fitted.clicked.items, fitted.item_vectors.astype(float)
    cosine = vectors @ vectors[2] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[2])
    found = fitted.similar(int(items[2]), 4)
    assert found.item.tolist() == items[np.argsort(-cosine)[1:5]].tolist()
    assert np.allclose(found.score, np.sort(cosine)[::-1][1:5], atol=1e-6)
    assert len(fitted.similar(7, 5).item) == 0


def test_a_pair_counts_once_unless_weights_do(history: Interactions) -> None:
    twice = with_clicks(history, 4, history.item[history.indptr[4] : history.indptr[5]].tolist())
    same = [replace(SMALL, value=value).fit(twice) for value in ("one", "weight")]
    assert np.array_equal(SMALL.fit(history).item_vectors, same[0].item_vectors)
    assert not np.allclose(replace(SMALL, value="weight").fit(history).item_vectors, same[1].item_vectors)


def test_the_validation_chooses_the_number_of_epochs(history: Interactions) -> None:
    settings = replace(SMALL, validation_users=40, epochs=30, patience=3)
    summary = settings.fit(history).summary
    ndcg = summary.curves["lightgcn/valid_ndcg_at_10"]
    best = int(np.argmax(ndcg)) + 1
    assert len(ndcg) == min(30, best + 3)
    assert summary.notes["lightgcn_epochs"] == best
    assert summary.notes["lightgcn_validation_users"] == 40
    assert len(summary.curves["lightgcn/refit_loss"]) == best
    again = replace(SMALL, epochs=best).fit(history)
    assert np.array_equal(settings.fit(history).item_vectors, again.item_vectors)


def test_it_fulfils_the_contract_of_a_part_that_trains(history: Interactions) -> None:
    check_training(replace(SMALL, validation_users=40), history)


def test_users_who_have_clicked_all_items_teach_nothing_and_are_counted(history: Interactions) -> None:
    rest = np.setdiff1d(np.flatnonzero(history.clicks), history.item[history.indptr[4] : history.indptr[5]])
    whole = with_clicks(history, 4, rest.tolist())
    assert SMALL.fit(whole).summary.notes["lightgcn_pairs_without_negative"] == (history.clicks > 0).sum()


def test_a_history_without_events_is_refused(history: Interactions) -> None:
    with pytest.raises(InputError, match="retriever=lightgcn: the history has no events to learn from"):
        SMALL.fit(history.keep(np.zeros(len(history), dtype=bool)))


def test_a_history_of_other_items_is_refused(history: Interactions) -> None:
    fitted = SMALL.fit(history)
    other = replace(history, items=Entities(np.arange(history.n_items + 1)))
    with pytest.raises(InputError, match="retriever=lightgcn was fitted on 24 items, and this history has 25"):
        fitted.retrieve(other, everyone(other), 3)


def test_a_damaged_model_is_refused(history: Interactions) -> None:
    fitted = SMALL.fit(history)
    fitted.check_read()
    for name in ("item_vectors", "passed_on", "own"):
        with pytest.raises(ValueError, match="of other users or items"):
            replace(fitted, **{name: getattr(fitted, name)[1:]}).check_read()
